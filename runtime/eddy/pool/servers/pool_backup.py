# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A pool's folder as one file: everything that its one server keeps, at one moment, with keys and certificate.

The server stands still while it is copied, so all streams are of the same instant; what was acknowledged before is in
its files, as it syncs before it acknowledges. Nothing waits longer than the copy takes: heads and boards go on as where
a server does not answer for some seconds. The sums of all files are the last entry, so a file without them is no whole
one.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from eddy.core.errors import Conflict, InvalidRequest, NotFound, StorageDamaged
from eddy.host.files import PRIVATE_FOLDER
from eddy.pool.servers.admission import Place

FORMAT = 1
NOTE = "pool-backup.json"
LEFT_OUT = ("nats.log", "nats.lock", "nats.pid", "nats.running", "users.lock", "server.log")
"""Of a process that runs, and what it said."""
BYTES = "bytes"
"""Folder of tenants' bytes, where they lie beside what the server keeps."""
PASSING = ("heads", "incoming")
"""Folders of what heads that run there have read, which is made again, and of bytes that are not whole."""
STOPS_S, LOOK_S = 5.0, 0.002
"""Wall seconds in which a process stops that was told to, and between two looks."""
PIECE_BYTES = 1 << 20
RESUMER = Path(__file__).with_name("server_resumer.py")


@dataclass(frozen=True, slots=True)
class PoolBackupNote:
    """What a backup says of itself.

    Attributes:
        at_unix_s: Wall time of the moment it is of.
        paused_s: Wall seconds for which the server stood still.
        sums: SHA-256 of each file.
    """

    format: int
    at_unix_s: float
    paused_s: float
    sums: dict[str, str]


