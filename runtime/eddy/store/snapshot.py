"""A data base as it is at one instant, and the files it names then, beside a server that goes on."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from eddy.core.errors import StorageInUse
from eddy.files import PRIVATE, Hold, holder_of, os_errors
from eddy.store.check import examine
from eddy.store.faults import broken, storage_errors
from eddy.store.names import BLOBS, OUTPUTS, output_name, tenant_folder
from eddy.store.numbers import numbers_in
from eddy.store.outputs import Part
from eddy.store.rows import LOG

FILES_SINCE = 3
"""Schema from which on bytes are files; before, they were in the rows."""


@dataclass(frozen=True, slots=True)
class Named:
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
    if holder_of(lock) is not None:
        yield
        return
    try:
        held = Hold(lock, f"the data folder {data}")
    except StorageInUse:  # one has just started
        yield
        return
    try:
        yield
    finally:
        held.release(in_order=False)


def snapshot(database: Path, into: Path) -> tuple[int, int, list[Named]]:
    """Copy a data base as it is at one instant; answers its schema, how many jobs it has, and the files it names.

    Args:
        database: The file; its folder is the data folder.
        into: The folder the copy goes to.

    Raises:
        StorageDamaged: The data base is.
        StorageFailed: The copy cannot be written.
    """
    target = into / database.name
    with os_errors(target):
        target.unlink(missing_ok=True)
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
    with storage_errors(target), contextlib.closing(sqlite3.connect(target)) as copy:
        with _kept_from_starting(database.parent), contextlib.closing(_reading(database)) as live:
            live.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        found = examine(copy, float("inf"), 1)
        if found:
            raise broken(database, found[0])
        (schema,) = copy.execute("PRAGMA user_version").fetchone()
        (jobs,) = copy.execute("SELECT count(*) FROM job").fetchone()
        return schema, jobs, [*_blobs(copy), *_outputs(copy)] if schema >= FILES_SINCE else []


def _reading(database: Path) -> sqlite3.Connection:
    # Without a log nobody writes, and SQLite must not make one for a mere look.
    mode = "mode=ro" if database.with_name(database.name + "-wal").exists() else "immutable=1"
    connection = sqlite3.connect(f"file:{quote(str(database))}?{mode}", uri=True)
    connection.execute("PRAGMA busy_timeout = 5000")
    return connection


def _blobs(copy: sqlite3.Connection) -> Iterator[Named]:
    for tenant, sha256, size in copy.execute("SELECT tenant, sha256, bytes FROM blob ORDER BY tenant, sha256"):
        path = f"{BLOBS}/{tenant_folder(tenant)}/{sha256}"
        yield Named(path, (Part(0, size, sha256),), f"blob {sha256} of tenant {tenant}")


def _outputs(copy: sqlite3.Connection) -> Iterator[Named]:
    parts: list[Part] = []
    told = numbers_in(copy).job.told
    rows = copy.execute("SELECT job, name, place, bytes, sha256 FROM result ORDER BY job, name, place").fetchall()
    for number, (job, name, place, size, sha256) in enumerate(rows):
        parts.append(Part(place, size, sha256))
        if number + 1 == len(rows) or rows[number + 1][:2] != (job, name):
            what = f"the log of job {told(job)}" if name == LOG else f"output {name} of job {told(job)}"
            yield Named(f"{OUTPUTS}/{output_name(job, name)}", tuple(parts), what)
            parts = []
