# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Files that must not be lost, read by others, or held by two: written whole, private, under a lock.

What the operating system refuses becomes an error that says which file, why, and what helps.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eddy.core.errors import StorageDamaged, StorageFailed, StorageFull, StorageInUse, StorageReadOnly
from eddy.core.units import format_size

PRIVATE, PRIVATE_FOLDER = 0o600, 0o700
MIN_FREE_BYTES = 1 << 20
"""With less room than this a write is tried before it is said that all is well."""
TRIES, PAUSE_S = 6, 0.05
"""How often a lock is tried for: whoever has it may be about to end, or may only look at it (`read_lock_holder`)."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_OTHER_KIND = (errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ESPIPE)
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)


def free_bytes(path: Path) -> int:
    """Room an ordinary user has where a file or folder lies, or would lie."""
    there = next((each for each in (path, *path.parents) if each.exists()), Path("/"))
    status = os.statvfs(there)
    return status.f_bavail * status.f_frsize


def explain_os_error(error: OSError, path: Path | None = None) -> StorageFailed:
    """What an error of the operating system means for somebody who has to keep a file.

    Args:
        error: What was raised; it names a file, mostly.
        path: The file meant where it names none.
    """
    where = Path(os.fsdecode(error.filename)) if isinstance(error.filename, (str, bytes)) else path
    if where is None:
        return StorageFailed(f"the system refused: {error.strerror or error}")
    if error.errno in _FULL:
        return disk_full_error(where)
    if error.errno in _READ_ONLY:
        return StorageReadOnly(
            f"{where} cannot be written ({error.strerror}): give user {os.geteuid()} the right, mount its file system"
            " for writing, or name another folder",
            path=str(where),
        )
    if error.errno in _OTHER_KIND:
        if isinstance(error.filename2, (str, bytes)):  # what a new file was to be called
            where = Path(os.fsdecode(error.filename2))
        return StorageFailed(
            f"{where} is not of the kind it should be ({error.strerror}): move it away, or restore it from a backup",
            path=str(where),
        )
    if error.errno == errno.ENOENT:
        return StorageFailed(
            f"There is no {where}, or no folder to make it in ({error.strerror}): name another one, or restore it",
            path=str(where),
        )
    return StorageFailed(f"{where}: {error.strerror or error}; check the disk it is on", path=str(where))


def disk_full_error(where: Path) -> StorageFull:
    """Say that a disk is full."""
    free = free_bytes(where)
    return StorageFull(
        f"the disk of {where} is full ({format_size(free)} free): free space there; waiting jobs then continue",
        path=str(where),
        free_bytes=free,
    )


@contextlib.contextmanager
def translate_os_errors(path: Path) -> Iterator[None]:
    """Turn what the operating system refuses within the block into `StorageFailed` or one of its kinds."""
    try:
        yield
    except OSError as error:
        raise explain_os_error(error, path) from error


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, whole or not at all; it survives a power cut once this returns.

    Raises:
        StorageFailed: It cannot be written.
    """
    with translate_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make what was created, renamed or removed in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_exposed(path: Path) -> bool:
    """Whether others than its owner may read or write a file."""
    with contextlib.suppress(OSError):
        return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
    return False


def make_private(path: Path) -> bool:
    """Take others' rights on a file away; answers whether that was needed.

    Raises:
        StorageReadOnly: It is needed, and the file is somebody else's.
    """
    if not is_exposed(path):
        return False
    with translate_os_errors(path):
        path.chmod(PRIVATE)
    return True


class FolderLock:
    """A lock on a folder that lasts as long as the process, or until it is released; a file in it says who has it.

    The locks are the kernel's (`flock`), so that one left by a process that died holds nobody up. The folder itself is
    locked, and its file: the file may be removed or replaced under a running server, the folder that its data lies in
    may not; and a server of an older version locks the file alone.

    Args:
        path: The file; its folder exists.
        what: What is locked, for the message.
        folder: The folder that is locked; the file's own where not given.

    Raises:
        StorageInUse: Another process has it; the message names it.
        StorageFailed: The file cannot be made.
    """

    def __init__(self, path: Path, what: str, folder: Path | None = None) -> None:
        self._path = path
        with contextlib.ExitStack() as undo:
            with translate_os_errors(path):
                self._folder = os.open(folder or path.parent, os.O_RDONLY | os.O_DIRECTORY)
                undo.callback(os.close, self._folder)
                self._file = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE)
                undo.callback(os.close, self._file)
            try:
                taken = any(self._take() for _ in range(TRIES))
            except OSError as error:
                why = f"{path}: no locks there ({error.strerror}); use a folder on a local disk"
                raise StorageFailed(why) from error
            self.left = self._read()
            """What the last holder left: empty where it released the lock in order."""
            if not taken:
                raise _in_use(what, self.left)
            undo.pop_all()

    def _take(self) -> bool:
        try:
            for each in (self._folder, self._file):
                fcntl.flock(each, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(self._folder, fcntl.LOCK_UN)
            time.sleep(PAUSE_S)
            return False
        return True

    def note(self, **facts: Any) -> None:
        """Write down who has the lock, and what else whoever meets it should know."""
        text = json.dumps({"pid": os.getpid(), **facts}).encode()
        with translate_os_errors(self._path):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, text, 0)

    def release(self, *, in_order: bool = True) -> None:
        """Give it back, and leave nothing written; but what the last holder left, where nothing came of having it."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, 0)
            if self.left and not in_order:
                os.pwrite(self._file, json.dumps(self.left).encode(), 0)
        os.close(self._file)
        os.close(self._folder)

    def _read(self) -> dict[str, Any]:
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(os.pread(self._file, 4096, 0))
            return found if isinstance(found, dict) else {}
        return {}


def read_lock_holder(path: Path) -> dict[str, Any] | None:
    """What is written in the file of a lock that somebody has; None where nobody has it.

    Args:
        path: The file, in the folder that is locked.
    """
    if _taken(path.parent) or _taken(path):
        with contextlib.suppress(OSError, ValueError, TypeError), open(path, "rb", opener=_at_once) as file:
            return dict(json.loads(file.read(4096)))
        return {}
    return None


def _taken(path: Path) -> bool:
    """Whether somebody has locked a file or folder."""
    try:
        file = _at_once(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def _at_once(path: str | Path, flags: int) -> int:
    """Open what may be a named pipe by now, which would keep us waiting."""
    return os.open(path, flags | os.O_NONBLOCK)


def _in_use(what: str, holder: dict[str, Any]) -> StorageInUse:
    pid, url = holder.get("pid"), holder.get("url")
    who = f"process {pid}" if pid else "another process"
    serving = f", serving {url}," if url else ""
    known = {name: value for name, value in (("pid", pid), ("url", url)) if value}
    return StorageInUse(f"{who}{serving} has {what}: stop it first, or name another", **known)


def damaged_file_error(path: Path, how: str, fix: str) -> StorageDamaged:
    """Say that a file is damaged, how it shows, and what helps."""
    return StorageDamaged(f"{path} {how}: {fix}", path=str(path))