class _Summed(io.RawIOBase):
    """A file whose bytes are counted and summed as they are read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.sum = file, hashlib.sha256()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.sum.update(data)
        return data


def back_up(folder: Path, place: Place, file: Path) -> PoolBackupNote:
    """Copy a pool's folder into a file, which is there whole or not at all.

    Args:
        folder: Of `eddy pool up`.

    Raises:
        NotFound: There is no pool.
        Conflict: The file is there already; or the pool has several servers, which do not stand at one point.
    """
    if not place.store.exists():
        raise NotFound(f"There is no pool in {folder}.", field="data", asked=str(folder))
    if place.cluster_port:
        message = "This pool has several servers, and no copy of one is a point of all: stop its heads, then copy one."
        raise Conflict(message, field="data", asked=str(folder))
    if file.exists():
        raise Conflict(f"{file} is there already.", field="file", asked=str(file))
    part = file.with_name(f"{file.name}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
            note = _written(folder, place, out)
            out.flush()
            os.fsync(out.fileno())
        part.rename(file)
    finally:
        part.unlink(missing_ok=True)
    return note


def _written(folder: Path, place: Place, out: IO[bytes]) -> PoolBackupNote:
    sums: dict[str, str] = {}
    with tarfile.open(fileobj=out, mode="w") as tar:
        _add_all(tar, folder, (folder / BYTES).rglob("*"), sums)  # no file of these is ever written again
        with _stopped(place) as began_s:
            at_unix_s = time.time()
            _add_all(tar, folder, folder.rglob("*"), sums)
            paused_s = time.monotonic() - began_s
        note = PoolBackupNote(FORMAT, at_unix_s, paused_s, sums)
        text = json.dumps(asdict(note)).encode()
        entry = tarfile.TarInfo(NOTE)
        entry.size, entry.mode = len(text), 0o600
        tar.addfile(entry, io.BytesIO(text))
    return note


def _add_all(tar: tarfile.TarFile, folder: Path, paths: Iterable[Path], sums: dict[str, str]) -> None:
    """Add files to a backup that are not in it yet."""
    for path in sorted(paths):
        name, is_kept = path.relative_to(folder).as_posix(), path.name not in LEFT_OUT
        is_kept = is_kept and name not in sums and path.parent.name not in PASSING and not path.is_symlink()
        if is_kept and path.is_file():
            with contextlib.suppress(FileNotFoundError):  # bytes that heads were about to take away
                sums[name] = _add(tar, path, name)


def _add(tar: tarfile.TarFile, path: Path, name: str) -> str:
    with path.open("rb") as source:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = os.fstat(source.fileno()).st_size, 0o600
        summed = _Summed(source)
        tar.addfile(entry, summed)
    return summed.sum.hexdigest()


@contextlib.contextmanager
def _stopped(place: Place) -> Iterator[float]:
    """A server stands still while the block runs, if one runs; gives when that began, by a clock that never jumps.

    Raises:
        Conflict: It does not stop.
    """
    number = place.process()
    if number is None:
        yield time.monotonic()
        return
    command = [sys.executable, "-I", "-S", str(RESUMER), str(number)]
    resumer = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    try:
        began_s = time.monotonic()
        os.kill(number, signal.SIGSTOP)
        while not _is_stopped(number):
            if time.monotonic() - began_s > STOPS_S:
                raise Conflict(f"The server, process {number}, does not stand still.", pid=number)
            time.sleep(LOOK_S)
        yield began_s
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGCONT)
        resumer.communicate()


def _is_stopped(number: int) -> bool:
    """Whether every thread of a process stands still."""
    with contextlib.suppress(OSError):
        tasks = Path(f"/proc/{number}/task").iterdir()
        return all((task / "stat").read_text().rsplit(")", 1)[1].split()[0] == "T" for task in tasks)
    return False


def unpack(file: Path, folder: Path) -> PoolBackupNote:
    """Make a pool's folder of a backup, whole or not at all.

    Args:
        file: What `back_up` made.
        folder: Where nothing is.

    Raises:
        Conflict: Something is there.
        StorageDamaged: The file is no backup, not whole, or damaged.
    """
    if folder.exists() and any(folder.iterdir()):
        message = f"{folder} is not empty: name a new one, and move it once nothing uses the old one."
        raise Conflict(message, field="data", asked=str(folder))
    part = folder.with_name(f"{folder.name}.restoring")
    part.mkdir(mode=PRIVATE_FOLDER, parents=True)
    try:
        note = _unpacked(file, part)
        if folder.exists():
            folder.rmdir()
        part.rename(folder)
    except BaseException:
        for path in sorted(part.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        part.rmdir()
        raise
    return note


def _unpacked(file: Path, folder: Path) -> PoolBackupNote:
    sums: dict[str, str] = {}
    raw: dict[str, Any] | None = None
    if not file.is_file():
        raise InvalidRequest(f"There is no backup {file}.", field="file", asked=str(file))
    try:
        with tarfile.open(file, mode="r:") as tar:
            for entry in tar:
                source = tar.extractfile(entry)
                if source is None or ".." in Path(entry.name).parts or Path(entry.name).is_absolute():
                    raise StorageDamaged(f"{file} has an entry that no backup has: {entry.name}.", file=str(file))
                if entry.name == NOTE:
                    raw = json.loads(source.read())
                else:
                    sums[entry.name] = _extracted(source, folder / entry.name)
    except (tarfile.TarError, ValueError, EOFError) as wrong:
        raise StorageDamaged(f"{file} is no backup of a pool, or not whole: {wrong}.", file=str(file)) from wrong
    if raw is None:
        raise StorageDamaged(f"{file} is not whole: its sums are missing.", file=str(file))
    if raw.get("format") != FORMAT:
        message = f"{file} is of another release: its format is {raw.get('format')}, and this reads {FORMAT}."
        raise InvalidRequest(message, field="file", asked=str(file))
    note = PoolBackupNote(**raw)
    if wrong_files := sorted(name for name in {**sums, **note.sums} if sums.get(name) != note.sums.get(name)):
        raise StorageDamaged(f"{file} is damaged: {', '.join(wrong_files[:3])}.", file=str(file))
    return note


def _extracted(source: IO[bytes], path: Path) -> str:
    path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        while piece := source.read(PIECE_BYTES):
            digest.update(piece)
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()
