# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Folders in memory that last no longer than the process that made them, however it ends.

A killed process removes nothing, and what it leaves in `/dev/shm` is memory until the machine restarts. So each folder
is locked by its process, and whoever makes the first of a kind removes those that nobody has locked.
"""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

_MEMORY = Path("/dev/shm")
"""A file system in memory, on Linux."""


class MemoryFolder:
    """A new, empty folder, in memory where there is a file system for that.

    Args:
        kind: What its name begins with; folders of one kind that processes left are removed.

    Raises:
        OSError: There is no room, or no right to make it.
    """

    def __init__(self, kind: str) -> None:
        root = _root()
        _sweep(root, kind)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=root))
            try:
                lock = _lock(self.path)
            except OSError:
                shutil.rmtree(self.path, ignore_errors=True)
                raise
            if lock is not None:
                break  # else another process's sweep took it for one that was left
        self._remove = weakref.finalize(self, _remove, self.path, lock)

    def close(self) -> None:
        """Remove it with all that is in it."""
        self._remove()


def _root() -> Path:
    return _MEMORY if os.access(_MEMORY, os.W_OK) else Path(tempfile.gettempdir())


def _lock(folder: Path) -> int | None:
    """Lock a folder; None where another process has it locked, or it is gone.

    Raises:
        OSError: There are no locks, or no descriptors.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), folder.stat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        os.close(lock)


@functools.cache
def _sweep(root: Path, kind: str) -> None:
    """Remove folders of a kind whose processes are gone."""
    for left in root.glob(f"{kind}-*"):
        with suppress(OSError):  # a link, another user's, or what cannot be locked
            lock = _lock(left) if left.lstat().st_uid == os.geteuid() else None
            if lock is not None:
                _remove(left, lock)
