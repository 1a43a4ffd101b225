# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Browsers that are logged in, over restarts: hashes of their cookies, so what is stolen from here opens nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database
from eddy.store.db.field_types import check_types


@dataclass(frozen=True, slots=True)
class LoginRow:
    """One session.

    Attributes:
        cookie_hash: SHA-256 of its cookie's value, hex.
        key_hash: Hash of the key it was opened with.
        csrf_token: What requests carry that change something.
        ends_unix_s: When it ends.
    """

    cookie_hash: str
    tenant: str
    key_hash: str
    csrf_token: str
    ends_unix_s: float


class LoginTable:
    """The sessions that are kept."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def all(self) -> tuple[LoginRow, ...]:
        """Every one, those that were opened first first; damaged ones are left out, which logs their browsers out."""
        rows = self._db.rows("SELECT * FROM login ORDER BY ends_unix_s, cookie_hash")
        return tuple(self._db.damage.read_rows(RecordKind.LOGIN, rows, lambda row: row["tenant"], login_from_row))

    def change(self, opened: Iterable[LoginRow], closed: Iterable[str]) -> None:
        """Keep sessions, and forget others, by the hashes of their cookies."""
        with self._db.transaction() as db:
            db.executemany("DELETE FROM login WHERE cookie_hash = ?", [(each,) for each in closed])
            rows = [(e.cookie_hash, e.tenant, e.key_hash, e.csrf_token, e.ends_unix_s) for e in opened]
            db.executemany("INSERT OR REPLACE INTO login VALUES (?, ?, ?, ?, ?)", rows)


@names_damage("a log-in")
def login_from_row(row: sqlite3.Row) -> LoginRow:
    """A session from its row.

    Raises:
        RecordDamaged: It is not what was written.
    """
    return check_types(
        LoginRow(row["cookie_hash"], row["tenant"], row["key_hash"], row["csrf_token"], row["ends_unix_s"])
    )
