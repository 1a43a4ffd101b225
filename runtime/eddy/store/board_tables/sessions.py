# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Sessions that tenants hold on the board, with what of their memory was brought to the disk. Nothing here changes with
a launch."""

from __future__ import annotations

import dataclasses
import json
import secrets
import sqlite3
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from eddy.core.errors import NotFound, QuotaExceeded
from eddy.core.sessions import OnPressure, SessionOptions, SessionRecord, SessionState
from eddy.host.files import translate_os_errors, write_private
from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database
from eddy.store.db.field_types import check_types, parse_flag
from eddy.store.db.rows import parse_object

MOST_OPEN = 16
"""Sessions of a tenant that are open at once."""
KEPT_ENDED = 64
"""Sessions of a tenant that have ended and are still known; beyond them, the oldest are forgotten."""


class SessionTable:
    """The sessions of all tenants; few, so all are in memory as well.

    Args:
        db: Where they are kept.
        folder: Of the files that hold their memory while it is not on the board.
    """

    def __init__(self, db: Database, folder: Path) -> None:
        self._db, self._folder = db, folder
        self._changing = threading.Lock()
        rows = db.rows("SELECT * FROM session ORDER BY number")
        found = db.damage.read_rows(RecordKind.SESSION, rows, lambda row: row["id"], session_from_row)
        self._known = {record.id: record for record in found}

    def add(self, make: Callable[[str], SessionRecord]) -> SessionRecord:
        """Keep a new session; durable when this returns.

        Args:
            make: The session, given its id; its number does not count.

        Raises:
            QuotaExceeded: Its tenant has as many open as it may.
        """
        with self._changing:
            record = make(f"s{secrets.token_hex(16)}")
            mine = [each for each in self._known.values() if each.tenant == record.tenant]
            count = sum(not each.state.is_final for each in mine)
            if count >= MOST_OPEN:
                message = f"tenant {record.tenant} has {count} sessions open, and may have {MOST_OPEN}: close one"
                raise QuotaExceeded(message, limit=MOST_OPEN, asked=count + 1)
            with self._db.transaction() as db:
                values = record.id, record.tenant
                row = db.execute("INSERT INTO session (id, tenant, record) VALUES (?, ?, '')", values)
                assert row.lastrowid is not None
                record = dataclasses.replace(record, number=row.lastrowid)
                self._write(db, record)
                self._forget(db, [each for each in mine if each.state.is_final][:-KEPT_ENDED])
        return record

    def put(self, record: SessionRecord, wait: bool = True) -> None:
        """Keep what became of a session; durable when this returns, or with `wait` false, a little later."""
        with self._changing, self._db.transaction(durable=wait) as db:
            self._write(db, record)

    def _write(self, db: sqlite3.Connection, record: SessionRecord) -> None:
        values = int(record.state.is_final), json.dumps(dataclasses.asdict(record)), record.number
        db.execute("UPDATE session SET final = ?, record = ? WHERE number = ?", values)
        self._db.after_commit(lambda: self._known.update({record.id: record}))

    def _forget(self, db: sqlite3.Connection, records: list[SessionRecord]) -> None:
        db.executemany("DELETE FROM session WHERE number = ?", [(record.number,) for record in records])
        for record in records:
            self._db.after_commit(partial(self._drop, record.id))

    def _drop(self, name: str) -> None:
        self._known.pop(name, None)

    def get(self, session: str, tenant: str | None = None) -> SessionRecord:
        """A session, of that tenant where one is named.

        Raises:
            NotFound: There is none of that id, or it is another tenant's.
        """
        record = self._known.get(session)
        if record is None or tenant not in (None, record.tenant):
            raise NotFound(
                f"There is no session {session}: `eddy sessions` lists yours.", field="session", asked=session
            )
        return record

    def all(self, tenant: str | None = None) -> tuple[SessionRecord, ...]:
        """Sessions of a tenant, or of all, oldest first."""
        return tuple(each for each in list(self._known.values()) if tenant in (None, each.tenant))

    def open(self) -> tuple[SessionRecord, ...]:
        """Those that have not ended."""
        return tuple(each for each in list(self._known.values()) if not each.state.is_final)

    def has_open(self, tenant: str) -> bool:
        """Whether a tenant has sessions that have not ended."""
        return any(each.tenant == tenant and not each.state.is_final for each in list(self._known.values()))

    def drop_all(self, db: sqlite3.Connection, tenant: str) -> None:
        """Forget all sessions of a tenant, which have ended, in a transaction."""
        db.execute("DELETE FROM session WHERE tenant = ?", (tenant,))
        for record in self.all(tenant):
            self._db.after_commit(partial(self._drop, record.id))

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
