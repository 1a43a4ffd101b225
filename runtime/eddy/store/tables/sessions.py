# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Sessions of browsers, over restarts: hashes of their cookies, so what is stolen from here opens nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from eddy.store.db.damage import RecordKind
from eddy.store.db.database import Database
from eddy.store.db.faults import names_damage
from eddy.store.db.field_types import check_types


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session.

    Attributes:
        cookie_hash: SHA-256 of its cookie's value, hex.
        tenant: Whose it is.
        key_hash: Hash of the key it was opened with.
        csrf_token: What requests carry that change something.
        ends_unix_s: When it ends.
    """

    cookie_hash: str
    tenant: str
    key_hash: str
    csrf_token: str
    ends_unix_s: float


class SessionTable:
    """The sessions that are kept.

    Args:
        db: Where.
    """

    def __init__(self, db: Database) -> None:
        self._db = db

    def all(self) -> tuple[SessionRow, ...]:
        """Every one, those that were opened first first; damaged ones are left out, which logs their browsers out."""
        rows = self._db.rows("SELECT * FROM session ORDER BY ends_unix_s, cookie_hash")
        return tuple(self._db.damage.read_rows(RecordKind.SESSION, rows, lambda row: row["tenant"], session_from_row))

    def change(self, opened: Iterable[SessionRow], closed: Iterable[str]) -> None:
        """Keep sessions, and forget others, by the hashes of their cookies."""
        with self._db.transaction() as db:
            db.executemany("DELETE FROM session WHERE cookie_hash = ?", [(each,) for each in closed])
            rows = [(e.cookie_hash, e.tenant, e.key_hash, e.csrf_token, e.ends_unix_s) for e in opened]
            db.executemany("INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?, ?)", rows)


@names_damage("a session")
def session_from_row(row: sqlite3.Row) -> SessionRow:
    """A session from its row.

    Raises:
        RecordDamaged: It is not what was written.
    """
    return check_types(
        SessionRow(row["cookie_hash"], row["tenant"], row["key_hash"], row["csrf_token"], row["ends_unix_s"])
    )
