# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One SQLite file: one connection that writes, one thread after the other, and some that read.

A lock that is given in the order it was asked for, so that nobody who commits starves behind somebody who commits
more often. Whether the file can be written its own writes show (`Health`); changes of that are logged, one line each.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from eddy.core.errors import RecordDamaged, StorageDamaged, StorageFailed
from eddy.host.files import MIN_FREE_BYTES, PRIVATE, PRIVATE_FOLDER, free_bytes, translate_os_errors
from eddy.store.db.check import check_file, check_or_mend, check_owner
from eddy.store.db.damage import Damage
from eddy.store.db.faults import explain_sqlite_error, storage_errors
from eddy.store.db.schema import migrate
from eddy.store.disk.disk import Disk, PromisedPosition

PAUSE_S = 60.0
"""Wall seconds between two lines of the log about the same trouble."""
_log = logging.getLogger(__name__)


class Health:
    """What is known of one data base.

    Args:
        path: Its file, or ``:memory:``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept = str(path) != ":memory:"
        self._problem: StorageFailed | None = None
        self._opened: dict[Path, tuple[int, int]] = {}
        self._said = False
        self._said_s: dict[str, float] = {}
        self.on_trouble: Callable[[StorageFailed], None] = lambda error: None
        """Told of every trouble that is new, and of none again while it lasts."""

    def mark_opened(self) -> None:
        """The file is open now: from here on it, and its folder, are to stay where they are."""
        if self._kept:
            self._opened = {each: _identity(os.stat(each)) for each in (self._path.parent, self._path)}

    @property
    def problem(self) -> StorageFailed | None:
        """What is wrong with it; None where nothing is known to be."""
        with contextlib.suppress(StorageFailed):
            self.check_in_place()
        return self._problem

    def check_in_place(self) -> None:
        """See that the file and its folder are where they were opened. Whoever writes would write elsewhere, and beside
        files that are not found any more.

        Raises:
            StorageFailed: They were moved or removed.
        """
        for path, opened in self._opened.items():
            try:
                there = _identity(os.stat(path)) == opened
            except (FileNotFoundError, NotADirectoryError):
                there = False
            except OSError:  # whoever reads or writes there finds out
                continue
            if not there:
                message = (
                    f"{path} was moved or removed while the server runs: put it back, and work goes on; or stop the"
                    " server, and start it with the folder's new place as --data"
                )
                error = StorageFailed(message, path=str(path))
                self.note(error)
                raise error

    @property
    def is_doubtful(self) -> bool:
        """Whether a write would tell something: the last one failed, or there is hardly room for another."""
        if isinstance(self._problem, StorageDamaged):
            return False  # no write mends that
        with contextlib.suppress(OSError):
            return self._problem is not None or (self._kept and free_bytes(self._path) < MIN_FREE_BYTES)
        return True

    @contextlib.contextmanager
    def watch_writes(self, *, writes: bool = False) -> Iterator[None]:
        """Note how the block ends; with `writes`, a good end shows that all is well again.

        Raises:
            StorageFailed: What SQLite reported.
        """
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as reported:
            found = explain_sqlite_error(reported, self._path)
            if found is None:
                raise
            self.note(found)
            raise found from reported
        except RecordDamaged:  # concerns only who asked for that record
            raise
        except StorageFailed as error:
            self.note(error)
            raise
        if writes and self._problem is not None and not isinstance(self._problem, StorageDamaged):
            self._problem = None
            if self._said:
                _log.warning("storage: %s can be written again; waiting jobs continue", self._path)

    def note(self, error: StorageFailed) -> None:
        """Keep what is wrong, and say it; not again and again where small writes fit and large ones do not."""
        if self._problem is None or type(error) is not type(self._problem):
            self.on_trouble(error)
            now_s = time.monotonic()
            self._said = now_s - self._said_s.get(error.code, -PAUSE_S) >= PAUSE_S
            if self._said:
                self._said_s[error.code] = now_s
                _log.error("storage: %s", error.message)
        self._problem = error


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


class WriterLock:
    """Who may write. A thread that has its turn must not ask for another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Lock] = deque()
        self._owner: int | None = None

    @property
    def is_owner(self) -> bool:
        """Whether it is this thread's turn."""
        return self._owner == threading.get_ident()

    def __enter__(self) -> None:
        with self._lock:
            gate = self._join() if self._taken else None
            self._taken = True
        if gate is not None:
            gate.acquire()
        self._owner = threading.get_ident()

    def _join(self) -> threading.Lock:
        """Stand in the queue: a gate that is opened when it is one's turn."""
        gate = threading.Lock()
        gate.acquire()
        self._waiting.append(gate)
        return gate

    def __exit__(self, *_: object) -> None:
        self._owner = None
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False


