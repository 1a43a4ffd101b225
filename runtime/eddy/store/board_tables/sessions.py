# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Sessions that tenants hold on the board, with what of their memory was brought to the disk. Nothing here changes with
a launch."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable
from pathlib import Path

from eddy.core.errors import QuotaExceeded
from eddy.core.sessions import OnPressure, SessionOptions, SessionRecord, SessionState
from eddy.host.files import translate_os_errors, write_private
from eddy.store.board_tables.held_records import HeldRecords
from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database
from eddy.store.db.field_types import check_types, parse_flag
from eddy.store.db.rows import parse_object

MAX_OPEN = 16
"""Sessions of a tenant that are open at once."""
KEPT_ENDED = 64
"""Sessions of a tenant that have ended and are still known; beyond them, the oldest are forgotten."""


class SessionTable(HeldRecords[SessionRecord]):
    """The sessions of all tenants.

    Args:
        folder: Of the files that hold their memory while it is not on the board.
    """

    def __init__(self, db: Database, folder: Path) -> None:
        super().__init__(db, RecordKind.SESSION, session_from_row, KEPT_ENDED)
        self._folder = folder

    def add(self, make: Callable[[str], SessionRecord]) -> SessionRecord:
        """Keep a new session; durable when this returns.

        Args:
            make: The session, given its id; its number does not count.

        Raises:
            QuotaExceeded: Its tenant has as many open as it may.
        """
        record = make(f"s{secrets.token_hex(16)}")

        def refusal(count: int) -> QuotaExceeded:
            message = f"tenant {record.tenant} has {count} sessions open, and may have {MAX_OPEN}: close one"
            return QuotaExceeded(message, limit=MAX_OPEN, asked=count + 1)

        return self._add(record, MAX_OPEN, refusal)

    # Memory on the disk -------------------------------------------------------------------------------------------

    def write_memory(self, session: int, data: bytes) -> None:
        """Keep what a session's memory holds; it is on disk when this returns.

        Raises:
            StorageFailed: It cannot be kept.
        """
        write_private(self._file(session), data)

    def read_memory(self, session: int) -> bytes | None:
        """What was kept of a session's memory; None where nothing is.

        Raises:
            StorageFailed: It cannot be read.
        """
        file = self._file(session)
        with translate_os_errors(file):
            return file.read_bytes() if file.exists() else None

    def drop_memory(self, session: int) -> None:
        """Forget what was kept of a session's memory."""
        file = self._file(session)
        with translate_os_errors(file):
            file.unlink(missing_ok=True)

    def _file(self, session: int) -> Path:
        return self._folder / f"{session}.memory"


@names_damage("a session's row")
def session_from_row(row: sqlite3.Row) -> SessionRecord:
    """A session from its row.

    Raises:
        RecordDamaged: It is not what was written.
    """
    kept = parse_object(row["record"])
    options = {**kept["options"], "on_pressure": OnPressure(kept["options"]["on_pressure"])}
    state = SessionState(kept["state"])
    record = check_types(SessionRecord(**{**kept, "options": SessionOptions(**options), "state": state}))
    columns = row["number"], row["id"], row["tenant"], parse_flag(row["final"])
    if columns != (record.number, record.id, record.tenant, state.is_final):
        raise ValueError(f"its columns say {columns!r:.80}")
    return record
