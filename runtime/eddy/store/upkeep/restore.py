# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A data folder from a backup: every file is compared with its hash, and nothing is restored over anything.

`restoring` stands in the folder until all of it is there, and keeps a server from starting on what is half there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from eddy.core.errors import Conflict, InvalidRequest, StorageFull
from eddy.core.units import format_size
from eddy.host.files import (
    FolderLock,
    damaged_file_error,
    free_bytes,
    make_private,
    sync_folder,
    translate_os_errors,
    write_private,
)
from eddy.store.db.schema import MIGRATIONS, SchemaTooNew
from eddy.store.disk.files import PIECE_BYTES, DraftFile, make_folder
from eddy.store.disk.names import BLOBS, OUTPUTS
from eddy.store.upkeep.backup import FIELDS, FORMAT, NOTE, SUMS, UNFINISHED, BackupNote, contents, sync_folders
from eddy.store.upkeep.examined import APPLICATIONS
from eddy.store.upkeep.folder import RESTORING

_PLAIN = ("eddy.sqlite3", "secret", "operator.key", "audit.head")
_FOLDERS = {APPLICATIONS: 2, BLOBS: 3, OUTPUTS: 2}
"""What a backup may hold: files by name, and folders with how many parts a path in them has."""
_NEEDED = frozenset(_PLAIN[:2])
"""What every backup has."""
_ANOTHER = "restore from another backup"
LATEST_UNIX_S = 2.0**38
"""What a backup is taken before; what comes later can be told as no day."""


def read_note(backup: Path) -> BackupNote:
    """What a backup says of itself.

    Raises:
        InvalidRequest: It is no backup, or one that was cut short.
        StorageDamaged: The note is not what was written.
        SchemaTooNew: A newer Eddy took it.
    """
    path = backup / NOTE
    if not path.is_file():
        cut = (backup / UNFINISHED).exists()
        why = "is a backup that was cut short" if cut else f"is no backup: it has no {NOTE}"
        raise InvalidRequest(f"{backup} {why}; name the folder `eddy backup` finished", field="backup")
    with translate_os_errors(path):
        text = path.read_bytes()
    try:
        found = json.loads(text)
        note = BackupNote(**{**{name: found[name] for name in FIELDS}, "damaged": tuple(found["damaged"])})
        whole = _is_complete(note)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise damaged_file_error(path, "is not what was written", _ANOTHER) from None
    if not whole:
        raise damaged_file_error(path, "is not what was written", _ANOTHER)
    if note.format > FORMAT or note.schema > len(MIGRATIONS):
        raise SchemaTooNew(
            f"{backup} was taken by Eddy {note.eddy} (schema {note.schema}, backup format {note.format}); this Eddy"
            f" knows schema {len(MIGRATIONS)} and format {FORMAT}: upgrade Eddy, then restore",
            found=note.schema,
            known=len(MIGRATIONS),
        )
    return note


def _is_complete(note: BackupNote) -> bool:
    """Whether a note has what a note has: it alone is compared with no hash."""
    counts = note.format, note.schema, note.files, note.size_bytes, note.jobs
    texts = note.eddy, note.sums_sha256, *note.damaged
    taken = note.taken_unix_s
    return (
        all(type(count) is int and count >= 0 for count in counts)
        and all(type(text) is str for text in texts)
        and type(taken) in (int, float)
        and 0 <= taken <= LATEST_UNIX_S
    )


def restore(backup: Path, data: Path) -> BackupNote:
    """Fill an empty data folder from a backup.

    Args:
        backup: A folder that `eddy.store.upkeep.backup.write_backup` filled.
        data: The data folder: missing, empty, or left by a restore that was cut short.

    Raises:
        InvalidRequest: The one is no backup; or the other is not empty (`Conflict`).
        StorageDamaged: A file of the backup is not what was written; nothing that could be started is left.
        SchemaTooNew: A newer Eddy took it.
        StorageFailed: There is no room, or the folder cannot be written.
    """
    note = read_note(backup)
    sums = _read_sums(backup, note)
    _begin(data, note)
    lock = FolderLock(data / "lock", f"the data folder {data}")
    try:
        for sha256, name in sums:
            _copy(backup, data, name, sha256)
        with translate_os_errors(data):
            sync_folders(data, (name for _, name in sums))
            (data / RESTORING).unlink()
            sync_folder(data)
    finally:
        lock.release()
    return note


def _read_sums(backup: Path, note: BackupNote) -> list[tuple[str, str]]:
    """Hashes and paths, in order."""
    path = backup / SUMS
    with translate_os_errors(path):
        text = path.read_bytes()
    if hashlib.sha256(text).hexdigest() != note.sums_sha256:
        raise damaged_file_error(path, "is not what was written", _ANOTHER)
    found = [_line(line) for line in text.decode(errors="replace").splitlines()]
    if not all(_belongs(name) for _, name in found):
        raise damaged_file_error(path, "names a file that no backup holds", _ANOTHER)
    if not {name for _, name in found} >= _NEEDED:
        raise damaged_file_error(path, f"does not name {' and '.join(sorted(_NEEDED))}", _ANOTHER)
    return found


def _line(line: str) -> tuple[str, str]:
    sha256, _, name = line.partition("  ")
    return sha256, name


def _belongs(name: str) -> bool:
    """Whether a data folder has such a file: nothing else is written, and nothing outside."""
    parts = PurePosixPath(name).parts
    if len(parts) < 2:
        return name in _PLAIN
    return ".." not in parts and _FOLDERS.get(parts[0]) == len(parts)


def _begin(data: Path, note: BackupNote) -> None:
    if data.exists() and not data.is_dir():
        raise InvalidRequest(f"{data} is a file: name a folder to restore into", field="data")
    present = contents(data)
    if present and RESTORING not in present:
        message = f"{data} is not empty, and nothing is restored over it: move it away, or name another --data"
        raise Conflict(message, field="data", found=present[:5])
    free = free_bytes(data)
    if note.size_bytes > free:
        message = (
            f"the backup has {format_size(note.size_bytes)}, and {format_size(free)} are free for"
            f" {data}: free space there"
        )
        raise StorageFull(message, path=str(data), needed_bytes=note.size_bytes, free_bytes=free)
    make_folder(data.absolute())
    write_private(data / RESTORING, b"")


def _copy(backup: Path, data: Path, name: str, sha256: str) -> None:
    target = data / name
    draft = DraftFile(make_folder(target.parent))
    try:
        for piece in _pieces(backup / name):
            draft.write(piece)
        if draft.sha256 != sha256:
            raise damaged_file_error(backup / name, "is not what was written", _ANOTHER)
        draft.settle()
        draft.keep(target)
        make_private(target)
    finally:
        draft.drop()


def _pieces(path: Path) -> Iterator[bytes]:
    if not path.is_file():
        raise damaged_file_error(path, "is missing", _ANOTHER)
    with translate_os_errors(path), path.open("rb", buffering=0) as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def describe_note(note: BackupNote) -> dict[str, Any]:
    """A note for people and programs, without the hash that only files are compared with."""
    return {name: getattr(note, name) for name in FIELDS if name != "sums_sha256"}
