# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whether a data base is what was written: looked at before anything is taken from it.

`PRAGMA integrity_check` reads every page and compares every index with its table. It is given a bounded time; the
structure (`quick_check`), which is found sooner, comes first. What is only wrong with an index follows from the tables,
and is built again; anything else is for a backup.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from eddy.core.errors import StorageDamaged
from eddy.core.units import format_bytes
from eddy.host.files import PRIVATE, damaged_file_error, sync_folder
from eddy.store.db.faults import database_damaged_error, explain_sqlite_error

_PAGE = re.compile(r"\b[Pp]age (\d+)\b")
_INNER, _LEAF = (2, 5), (10, 13)
"""Kinds of b-tree pages: of keys (indices, and tables without row ids) and of rows."""


def only_indices(path: Path, connection: sqlite3.Connection, found: list[str]) -> bool:
    """Whether everything that was found wrong lies outside the tables' pages.

    Args:
        path: The file, with nothing left in its write-ahead log.
        connection: To read the schema with.
        found: Everything SQLite complains about, a line each.
    """
    roots = [row[0] for row in connection.execute("SELECT rootpage FROM sqlite_master WHERE type = 'table'")]
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    tables = {1}
    with path.open("rb") as file:
        for root in roots:
            for page in _tree(file.fileno(), root, size):
                if page in tables:
                    return False
                tables.add(page)
    for line in found:
        pages = {int(number) for number in _PAGE.findall(line)}
        if pages & tables or not (pages or "index" in line):
            return False
    return True


