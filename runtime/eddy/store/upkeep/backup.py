# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A backup of a data folder, taken while a server works in it.

::

    backup.json     what it is: format, schema, version, when, how many files; written last, so that its presence says
                    that the backup is whole
    SHA256SUMS      every other file with its hash, as `sha256sum --check` reads it
    unfinished      only while the backup is being taken, or where it was cut short
    eddy.sqlite3, secret, operator.key, audit.head, applications/, blobs/, outputs/   as in the data folder

The data base is copied by SQLite's online backup, which sees one instant of it. The files its rows name are copied
afterwards: blobs never change under their hash, and outputs only grow beyond what the rows of that instant say. A file
that went meanwhile (a tenant deleted a blob) makes the copy of the data base one too old, so another is taken; a file
that is still missing then, or is not what its row says, is damaged. The backup goes on without it and names it. Then
every row of the copy is read, and the chain of the audit log is followed; what is not what was written is named too.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from eddy.core.errors import InvalidRequest, StorageFailed, StorageFull
from eddy.core.units import format_size
from eddy.host import distribution
from eddy.host.files import (
    free_bytes,
    sync_folder,
    translate_os_errors,
    write_private,
)
from eddy.store.account_tables.audit import HEAD, read_head
from eddy.store.disk.files import DamagedFile, DraftFile, make_folder
from eddy.store.disk.kinds import check_kinds
from eddy.store.job_tables.outputs import Part
from eddy.store.upkeep.examined import (
    APPLICATIONS,
    damaged_applications,
    damaged_audit,
    damaged_records,
    listed,
    open_for_reading,
    pieces,
)
from eddy.store.upkeep.folder import open_existing
from eddy.store.upkeep.snapshot import NamedFile, snapshot

FORMAT = 1
NOTE, SUMS, UNFINISHED = "backup.json", "SHA256SUMS", "unfinished"
TRIES = 5
"""Copies of the data base that are taken at most, where files go while they are copied."""


@dataclass(frozen=True, slots=True)
class BackupNote:
    """What a backup says of itself.

    Attributes:
        schema: Of its data base.
        taken_unix_s: When.
        files: How many files, this note and the list of hashes left out.
        size_bytes: Of all of them.
        jobs: How many jobs, ended ones too.
        damaged: What was damaged in the data folder already: files, which are not in the backup, and records and
            entries of the audit log, which are in it as they were found.
        sums_sha256: Hash of the list of hashes.
    """

    format: int
    schema: int
    eddy: str
    taken_unix_s: float
    files: int
    size_bytes: int
    jobs: int
    damaged: tuple[str, ...]
    sums_sha256: str


@dataclass(slots=True)
class _Copy:
    """What was copied so far: hash and named parts, by path; and what could not be."""

    sums: dict[str, str] = field(default_factory=dict)
    parts: dict[str, tuple[Part, ...]] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)


def write_backup(data: Path, into: Path) -> BackupNote:
    """Take a backup of a data folder, be a server at work in it or not.

    Args:
        into: Where to: a folder that is missing, empty, or holds a backup that was cut short.

    Raises:
        InvalidRequest: There is something else, or it lies within the data folder.
        StorageFailed: The data folder is damaged, or the backup cannot be written.
    """
    check_kinds(data)
    database, secret = open_existing(data)
    _begin(data, into)
    copy, before = _Copy(), None
    for _ in range(TRIES):
        _copy_if_there(data, into, HEAD, copy)  # before the entries: a head may be behind them, never beyond
        schema, jobs, named = snapshot(database, into)
        _check_room(into, sum(_copyable_bytes(data, each) for each in named if each.path not in copy.sums))
        copy.damaged = {}
        for each in named:
            _copy_named(data, into, each, copy)
        if (before is not None and set(copy.damaged) <= before) or not copy.damaged:
            break
        before = set(copy.damaged)
    else:
        raise StorageFailed(f"files of {data} went faster than they were copied: take the backup again")
    _drop_stale(into, {each.path for each in named}, copy)
    _copy_others(data, into, secret.name, copy)
    copy.sums[database.name] = _hash(into / database.name)
    with open_for_reading(into / database.name) as rows:
        records = listed(damaged_records(rows))
        audit = damaged_audit(rows, (into / secret.name).read_bytes(), read_head(into))
    return _finish(into, schema, jobs, copy, (*records, *audit, *damaged_applications(into)))


