"""Connections that only read: a query never waits for a transaction, nor for the disk it is synchronised to."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MOST = 4
"""Connections that are open at the same time; each keeps up to 2 MB of pages."""


class Readers:
    """A few read-only connections to one SQLite file in WAL mode, opened when they are first needed.

    Args:
        path: The file, which exists.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[sqlite3.Connection] = []
        self._free = threading.Semaphore(MOST)
        self._closed = False

    @contextmanager
    def borrow(self) -> Iterator[sqlite3.Connection]:
        """A connection nobody else uses meanwhile; it sees what was committed before each query."""
        with self._free:
            if self._closed:
                raise sqlite3.ProgrammingError("the store is closed")
            connection = self._idle.pop() if self._idle else self._open()
            try:
                yield connection
            finally:
                self._idle.append(connection)

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(str(self._path), check_same_thread=False, isolation_level=None)
        connection.row_factory = sqlite3.Row
        for pragma in ("query_only = ON", "busy_timeout = 5000"):
            connection.execute(f"PRAGMA {pragma}")
        return connection

    def close(self) -> None:
        """Close them all, once nobody reads any more; nothing may be asked afterwards."""
        for _ in range(MOST):
            self._free.acquire()
        self._closed = True
        while self._idle:
            self._idle.pop().close()
        self._free.release(MOST)
