# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What SQLite reports, as errors that say which file, why, and what helps."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from eddy.core.errors import StorageDamaged, StorageFailed, StorageInUse, StorageReadOnly
from eddy.host.files import MIN_FREE_BYTES, damaged_file_error, disk_full_error, free_bytes

RESTORE = (
    "restore the folder from a backup, or save what can be read with `sqlite3 {path} .recover | sqlite3 saved.sqlite3`"
    " and replace it with that; an empty --data starts again from nothing"
)
_DAMAGED = (
    "malformed",
    "not a database",
    "no such table",
    "no such column",
    "has no column",
    "already exists",
    "unsupported file",
    "decode to UTF-8",
)
_READ_ONLY = ("readonly", "read-only")


def explain_sqlite_error(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> StorageFailed | None:
    """What an error of SQLite means; None where it is no matter of the file's (a wrong query, say)."""
    if isinstance(
        error, UnicodeDecodeError
    ):  # a message of SQLite that cites the schema, where that is no text any more
        return database_damaged_error(path, "its schema is not text")
    said = str(error)
    if not isinstance(error, sqlite3.DatabaseError) or isinstance(
        error, (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError)
    ):
        return None
    if "full" in said:
        return disk_full_error(path)
    if any(word in said for word in _DAMAGED):
        return database_damaged_error(path, said)
    if "locked" in said:
        return StorageInUse(f"another program uses {path} ({said}): end it; `fuser {path}` shows it", path=str(path))
    if any(word in said for word in _READ_ONLY):
        return StorageReadOnly(f"{path} cannot be written ({said}): give user {os.geteuid()} the right", path=str(path))
    if "unable to open" in said or "I/O" in said:
        return _refused(path, said)
    return None


def database_damaged_error(path: Path, how: str) -> StorageDamaged:
    """Say that the data base is damaged."""
    return damaged_file_error(path, f"is damaged ({how})", RESTORE.format(path=path))


def _refused(path: Path, said: str) -> StorageFailed:
    """SQLite says only that the file system refused: find out why."""
    if free_bytes(path) < MIN_FREE_BYTES:
        return disk_full_error(path)
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        return StorageReadOnly(
            f"{path} cannot be written ({said}): give user {os.geteuid()} the right, or name another folder",
            path=str(path),
        )
    return StorageFailed(f"{path}: {said}; check the disk it is on, and its quota", path=str(path))


@contextlib.contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite reports of its file within the block into `StorageFailed` or one of its kinds."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        found = explain_sqlite_error(error, path)
        if found is None:
            raise
        raise found from error
