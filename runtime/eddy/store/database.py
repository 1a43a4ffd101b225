"""One SQLite file: one connection that writes, one thread after the other, and some that read."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from eddy.store.readers import Readers
from eddy.store.schema import migrate
from eddy.store.turns import Turns

MOST_VALUES = 999
"""Values one statement may be given, whatever SQLite was built with."""


class Database:
    """A SQLite file in WAL mode, synchronous: what is committed survives power loss.

    One connection writes, for one thread at a time, in the order they ask; others read beside it.

    Args:
        path: The file; created, with its folder, where missing. ``":memory:"`` keeps nothing.
    """

    def __init__(self, path: str | Path) -> None:
        if str(path) != ":memory:":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(str(path), check_same_thread=False, isolation_level=None)
        self._turns = Turns()
        self._after: list[Callable[[], None]] = []
        self._connection.row_factory = sqlite3.Row
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "busy_timeout = 5000"):
            self._connection.execute(f"PRAGMA {pragma}")
        migrate(self._connection)
        self._readers = Readers(Path(path)) if str(path) != ":memory:" else None

    def close(self) -> None:
        """Close the file; nothing may be asked afterwards."""
        if self._readers is not None:
            self._readers.close()
        with self._turns:
            self._connection.close()

    @contextmanager
    def transaction(self, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """All of it, or nothing; on disk when it ends.

        Args:
            durable: Whether it must survive a loss of power; else only the end of this process, and the next durable
                one takes it along.
        """
        with self._turns:
            self._after.clear()
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            for call in self._after:
                call()

    def after_commit(self, call: Callable[[], None]) -> None:
        """Have something called when the transaction under way is on disk, before the next one begins."""
        assert self._turns.mine
        self._after.append(call)

    def rows(self, query: str, *arguments: object) -> list[sqlite3.Row]:
        """Everything a query answers; within a transaction, of what it has written too."""
        if self._turns.mine:
            return self._connection.execute(query, arguments).fetchall()
        if self._readers is None:
            with self._turns:
                return self._connection.execute(query, arguments).fetchall()
        with self._readers.one() as connection:
            return connection.execute(query, arguments).fetchall()

    def row(self, query: str, *arguments: object) -> sqlite3.Row | None:
        """The first row a query answers, or None."""
        rows = self.rows(query, *arguments)
        return rows[0] if rows else None


def insert(db: sqlite3.Connection, into: str, rows: Sequence[Sequence[object]]) -> None:
    """Insert rows with as few statements as there can be: each one gives way to other threads, and waits for them.

    Args:
        db: In a transaction.
        into: ``"INSERT INTO table (columns)"``.
        rows: All of one length.
    """
    if not rows:
        return
    width = len(rows[0])
    place = f"({', '.join('?' * width)})"
    step = MOST_VALUES // width
    for begin in range(0, len(rows), step):
        part = rows[begin : begin + step]
        values = [value for row in part for value in row]
        db.execute(f"{into} VALUES {', '.join([place] * len(part))}", values)
