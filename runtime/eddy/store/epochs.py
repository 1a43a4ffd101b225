"""Epochs of the market, as rows of text whose meaning their writer knows; bounded."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from eddy.store.database import Database


class Epochs:
    """The epochs that are kept.

    Args:
        db: Where they are kept.
    """

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
        """What every epoch that is kept holds, oldest first."""
        return tuple(row["body"] for row in self._db.rows("SELECT body FROM epoch ORDER BY number"))
