"""Epochs of the market, as rows of text whose meaning their writer knows; bounded."""

from __future__ import annotations

from collections.abc import Sequence

from eddy.store.database import Database


class Epochs:
    """The market's part of the store."""

    _db: Database

    def add_epochs(self, rows: Sequence[tuple[int, str]], most: int) -> None:
        """Keep epochs, and of all no more than the latest.

        They survive the end of this process; a loss of power may take the last ones back.

        Args:
            rows: Numbers, which grow, and what each holds.
            most: Epochs kept in all.
        """
        with self._db.transaction(durable=False) as db:
            db.executemany("INSERT OR REPLACE INTO epoch (number, body) VALUES (?, ?)", list(rows))
            db.execute("DELETE FROM epoch WHERE number <= ?", (max(number for number, _ in rows) - most,))

    def epochs(self) -> tuple[str, ...]:
        """What every epoch that is kept holds, oldest first."""
        return tuple(row["body"] for row in self._db.rows("SELECT body FROM epoch ORDER BY number"))