def _tree(file: int, root: int, size: int) -> Iterator[int]:
    """The pages of a b-tree; ends early at one that is none, which SQLite has complained about."""
    left = [root]
    while left:
        number = left.pop()
        yield number
        page = os.pread(file, size, (number - 1) * size)
        head = 100 if number == 1 else 0
        if len(page) < size or page[head] not in _INNER:
            continue
        cells = int.from_bytes(page[head + 3 : head + 5], "big")
        left.append(int.from_bytes(page[head + 8 : head + 12], "big"))
        for cell in range(min(cells, size // 4)):
            at = int.from_bytes(page[head + 12 + 2 * cell : head + 14 + 2 * cell], "big")
            left.append(int.from_bytes(page[at : at + 4], "big"))


def rebuild_file(path: Path, connection: sqlite3.Connection) -> bool:
    """Write the tables into a new file beside the old one; answers whether it is whole, and in the old one's place.

    Args:
        connection: The only one to it; closed afterwards where the file was replaced.

    Raises:
        sqlite3.DatabaseError: A table cannot be read, or there is no room.
    """
    new = path.with_name(path.name + "-new")
    new.unlink(missing_ok=True)
    os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
    try:
        connection.execute("ATTACH ? AS new", (str(new),))
        try:
            _copy(connection)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.execute("DETACH new")
        with contextlib.closing(sqlite3.connect(new)) as made:
            if [row[0] for row in made.execute("PRAGMA integrity_check")] != ["ok"]:
                return False
        connection.close()
        new.replace(path)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        sync_folder(path.parent)
        return True
    finally:
        new.unlink(missing_ok=True)


def _copy(connection: sqlite3.Connection) -> None:
    """Tables, their rows, then their indices, in one transaction."""
    schema = connection.execute("SELECT type, name, sql FROM main.sqlite_master WHERE sql IS NOT NULL").fetchall()
    (version,) = connection.execute("PRAGMA main.user_version").fetchone()
    connection.execute("PRAGMA new.auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA new.synchronous = FULL")
    connection.execute("BEGIN IMMEDIATE")
    for kind in ("table", "index"):
        for _, name, sql in (entry for entry in schema if entry[0] == kind):
            if name != "sqlite_sequence":
                connection.execute(re.sub(rf"^CREATE {kind.upper()} ", f"CREATE {kind.upper()} new.", sql, count=1))
            if kind == "table":
                connection.execute(f'INSERT INTO new."{name}" SELECT * FROM main."{name}" NOT INDEXED')
    connection.execute(f"PRAGMA new.user_version = {version}")
    connection.execute("COMMIT")


BUDGET_S = 1.0
"""Wall seconds a start spends on looking. On the machine of the README's figures both checks together take 21 ms a MiB:
0.3 s for 10,000 jobs with fifteen events each (12 MiB)."""
_STEPS = 20_000
"""Instructions of SQLite's machine between two looks at the clock."""
_EVERYTHING = 100_000
_HEADER, _MAGIC = 100, b"SQLite format 3\0"
_OF_A_VALUE = re.compile(r"(NULL|NUMERIC|TEXT|REAL|INT|BLOB|non-\w+) value in ")
_log = logging.getLogger(__name__)


def check_file(path: Path) -> None:
    """Look at a data base's file before SQLite does.

    Raises:
        StorageDamaged: It is empty, no data base, or cut short.
        OSError: It cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_HEADER)
    if not head:
        raise database_damaged_error(path, "it is empty; a data base never is")
    if len(head) < _HEADER or not head.startswith(_MAGIC):
        raise database_damaged_error(path, "it does not start like an SQLite data base")
    log = path.with_name(path.name + "-wal")
    pages = int.from_bytes(head[28:32], "big")
    page = int.from_bytes(head[16:18], "big")
    page = 65536 if page == 1 else page
    current = head[24:28] == head[92:96]
    settled = not log.exists() or not log.stat().st_size
    if current and settled and size < pages * page:
        raise database_damaged_error(path, f"it has {size} of {format_bytes(pages * page)}")


def check_owner(connection: sqlite3.Connection, path: Path) -> None:
    """See that a data base is ours before anything is put into it.

    Raises:
        StorageDamaged: It holds another program's tables.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and not version:
        raise damaged_file_error(path, "is another program's", "name another --data, or restore this one from a backup")


def examine(connection: sqlite3.Connection, budget_s: float = BUDGET_S, most: int = 10) -> list[str] | None:
    """What is wrong with a data base, up to `most` lines; [] where nothing is, None where the time did not suffice.

    A value that its column does not take is damage of its record alone, which is found where that is read.
    """
    ends = time.monotonic() + budget_s
    connection.set_progress_handler(lambda: int(time.monotonic() > ends), _STEPS)
    try:
        for how in ("quick_check", "integrity_check"):
            said = [str(row[0]) for row in connection.execute(f"PRAGMA {how}({most})")]
            lines = [line for text in said for line in text.splitlines() if not line.startswith("***")]
            found = [line for line in lines if line != "ok" and not _OF_A_VALUE.match(line)]
            if found:
                return found
            if most <= len(lines) < _EVERYTHING:  # what is wrong with values may hide more
                return examine(connection, budget_s, _EVERYTHING)
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            return None
        raise
    finally:
        connection.set_progress_handler(None, 0)
    return []


def read_whole(path: Path) -> list[str]:
    """What is wrong with a data base that may be in use, without changing it, however long that takes.

    Raises:
        sqlite3.Error: It cannot be read at all.
    """
    # Without a log nobody writes, and SQLite must not make one for a mere look.
    mode = "mode=ro" if path.with_name(path.name + "-wal").exists() else "immutable=1"
    with contextlib.closing(sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True)) as connection:
        return examine(connection, float("inf")) or []


def check_or_mend(connection: sqlite3.Connection, path: Path, budget_s: float = BUDGET_S) -> bool:
    """Look at a data base, and build its indices again where only they are damaged; says so in the log.

    Returns:
        Whether the connection can be used; False where the file was rewritten and must be opened again.

    Raises:
        StorageDamaged: More is damaged than that.
    """
    try:
        found = examine(connection, budget_s)
    except sqlite3.DatabaseError as error:
        found = [str(error)]
    if found is None:
        _log.warning("%s is too large to check completely in %g s; `eddy doctor` checks all of it", path, budget_s)
    if not found:
        return True
    in_place = _reindex(connection)
    if not in_place and not _rebuild(connection, path):
        raise database_damaged_error(path, found[0])
    _log.warning("%s: an index was damaged (%s) and was built again from its table (REINDEX)", path, found[0])
    return in_place


def _rebuild(connection: sqlite3.Connection, path: Path) -> bool:
    """Rebuild the data base from its tables, if nothing of them is damaged."""
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        found = examine(connection, float("inf"), _EVERYTHING)
        if not found or len(found) >= _EVERYTHING or not only_indices(path, connection, found):
            return False
        return rebuild_file(path, connection)
    except sqlite3.DatabaseError as error:
        fault = explain_sqlite_error(error, path)
        if fault is None or isinstance(fault, StorageDamaged):
            return False
        raise


def _reindex(connection: sqlite3.Connection) -> bool:
    """Build the indices again; kept only if everything is in order then."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("REINDEX")
        good = examine(connection, float("inf")) == []
        connection.execute("COMMIT" if good else "ROLLBACK")
        return good
    except sqlite3.DatabaseError:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        return False
