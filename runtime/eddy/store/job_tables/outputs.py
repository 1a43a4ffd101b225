# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What jobs leave: one file for each output, `outputs/<job>.<name>`, with its items end to end as they were done.

A row for each item says where in the file it is and what it hashes to. The bytes are on disk before the row is; what a
file has beyond its rows was left by a crash, and is written over.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from eddy.core.errors import Conflict, NotFound, StorageFailed
from eddy.host.files import sync_folder, translate_os_errors
from eddy.store.bytes.blobs import MAX_BYTES
from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database
from eddy.store.db.field_types import check_types
from eddy.store.db.numbers import Numbers
from eddy.store.db.rows import LOG, ItemOutput, ResultRow
from eddy.store.disk import files
from eddy.store.disk.names import is_blob, output_name
from eddy.store.disk.verification_cache import VerificationCache
from eddy.store.job_tables.jobs import JobTable
from eddy.store.job_tables.retention import require_outputs

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Part:
    """One item's bytes in the file of an output."""

    place: int
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class OutputFile:
    """An output of a job, where it lies.

    Attributes:
        parts: Items, in order.
        what: How a person calls it.
        check_kept: Raises `OutputsCollected` where it was removed since: then a file that is missing is not damaged.
        verified: Items that were found to be what was stored.
    """

    path: Path
    parts: tuple[Part, ...]
    what: str
    check_kept: Callable[[], None] = lambda: None
    verified: VerificationCache = field(default_factory=VerificationCache, compare=False, repr=False)

    @property
    def size_bytes(self) -> int:
        """All of them."""
        return sum(part.size_bytes for part in self.parts)

    def pieces(self) -> Iterator[bytes]:
        """The bytes of all items, end to end, a piece at a time.

        Raises:
            DamagedFile: They are not there.
            OutputsCollected: They were removed before the first one was read.
        """
        yield from self._spans([(part.place, part.size_bytes) for part in self.parts])

    def _spans(self, wanted: Sequence[tuple[int, int]]) -> Iterator[bytes]:
        try:
            yield from files.spans(self.path, wanted, self.what)
        except files.DamagedFile:
            self.check_kept()
            raise

    @property
    def tag(self) -> str:
        """Names its bytes: a hash over the hashes of its items."""
        return hashlib.sha256("".join(f"{part.size_bytes}:{part.sha256};" for part in self.parts).encode()).hexdigest()

    def read(self, begin: int, stop: int) -> Iterator[bytes]:
        """Bytes from `begin` up to `stop`, a piece at a time; the items they are of are verified first, those that are
        read in part unless they were and the file has not changed since.

        The file is open when this returns: it is read to its end, whatever is removed meanwhile.

        Raises:
            DamagedFile: They are not those that were stored.
            OutputsCollected: They were removed.
        """
        wanted, touched, at = list[tuple[int, int]](), list[Part](), 0
        for part in self.parts:
            first, last = max(begin - at, 0), min(stop - at, part.size_bytes)
            if first < last:
                wanted.append((part.place + first, last - first))
                whole = last - first == part.size_bytes
                if whole or not self.verified.is_remembered(self.path, (part.place, part.size_bytes)):
                    touched.append(part)
            at += part.size_bytes
        dataclasses.replace(self, parts=tuple(touched)).verify()
        pieces = self._spans(wanted)
        return itertools.chain([next(pieces, b"")], pieces)

    def verify(self) -> OutputFile:
        """Itself, once its bytes were found to be those that were stored.

        Raises:
            DamagedFile: They are not.
            OutputsCollected: They were removed.
        """
        for part in self.parts:
            digest = hashlib.sha256()
            for piece in self._spans([(part.place, part.size_bytes)]):
                digest.update(piece)
            how = f"the sha256 of bytes {part.place} to {part.place + part.size_bytes} is {digest.hexdigest()}"
            files.check(digest.hexdigest() == part.sha256, self.path, self.what, how)
            self.verified.remember(self.path, (part.place, part.size_bytes))
        return self


@names_damage("an item's row")
def part_of(row: Iterable[object]) -> Part:
    """An item's bytes from its row: place, size and hash.

    Raises:
        RecordDamaged: It is not what was written.
    """
    part = check_types(Part(*row))  # type: ignore[arg-type]
    if not (0 <= part.place <= MAX_BYTES and 0 <= part.size_bytes <= MAX_BYTES and is_blob(part.sha256)):
        raise ValueError(f"it is {part}")
    return part


