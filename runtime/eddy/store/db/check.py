# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whether a data base is what was written: looked at before anything is taken from it.

`PRAGMA integrity_check` reads every page and compares every index with its table. It is given a bounded time; the
structure (`quick_check`), which is found sooner, comes first. What is only wrong with an index follows from the tables,
and is built again; anything else is for a backup.
"""

from __future__ import annotations

import contextlib
import logging
import re
import sqlite3
import time
from pathlib import Path
from urllib.parse import quote

from eddy.core.errors import StorageDamaged
from eddy.core.units import format_bytes
from eddy.host.files import damaged_file_error
from eddy.store.db.faults import database_damaged_error, explain_sqlite_error
from eddy.store.db.rebuild import only_indices, rebuild_file

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
