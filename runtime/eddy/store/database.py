"""One SQLite connection, shared by threads under a lock."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eddy.store.schema import migrate


class Database:
    """A SQLite file in WAL mode, synchronous: what is committed survives power loss.

    Args:
        path: The file; created, with its folder, where missing. ``":memory:"`` keeps nothing.
    """

    def __init__(self, path: str | Path) -> None:
        if str(path) != ":memory:":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(str(path), check_same_thread=False, isolation_level=None)
        self._lock = threading.RLock()
        self._connection.row_factory = sqlite3.Row
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "busy_timeout = 5000"):
            self._connection.execute(f"PRAGMA {pragma}")
        migrate(self._connection)

    def close(self) -> None:
        """Close the file; nothing may be asked afterwards."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it, or nothing; on disk when it ends."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def rows(self, query: str, *arguments: object) -> list[sqlite3.Row]:
        """Everything a query answers."""
        with self._lock:
            return self._connection.execute(query, arguments).fetchall()

    def row(self, query: str, *arguments: object) -> sqlite3.Row | None:
        """The first row a query answers, or None."""
        rows = self.rows(query, *arguments)
        return rows[0] if rows else None
