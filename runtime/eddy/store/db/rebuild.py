# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A data base whose tables are whole and whose indices are not, rebuilt from its tables.

`REINDEX` walks the old index before it builds the new one, and fails where its pages are damaged. Whether only indices
are damaged is decided by page: the pages of every table are walked to here (SQLite file format, section 1.6, B-tree
pages), and nothing SQLite complains about may lie on one of them.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from eddy.host.files import PRIVATE, sync_folder

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
        path: The file.
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