MAX_CONNECTIONS = 4
"""Connections that are open at the same time; each keeps up to 2 MB of pages."""


class Readers:
    """A few read-only connections to one SQLite file in WAL mode, opened when they are first needed.

    Args:
        path: The file, which exists.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[sqlite3.Connection] = []
        self._free = threading.Semaphore(MAX_CONNECTIONS)
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
        for _ in range(MAX_CONNECTIONS):
            self._free.acquire()
        self._closed = True
        while self._idle:
            self._idle.pop().close()
        self._free.release(MAX_CONNECTIONS)


MAX_VALUES = 999
"""Values one statement may be given, whatever SQLite was built with."""


_PRAGMAS = (
    "busy_timeout = 5000",
    "auto_vacuum = INCREMENTAL",  # before the log: it holds for a file that is empty, or is vacuumed
    "journal_mode = WAL",
    "synchronous = NORMAL",
    "foreign_keys = ON",
    "secure_delete = FAST",  # what is deleted is written over in pages that are written anyway
)
FREE_PAGES, FREE_SHARE = 256, 0.1
"""Pages that stay free for what comes, and the part of all pages, whichever is more."""
STEP_PAGES = 64
"""Pages that are given back in one transaction: others wait for it."""


class Database:
    """A SQLite file in WAL mode: what was promised survives power loss.

    One connection writes, for one thread at a time, in the order they ask; others read beside it.

    Args:
        path: The file; created, with its folder, where missing. ``":memory:"`` keeps nothing.
        folder: What is kept beside it; the file's own where left out.

    Attributes:
        damage: Records that are not what was written.

    Raises:
        StorageFailed: It cannot be used; one of its kinds says why.
        SchemaTooNew: A newer Eddy wrote it.
    """

    def __init__(self, path: str | Path, folder: Path | None = None) -> None:
        self.path = Path(path)
        self._folder = folder or self.path.parent
        kept = str(path) != ":memory:"
        existed = kept and _make(self.path)
        self.health = Health(self.path)
        self._turns = WriterLock()
        self._disk = Disk(Path(f"{path}-wal"), PromisedPosition(self.path)) if kept else Disk(None)
        self._disk.forget_position()
        self.damage = Damage()
        self._after: list[Callable[[], None]] = []
        self._connection = self._connect()
        try:
            with storage_errors(self.path):
                self._open(existed)
            with translate_os_errors(self.path):
                self.health.mark_opened()
        except BaseException:
            self._connection.close()
            raise
        self._readers = Readers(self.path) if kept else None

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(str(self.path), check_same_thread=False, isolation_level=None)
        connection.row_factory = sqlite3.Row
        return connection

    def _open(self, existed: bool) -> None:
        self._configure()
        if existed:
            check_owner(self._connection, self.path)
            if not check_or_mend(self._connection, self.path):
                self._connection = self._connect()
                self._configure()
        migrate(self._connection, self._folder)

    def _configure(self) -> None:
        for pragma in _PRAGMAS:
            self._connection.execute(f"PRAGMA {pragma}")

    def close(self) -> None:
        """Close the file; nothing may be asked afterwards."""
        if self._readers is not None:
            self._readers.close()
        with self._turns:
            self._disk.forget_position()
            self._connection.close()
        self._disk.close()

    @contextmanager
    def transaction(self, durable: bool = True, wait: bool = True) -> Iterator[sqlite3.Connection]:
        """All of it, or nothing; on disk when it ends. The next one may begin before that.

        Args:
            durable: Whether it must survive a loss of power; else only the end of this process, and the next durable
                one takes it along.
            wait: Whether to wait for the disk; who does not calls `settle` before anybody is told.

        Raises:
            StorageFailed: It cannot be written; nothing of it is kept, unless it was the last synchronisation that
                failed (see `Disk.settle`).
        """
        with self.health.watch_writes(writes=True):
            with self._turns:
                self.health.check_in_place()
                self._after.clear()
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                    with self._disk.commit(durable) as number:
                        self._connection.execute("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
                for call in self._after:
                    call()
            if durable and wait:
                self._disk.settle(number)

    @property
    def settling(self) -> bool:
        """Whether `settle` would wait."""
        return self._disk.settling

    def settle(self) -> None:
        """Return when everything that was promised is on disk; for who committed without waiting, and for who read.

        Raises:
            StorageFailed: The disk refused.
        """
        with self.health.watch_writes():
            self._disk.settle()

    @property
    def in_transaction(self) -> bool:
        """Whether this thread has a transaction under way."""
        return self._turns.is_owner

    def after_commit(self, call: Callable[[], None]) -> None:
        """Have something called when the transaction under way is committed, before the next one begins."""
        assert self._turns.is_owner
        self._after.append(call)

    def rows(self, query: str, *arguments: object) -> list[sqlite3.Row]:
        """Everything a query answers; within a transaction, of what it has written too.

        Outside one it is on disk when this returns, as far as it was promised to anybody: what is shown stays. Where
        the disk refuses, what was committed is shown, and `health` says what is wrong.

        Raises:
            StorageFailed: The file cannot be read, or is damaged there.
        """
        found = self.fresh_rows(query, *arguments)
        if not self._turns.is_owner:
            with contextlib.suppress(StorageFailed):
                self.settle()
        return found

    def fresh_rows(self, query: str, *arguments: object) -> list[sqlite3.Row]:
        """The same, be it on disk already or not: for answers nobody outside is told.

        Raises:
            StorageFailed: The file cannot be read, or is damaged there.
        """
        if self._turns.is_owner:
            return fetch(self._connection, query, arguments)
        with self.health.watch_writes():
            if self._readers is None:
                with self._turns:
                    return fetch(self._connection, query, arguments)
            with self._readers.borrow() as connection:
                return fetch(connection, query, arguments)

    def give_back(self, everything: bool = False) -> bool:
        """Give some free pages back to the file system, which shrinks the file; answers whether there are more.

        Args:
            everything: Leave none for what comes: what was deleted is in no page afterwards.
        """
        with self.transaction(durable=False) as db:
            free, pages = (db.execute(f"PRAGMA {each}").fetchone()[0] for each in ("freelist_count", "page_count"))
            left = 0 if everything else max(FREE_PAGES, int(pages * FREE_SHARE))
            step = min(free - left, STEP_PAGES)
            if step > 0:
                db.execute(f"PRAGMA incremental_vacuum({step})").fetchall()
                (after,) = db.execute("PRAGMA freelist_count").fetchone()
                return bool(left < after < free)  # a file of before, which could not be vacuumed, keeps its pages
        return False

    def empty_log(self) -> bool:
        """Have nothing left in the write-ahead log; answers whether that went: somebody may be reading there."""
        with self.health.watch_writes(), self._turns:
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._disk.forget_position()
            try:
                (busy, *_) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                self._connection.execute("PRAGMA busy_timeout = 5000")
        return not busy

    def probe(self) -> None:
        """Write a few bytes where the last write failed, or where there is hardly room: what is wrong, or was, shows in
        `health`."""
        if self.health.is_doubtful:
            with contextlib.suppress(StorageFailed), self.transaction() as db:
                db.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('probed', ?)", (repr(time.time()),))

    def row(self, query: str, *arguments: object) -> sqlite3.Row | None:
        """The first row a query answers, or None."""
        rows = self.rows(query, *arguments)
        return rows[0] if rows else None


def fetch(connection: sqlite3.Connection, query: str, arguments: Sequence[object] = ()) -> list[sqlite3.Row]:
    """Everything a query answers. What is kept as text and is none comes as bytes, so that one such value does not hide
    all the others: whoever reads it finds that it is no text."""
    try:
        return connection.execute(query, arguments).fetchall()
    except sqlite3.OperationalError as error:
        if "decode to UTF-8" not in str(error):
            raise
    connection.text_factory = text_or_bytes
    try:
        return connection.execute(query, arguments).fetchall()
    finally:
        connection.text_factory = str


def text_or_bytes(value: bytes) -> str | bytes:
    """A text of SQLite; its bytes where they are none."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _make(path: Path) -> bool:
    """See that there is a file, private to its owner; answers whether there was one.

    Raises:
        StorageFailed: It cannot be made, or is damaged at first sight.
    """
    with translate_os_errors(path):
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, mode=PRIVATE_FOLDER)
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
        except FileExistsError:
            check_file(path)
            return True
        return False


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
    step = MAX_VALUES // width
    for begin in range(0, len(rows), step):
        part = rows[begin : begin + step]
        values = [value for row in part for value in row]
        db.execute(f"{into} VALUES {', '.join([place] * len(part))}", values)


def pairs_table(pairs: int) -> str:
    """The beginning of a query that looks up pairs of values: a table `wanted` of them, `first` and `second`.

    To be joined by CROSS JOIN, which SQLite takes in this order. For pairs that are IN a list it reads the whole table
    it looks in, however few they are.
    """
    return f"WITH wanted (first, second) AS (VALUES {', '.join(['(?, ?)'] * pairs)})"
