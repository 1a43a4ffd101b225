# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Epochs of the market, as rows of text whose meaning their writer knows; bounded."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database
from eddy.store.db.rows import parse_object


class Epochs:
    """The epochs that are kept."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, rows: Sequence[tuple[int, str]], kept: Collection[int]) -> None:
        """Keep epochs, and of all only some.

        They survive the end of this process; a loss of power may take the last ones back.

        Args:
            rows: Numbers, and what each holds.
            kept: Numbers of the epochs that stay; all others are removed.
        """
        with self._db.transaction(durable=False) as db:
            db.executemany("INSERT OR REPLACE INTO epoch (number, body) VALUES (?, ?)", list(rows))
            here = [int(number) for (number,) in db.execute("SELECT number FROM epoch")]
            db.executemany("DELETE FROM epoch WHERE number = ?", [(n,) for n in here if n not in kept])

    def all(self) -> tuple[str, ...]:
        """What every epoch that is kept holds, oldest first; damaged ones are left out."""
        rows = self._db.rows("SELECT number, body FROM epoch ORDER BY number")
        return tuple(self._db.damage.read_rows(RecordKind.EPOCH, rows, lambda row: row["number"], epoch_body))


@names_damage("an epoch")
def epoch_body(row: sqlite3.Row) -> str:
    """What an epoch holds, from its row.

    Raises:
        RecordDamaged: It is not what was written.
    """
    parse_object(row["body"])
    return str(row["body"])
