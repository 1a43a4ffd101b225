# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A data base as it is at one instant, and the files it names then, beside a server that goes on."""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from eddy.core.errors import RecordDamaged, StorageInUse
from eddy.host.files import PRIVATE, FolderLock, read_lock_holder, translate_os_errors
from eddy.store.db.check import examine
from eddy.store.db.database import text_or_bytes
from eddy.store.db.faults import database_damaged_error, storage_errors
from eddy.store.db.numbers import read_numbers
from eddy.store.db.rows import LOG
from eddy.store.disk.names import BLOBS, OUTPUTS, output_name, tenant_folder
from eddy.store.job_tables.outputs import Part, part_of

FILES_SINCE = 3
"""Schema from which on bytes are files; before, they were in the rows."""


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that rows name.

    Attributes:
        path: Where it lies below the data folder.
        parts: Which bytes of it rows name, in order of their place.
        what: How a person calls it.
    """

    path: str
    parts: tuple[Part, ...]
    what: str

    @property
    def size_bytes(self) -> int:
        """Bytes that rows name."""
        return sum(part.size_bytes for part in self.parts)


@contextlib.contextmanager
def _kept_from_starting(data: Path) -> Iterator[None]:
    """Where no server runs, keep one from starting: SQLite could not tell us of it."""
    lock = data / "lock"
    if read_lock_holder(lock) is not None:
        yield
        return
    try:
        held = FolderLock(lock, f"the data folder {data}")
    except StorageInUse:  # one has just started
        yield
        return
    try:
        yield
    finally:
        held.release(in_order=False)


def snapshot(database: Path, into: Path) -> tuple[int, int, list[NamedFile]]:
    """Copy a data base as it is at one instant; answers its schema, how many jobs it has, and the files it names.

    Args:
        database: The file; its folder is the data folder.
        into: The folder the copy goes to.

    Raises:
        StorageDamaged: The data base is.
        StorageFailed: The copy cannot be written.
    """
    target = into / database.name
    with translate_os_errors(target):
        target.unlink(missing_ok=True)
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
    with storage_errors(target), contextlib.closing(sqlite3.connect(target)) as copy:
        with _kept_from_starting(database.parent), contextlib.closing(_reading(database)) as live:
            live.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        found = examine(copy, float("inf"), 1)
        if found:
            raise database_damaged_error(database, found[0])
        (schema,) = copy.execute("PRAGMA user_version").fetchone()
        (jobs,) = copy.execute("SELECT count(*) FROM job").fetchone()
        copy.text_factory = text_or_bytes
        return schema, jobs, named_files(copy) if schema >= FILES_SINCE else []


def named_files(connection: sqlite3.Connection) -> list[NamedFile]:
    """The files that rows name. One whose row is damaged cannot be compared with it, and is left out.

    Args:
        connection: It answers text that is none as bytes.
    """
    return [*_blobs(connection), *_outputs(connection)]


def _reading(database: Path) -> sqlite3.Connection:
    # Without a log nobody writes, and SQLite must not make one for a mere look.
    mode = "mode=ro" if database.with_name(database.name + "-wal").exists() else "immutable=1"
    connection = sqlite3.connect(f"file:{quote(str(database))}?{mode}", uri=True)
    connection.execute("PRAGMA busy_timeout = 5000")
    return connection


def _blobs(copy: sqlite3.Connection) -> Iterator[NamedFile]:
    for tenant, sha256, size in copy.execute("SELECT tenant, sha256, bytes FROM blob ORDER BY tenant, sha256"):
        with suppress(RecordDamaged):
            part = part_of((0, size, sha256))
            if isinstance(tenant, str):
                yield NamedFile(
                    f"{BLOBS}/{tenant_folder(tenant)}/{sha256}", (part,), f"blob {sha256} of tenant {tenant}"
                )


def _outputs(copy: sqlite3.Connection) -> Iterator[NamedFile]:
    told = read_numbers(copy).job.public_id
    rows = copy.execute("SELECT job, name, place, bytes, sha256 FROM result ORDER BY job, name, place")
    for (job, name), parts in itertools.groupby(rows, lambda row: (row[0], row[1])):
        with suppress(RecordDamaged):
            found = tuple(part_of(row[2:]) for row in parts)
            if isinstance(job, int) and isinstance(name, str):
                what = f"the log of job {told(job)}" if name == LOG else f"output {name} of job {told(job)}"
                yield NamedFile(f"{OUTPUTS}/{output_name(job, name)}", found, what)
