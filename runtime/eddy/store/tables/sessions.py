# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What tenants hold on the board: sessions, with what of their memory was brought to the disk, and leases. Nothing here
changes with a launch, or with what a holder does."""

from __future__ import annotations

import dataclasses
import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from eddy.core.errors import NotFound, QuotaExceeded
from eddy.core.leases import LeaseKind, LeaseOptions, LeaseRecord, LeaseState
from eddy.core.sessions import OnPressure, SessionOptions, SessionRecord, SessionState
from eddy.files import translate_os_errors, write_private
from eddy.store.db.damage import RecordKind
from eddy.store.db.database import Database
from eddy.store.db.faults import names_damage
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


KEPT_LEASES = 200
"""Leases of a tenant that have ended and are still known, for the calendar; beyond them, the oldest are forgotten."""


class LeaseTable:
    """The leases of all tenants; few, so all are in memory as well.

    Args:
        db: Where they are kept.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._changing = threading.Lock()
        rows = db.rows("SELECT * FROM lease ORDER BY number")
        found = db.damage.read_rows(RecordKind.LEASE, rows, lambda row: row["id"], lease_from_row)
        self._known = {record.id: record for record in found}

    def add(self, make: Callable[[str], LeaseRecord], most: int) -> LeaseRecord:
        """Keep a new lease; durable when this returns.

        Args:
            make: The lease, given its id; its number does not count.
            most: How many its tenant may have that have not ended.

        Raises:
            QuotaExceeded: Its tenant has as many as it may.
        """
        with self._changing:
            record = make(f"l{secrets.token_hex(6)}")
            mine = self.all(record.tenant)
            count = sum(not each.state.is_final for each in mine)
            if count >= most:
                message = f"tenant {record.tenant} has {count} leases, and may have {most}: release one"
                raise QuotaExceeded(message, field="quota.max_leases", limit=most, asked=count + 1)
            with self._db.transaction() as db:
                values = record.id, record.tenant
                row = db.execute("INSERT INTO lease (id, tenant, record) VALUES (?, ?, '')", values)
                assert row.lastrowid is not None
                record = dataclasses.replace(record, number=row.lastrowid)
                self._write(db, record)
                self._forget(db, [each for each in mine if each.state.is_final][:-KEPT_LEASES])
        return record

    def put(self, record: LeaseRecord, wait: bool = True) -> None:
        """Keep what became of a lease; durable when this returns, or with `wait` false, a little later."""
        with self._changing, self._db.transaction(durable=wait) as db:
            self._write(db, record)

    def _write(self, db: sqlite3.Connection, record: LeaseRecord) -> None:
        values = int(record.state.is_final), json.dumps(dataclasses.asdict(record)), record.number
        db.execute("UPDATE lease SET final = ?, record = ? WHERE number = ?", values)
        self._db.after_commit(lambda: self._known.update({record.id: record}))

    def _forget(self, db: sqlite3.Connection, records: list[LeaseRecord]) -> None:
        db.executemany("DELETE FROM lease WHERE number = ?", [(record.number,) for record in records])
        for record in records:
            self._db.after_commit(partial(self._drop, record.id))

    def _drop(self, name: str) -> None:
        self._known.pop(name, None)

    def get(self, lease: str, tenant: str | None = None) -> LeaseRecord:
        """A lease, of that tenant where one is named.

        Raises:
            NotFound: There is none of that id, or it is another tenant's.
        """
        record = self._known.get(lease)
        if record is None or tenant not in (None, record.tenant):
            message = f"There is no lease {lease!r:.80}: `eddy leases` lists yours."
            raise NotFound(message, field="lease", asked=lease)
        return record

    def all(self, tenant: str | None = None) -> tuple[LeaseRecord, ...]:
        """Leases of a tenant, or of all, oldest first."""
        return tuple(each for each in list(self._known.values()) if tenant in (None, each.tenant))

    def open(self) -> tuple[LeaseRecord, ...]:
        """Those that have not ended, oldest first."""
        return tuple(each for each in list(self._known.values()) if not each.state.is_final)

    def left_s(self, tenant: str) -> float:
        """Slot-seconds that a tenant's leases of single slots have left, as far as they were asked for."""
        now_s = time.time()
        mine = [each for each in self.open() if each.tenant == tenant and each.options.kind is LeaseKind.SLOT]
        ends = [each.options.lasts_s if each.ends_unix_s is None else each.ends_unix_s - now_s for each in mine]
        return sum(max(0.0, each) for each in ends)

    def has_open(self, tenant: str) -> bool:
        """Whether a tenant has leases that have not ended."""
        return any(not each.state.is_final for each in self.all(tenant))

    def drop_all(self, db: sqlite3.Connection, tenant: str) -> None:
        """Forget all leases of a tenant, which have ended, in a transaction."""
        db.execute("DELETE FROM lease WHERE tenant = ?", (tenant,))
        for record in self.all(tenant):
            self._db.after_commit(partial(self._drop, record.id))


@names_damage("a lease's row")
def lease_from_row(row: sqlite3.Row) -> LeaseRecord:
    """A lease from its row.

    Raises:
        RecordDamaged: It is not what was written.
    """
    kept = parse_object(row["record"])
    options = LeaseOptions(**{**kept["options"], "kind": LeaseKind(kept["options"]["kind"])})
    known = {**kept, "options": options, "state": LeaseState(kept["state"]), "slots": tuple(kept["slots"])}
    record = check_types(LeaseRecord(**known))
    columns = row["number"], row["id"], row["tenant"], parse_flag(row["final"])
    if columns != (record.number, record.id, record.tenant, record.state.is_final):
        raise ValueError(f"its columns say {columns!r:.80}")
    return record