class Outputs:
    """What jobs leave: a file an output, and rows that say what is in it."""

    def __init__(self, db: Database, folder: Path, numbers: Numbers, jobs: JobTable) -> None:
        self.folder = folder
        self._db, self._numbers, self._jobs, self._verified = db, numbers, jobs, VerificationCache()

    def file(self, tenant: str, job: int, name: str) -> OutputFile:
        """Where an output buffer of every item lies, end to end.

        Raises:
            NotFound: No such job of this tenant, or no such output.
            OutputsCollected: It was removed to make room.
            Conflict: Not all items are done.
        """
        record = self._jobs.get(tenant, job)
        require_outputs(record, self._numbers)
        parts = self._parts(job, name)
        told = self._numbers.job.public_id(job)
        if record.items_done < record.batch:
            raise Conflict(
                f"job {told} is {record.state.value}: {record.items_done} of {record.batch} items are done;"
                " outputs can be fetched when all are",
                field="job",
                state=record.state.value,
            )
        if not parts:
            self._check_kept(tenant, job)
            allowed = self.names(job)
            raise NotFound(
                f"job {told} has no output {name!r}; it has: {', '.join(allowed)}",
                field="name",
                allowed=allowed,
            )
        return self._found(tenant, job, name, parts)

    def _found(self, tenant: str, job: int, name: str, parts: tuple[Part, ...]) -> OutputFile:
        kept = partial(self._check_kept, tenant, job)
        return OutputFile(self._output_path(job, name), parts, self._called(job, name), kept, self._verified)

    def _check_kept(self, tenant: str, job: int) -> None:
        """See whether what a job left is there still: rows go before files do, and the record says so with them."""
        require_outputs(self._jobs.get(tenant, job), self._numbers)

    def read(self, tenant: str, job: int, name: str) -> bytes:
        """An output buffer of every item, end to end.

        Raises:
            NotFound: No such job of this tenant, or no such output.
            Conflict: Not all items are done.
            DamagedFile: The bytes are not those that were stored.
        """
        return b"".join(self.file(tenant, job, name).verify().pieces())

    def log(self, tenant: str, job: int) -> str:
        """What a kernel job printed; "" where it printed nothing, or has not ended.

        Raises:
            NotFound: No such job of this tenant.
            OutputsCollected: It was removed to make room.
            DamagedFile: The bytes are not those that were stored.
        """
        self._check_kept(tenant, job)
        parts = self._parts(job, LOG)
        if not parts:
            self._check_kept(tenant, job)
        return b"".join(self._found(tenant, job, LOG, parts).verify().pieces()).decode(errors="replace")

    def names(self, job: int) -> list[str]:
        """Names of the outputs a job has left."""
        query = "SELECT DISTINCT name FROM result WHERE job = ? AND name <> ? ORDER BY name"
        return [row["name"] for row in self._db.rows(query, job, LOG) if isinstance(row["name"], str)]

    def _parts(self, job: int, name: str) -> tuple[Part, ...]:
        query = "SELECT place, bytes, sha256 FROM result WHERE job = ? AND name = ? ORDER BY item"
        with self._db.damage.name_record(RecordKind.OUTPUT, self._called(job, name)):
            return tuple(part_of(row) for row in self._db.rows(query, job, name))

    def _output_path(self, job: int, name: str) -> Path:
        return self.folder / output_name(job, name)

    def write(self, results: Sequence[ItemOutput], ends: MutableMapping[tuple[int, str], int]) -> list[ResultRow]:
        """Have the bytes of results on disk; answers the rows that name them, for a `Commit` to come.

        All are written, then all are synchronised: what a file system does for the first serves the others too.

        Args:
            results: In order; several of one output follow each other in its file.
            ends: Where files end by job and output, where rows do not say so yet; brought up to date once all are
                written.

        Raises:
            DamagedFile: Something else stands in place of one of the files; it concerns that job alone.
            StorageFailed: The disk refused.
        """
        reached = dict(ends)
        with self._db.health.watch_writes():
            rows = self._write(results, reached)
        ends.update(reached)
        return rows

    def _write(self, results: Sequence[ItemOutput], ends: MutableMapping[tuple[int, str], int]) -> list[ResultRow]:
        found: list[ResultRow] = []
        for job in {result.job for result in results}:
            for key, end in self._ends(job).items():
                ends.setdefault(key, end)
        writes: dict[tuple[int, str], files.PendingFile] = {}
        try:
            for result in results:
                key, data = (result.job, result.name), result.data
                place = ends.get(key, 0)
                if key not in writes:
                    with self._apart(key):
                        writes[key] = self._open_part(self._output_path(*key), place)
                writes[key].write(data)
                ends[key] = place + len(data)
                sha256 = hashlib.sha256(data).hexdigest()
                found.append((result.job, result.name, result.item, place, len(data), sha256))
            for key, each in writes.items():
                with self._apart(key):
                    each.settle()
            for key, each in writes.items():
                with self._apart(key):
                    each.keep()
        finally:
            for each in writes.values():
                each.drop()
        if any(each.fresh for each in writes.values()):
            with translate_os_errors(self.folder):
                sync_folder(self.folder)
        return found

    def _apart(self, key: tuple[int, str]) -> AbstractContextManager[None]:
        job, name = key
        return files.isolate_file_errors(self._output_path(job, name), self._called(job, name))

    def _called(self, job: int, name: str) -> str:
        """How a person calls an output."""
        told = self._numbers.job.public_id(job)
        return f"the log of job {told}" if name == LOG else f"output {name} of job {told}"

    def _open_part(self, path: Path, place: int) -> files.PendingFile:
        """A file of an output, to be written on from a place; a new one is a draft until it is whole."""
        if place:
            return files.AppendedFile(path, place)
        return files.NewFile(files.DraftFile(files.make_folder(self.folder, self.folder.parent)), path)

    def _ends(self, job: int) -> dict[tuple[int, str], int]:
        """Where the files of a job's outputs end, as far as rows go."""
        query = (
            "SELECT name, max(place + bytes) AS end FROM result"
            " WHERE job = ? AND typeof(place) = 'integer' AND typeof(bytes) = 'integer' GROUP BY name"
        )
        return {(job, row["name"]): row["end"] for row in self._db.fresh_rows(query, job)}

    def trim(self, job: int, names: Iterable[str]) -> None:
        """Give back what files of a job that has ended have beyond what rows name: whole files, where none does.

        What cannot be given back stays, and the log says so.
        """
        ends = self._ends(job)
        for name in names:
            path, end = self._output_path(job, name), ends.get((job, name), 0)
            try:
                with translate_os_errors(path):
                    if not end:
                        path.unlink(missing_ok=True)
                        continue
                left = files.AppendedFile(path, end)
                try:
                    left.settle()
                finally:
                    left.drop()
            except StorageFailed as failure:
                _log.warning("%s has more than rows name, which stays: %s", path, failure.message)
