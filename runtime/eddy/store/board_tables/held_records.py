# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A table of what tenants hold on the board: few rows, so all are in memory as well."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import threading
from collections.abc import Callable
from functools import partial
from typing import Generic, Protocol, TypeVar

from eddy.core.errors import NotFound, QuotaExceeded
from eddy.store.db.damage import RecordKind
from eddy.store.db.database import Database


class _State(Protocol):
    @property
    def is_final(self) -> bool:
        """Whether it has ended."""


class HeldRecord(Protocol):
    """A session or a lease."""

    @property
    def number(self) -> int:
        """Its row."""

    @property
    def id(self) -> str:
        """Its name, which nobody guesses."""

    @property
    def tenant(self) -> str:
        """Whose it is."""

    @property
    def state(self) -> _State:
        """What has become of it."""


Record = TypeVar("Record", bound=HeldRecord)


class HeldRecords(Generic[Record]):
    """What tenants hold of one kind.

    Args:
        db: Where it is kept, in the table that its kind is called.
        load: Reads a row; raises `RecordDamaged` where it cannot.
        kept_ended: How many of a tenant that have ended are still known; beyond them, the oldest are forgotten.
    """

    def __init__(self, db: Database, kind: RecordKind, load: Callable[[sqlite3.Row], Record], kept_ended: int) -> None:
        self._db, self._table, self._kept_ended = db, kind.value, kept_ended
        self._changing = threading.Lock()
        rows = db.rows(f"SELECT * FROM {self._table} ORDER BY number")
        self._known = {record.id: record for record in db.damage.read_rows(kind, rows, lambda row: row["id"], load)}

    def _add(self, record: Record, most: int, refusal: Callable[[int], QuotaExceeded]) -> Record:
        """Keep a new one; durable when this returns.

        Args:
            record: It; its number does not count.
            most: How many its tenant may have that have not ended.
            refusal: Answers the error where it has as many already as it is given.

        Raises:
            QuotaExceeded: Its tenant has as many as it may.
        """
        with self._changing:
            mine = self.all(record.tenant)
            count = sum(not each.state.is_final for each in mine)
            if count >= most:
                raise refusal(count)
            with self._db.transaction() as db:
                insert = f"INSERT INTO {self._table} (id, tenant, record) VALUES (?, ?, '')"
                number = db.execute(insert, (record.id, record.tenant)).lastrowid
                record = dataclasses.replace(record, number=number)  # type: ignore[type-var]
                self._write(db, record)
                self._forget(db, [each for each in mine if each.state.is_final][: -self._kept_ended])
        return record

    def put(self, record: Record, wait: bool = True) -> None:
        """Keep what became of one; durable when this returns, or with `wait` false, a little later."""
        with self._changing, self._db.transaction(durable=wait) as db:
            self._write(db, record)

    def _write(self, db: sqlite3.Connection, record: Record) -> None:
        kept = json.dumps(dataclasses.asdict(record))  # type: ignore[call-overload]
        values = int(record.state.is_final), kept, record.number
        db.execute(f"UPDATE {self._table} SET final = ?, record = ? WHERE number = ?", values)
        self._db.after_commit(lambda: self._known.update({record.id: record}))

    def _forget(self, db: sqlite3.Connection, records: list[Record]) -> None:
        db.executemany(f"DELETE FROM {self._table} WHERE number = ?", [(record.number,) for record in records])
        for record in records:
            self._db.after_commit(partial(self._drop, record.id))

    def _drop(self, name: str) -> None:
        self._known.pop(name, None)

    def get(self, name: str, tenant: str | None = None) -> Record:
        """One, of that tenant where one is named.

        Raises:
            NotFound: There is none of that id, or it is another tenant's.
        """
        record = self._known.get(name)
        if record is None or tenant not in (None, record.tenant):
            message = f"There is no {self._table} {name!r:.80}: `eddy {self._table}s` lists yours."
            raise NotFound(message, field=self._table, asked=name)
        return record

    def all(self, tenant: str | None = None) -> tuple[Record, ...]:
        """Those of a tenant, or of all, oldest first."""
        return tuple(each for each in list(self._known.values()) if tenant in (None, each.tenant))

    def open(self) -> tuple[Record, ...]:
        """Those that have not ended, oldest first."""
        return tuple(each for each in self.all() if not each.state.is_final)

    def has_open(self, tenant: str) -> bool:
        """Whether a tenant has some that have not ended."""
        return any(not each.state.is_final for each in self.all(tenant))

    def drop_all(self, db: sqlite3.Connection, tenant: str) -> None:
        """Forget all of a tenant, which have ended, in a transaction."""
        db.execute(f"DELETE FROM {self._table} WHERE tenant = ?", (tenant,))
        for record in self.all(tenant):
            self._db.after_commit(partial(self._drop, record.id))