def _begin(data: Path, into: Path) -> None:
    if into.resolve().is_relative_to(data.resolve()):
        raise InvalidRequest(f"{into} is within the data folder {data}: a backup belongs elsewhere", field="into")
    if into.exists() and not into.is_dir():
        raise InvalidRequest(f"{into} is a file: name a folder for the backup", field="into")
    present = contents(into)
    if present and UNFINISHED not in present:
        what = "has a backup already" if NOTE in present else "is not empty"
        raise InvalidRequest(f"{into} {what}: name another folder, one for each backup", field="into")
    make_folder(into.absolute())
    write_private(into / UNFINISHED, b"")
    with translate_os_errors(into):
        for name in present:
            if name != UNFINISHED:
                _remove(into / name)


def contents(folder: Path) -> list[str]:
    """What is in a folder, but for what a file system of its own brings along."""
    with translate_os_errors(folder):
        return sorted(set(os.listdir(folder)) - {"lost+found"}) if folder.exists() else []


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _check_room(into: Path, needed: int) -> None:
    free = free_bytes(into)
    if needed > free:
        message = (
            f"the backup needs {format_size(needed)} more in {into}, and {format_size(free)} are free there:"
            " name another folder"
        )
        raise StorageFull(message, path=str(into), needed_bytes=needed, free_bytes=free)


def _copyable_bytes(data: Path, named: NamedFile) -> int:
    """Bytes of a file that can be copied: what rows say of its size may be damaged."""
    try:
        return min(named.size_bytes, (data / named.path).lstat().st_size)
    except OSError:  # the copy says so
        return 0


def _copy_named(data: Path, into: Path, named: NamedFile, copy: _Copy) -> None:
    """Copy a file as far as rows go, unless that was done already; where it is damaged, note how."""
    if copy.parts.get(named.path) == named.parts:
        return
    target = into / named.path
    draft = DraftFile(make_folder(target.parent))
    try:
        for piece in pieces(data, named):
            draft.write(piece)
        draft.settle()
        draft.keep(target)
        copy.sums[named.path], copy.parts[named.path] = draft.sha256, named.parts
    except DamagedFile as error:
        copy.damaged[named.path] = f"{error.message} ({error.path})"
        copy.sums.pop(named.path, None)
    finally:
        draft.drop()


def _drop_stale(into: Path, wanted: set[str], copy: _Copy) -> None:
    """Remove what an earlier copy of the data base named, and the last does not."""
    for path in [path for path in copy.parts if path not in wanted or path in copy.damaged]:
        with translate_os_errors(into / path):
            (into / path).unlink(missing_ok=True)
        copy.sums.pop(path, None)


def _copy_others(data: Path, into: Path, secret: str, copy: _Copy) -> None:
    for name in (secret, "operator.key"):
        _copy_if_there(data, into, name, copy)
    if (data / APPLICATIONS).is_dir():
        for path in sorted((data / APPLICATIONS).iterdir()):
            if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
                _copy_if_there(data, into, f"{APPLICATIONS}/{path.name}", copy)


def _copy_if_there(data: Path, into: Path, name: str, copy: _Copy) -> None:
    source, target = data / name, into / name
    with translate_os_errors(source):
        if not source.exists():
            return
        text = source.read_bytes()
    draft = DraftFile(make_folder(target.parent))
    try:
        draft.write(text)
        draft.settle()
        draft.keep(target)
    finally:
        draft.drop()
    copy.sums[name] = draft.sha256


def _hash(path: Path) -> str:
    with translate_os_errors(path), path.open("rb") as file:
        digest = hashlib.sha256()
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _finish(into: Path, schema: int, jobs: int, copy: _Copy, damaged: tuple[str, ...]) -> BackupNote:
    lines = "".join(f"{sha256}  {path}\n" for path, sha256 in sorted(copy.sums.items()))
    write_private(into / SUMS, lines.encode())
    with translate_os_errors(into):
        size = sum((into / path).stat().st_size for path in copy.sums)
        sync_folders(into, copy.sums)  # names, before the note that says they are there
    note = BackupNote(
        FORMAT,
        schema,
        distribution.version(),
        time.time(),
        len(copy.sums),
        size,
        jobs,
        (*(copy.damaged[path] for path in sorted(copy.damaged)), *damaged),
        _hash(into / SUMS),
    )
    write_private(into / NOTE, (dump(note) + "\n").encode())
    with translate_os_errors(into):
        (into / UNFINISHED).unlink()
        sync_folder(into)
    return note


def sync_folders(folder: Path, names: Iterable[str]) -> None:
    """Have the names of files below a folder on disk."""
    for each in sorted({(folder / name).parent for name in names}):
        sync_folder(each)


def dump(note: BackupNote) -> str:
    """A note as JSON."""
    return json.dumps({name: getattr(note, name) for name in FIELDS}, indent=2)


FIELDS: Sequence[str] = tuple(BackupNote.__dataclass_fields__)
"""What a note has."""
