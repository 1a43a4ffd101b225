# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Files that are there whole or not at all: written under a draft's name, synchronised, renamed, their folder too.

A row that names a file is written after the file is on disk under its name. So whatever moment the power goes, no row
names a file that is not there; what no row names is swept at the next start.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import secrets
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from eddy.core.errors import EddyError, StorageFailed
from eddy.core.units import format_bytes
from eddy.host.files import PRIVATE_FOLDER, explain_os_error, sync_folder, translate_os_errors
from eddy.store.disk.names import DRAFT

_log = logging.getLogger(__name__)
PIECE_BYTES = 1 << 18
"""What is held in memory of a file at a time."""


class DamagedFile(EddyError):
    """A stored file is not what was stored. The message is for its tenant, so it does not say where the file lies.

    Args:
        message: Which file of theirs, how it shows, and what helps.
    """

    code = "file-damaged"

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path


def make_folder(path: Path, within: Path | None = None) -> Path:
    """Make a folder that nobody else can read, where it is missing; it is on disk when this returns.

    Args:
        within: One of those it is in, which is never made: where that was moved away, it is not to come again, empty.

    Raises:
        StorageFailed: It cannot be made.
    """
    if not path.is_dir():
        if path == within:
            raise explain_os_error(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)))
        make_folder(path.parent, within)
        with translate_os_errors(path):
            with suppress(FileExistsError):
                path.mkdir(mode=PRIVATE_FOLDER)
            try:
                sync_folder(path.parent)
            except OSError:
                with suppress(OSError):
                    path.rmdir()  # else nobody would try again
                raise
    return path


class DraftFile:
    """A file on its way in; it is gone unless it is kept.

    Args:
        folder: Where; on the file system it is to be kept on.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{secrets.token_hex(16)}{DRAFT}"
        self.size_bytes = 0
        self._digest = hashlib.sha256()
        self._lock = threading.Lock()
        """A request that is given up may drop what a thread still writes; a closed file's number may be another's."""
        with translate_os_errors(self.path):
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)

    @property
    def sha256(self) -> str:
        """Of what was written so far, in hex."""
        return self._digest.hexdigest()

    def write(self, data: bytes) -> None:
        """Append bytes."""
        with self._lock, translate_os_errors(self.path):
            self._digest.update(data)
            write_all(self._file, data, self.size_bytes)
            self.size_bytes += len(data)

    def settle(self) -> None:
        """Have everything written so far on disk."""
        with self._lock, translate_os_errors(self.path):
            os.fsync(self._file)

    def keep(self, path: Path) -> None:
        """Give the file its name, in place of any other of that name. It is to be settled before, and its folder
        synchronised after."""
        self._close()
        with translate_os_errors(path):
            self.path.replace(path)

    def drop(self) -> None:
        """Be gone; nothing where it was kept."""
        self._close()
        with suppress(FileNotFoundError):
            self.path.unlink()

    def _close(self) -> None:
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1


class UnnamedDraft(DraftFile):
    """A draft that is not to be kept as a file: it has no name, so nothing of it stays where its process is killed.
    `path` is good for reading it, in this process, until it is dropped.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.path.unlink()
        self.path = Path(f"/proc/self/fd/{self._file}")

    def drop(self) -> None:
        """Be gone."""
        self._close()


def remove_unnamed(path: Path) -> None:
    """Remove a file that nothing names any more; where that cannot be, it stays, and the log says so."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:  # a folder, say: not ours to remove; or a disk that is read-only by now
        _log.warning("%s, which nothing names any more, cannot be removed (%s)", path, error.strerror)


def write_all(file: int, data: bytes, place: int) -> None:
    """Write bytes at a place of an open file, however many calls that takes."""
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, place)
        view, place = view[written:], place + written


class PendingFile(Protocol):
    """A file that is being written; whole under its name once it was settled and kept."""

    @property
    def fresh(self) -> bool:
        """Whether its name is new in its folder, which is to be synchronised after it was kept."""

    def write(self, data: bytes) -> None:
        """Append bytes."""

    def settle(self) -> None:
        """Have everything written so far on disk."""

    def keep(self) -> None:
        """Give it its name, where it has none yet."""

    def drop(self) -> None:
        """Give back what it holds; a new file that was not kept is gone."""


class NewFile:
    """A file that comes into being."""

    fresh = True

    def __init__(self, draft: DraftFile, path: Path) -> None:
        self._path = path
        self.write, self.settle, self.drop = draft.write, draft.settle, draft.drop
        self._draft = draft

    def keep(self) -> None:
        """Give it its name."""
        self._draft.keep(self._path)


class AppendedFile:
    """A file that is continued; what stood at the place or beyond counts for nothing."""

    fresh = False

    def __init__(self, path: Path, place: int) -> None:
        self._path, self._place = path, place
        with translate_os_errors(path):
            # Never created: what was written before would be missing from it.
            self._file = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)

    def write(self, data: bytes) -> None:
        """Append bytes."""
        with translate_os_errors(self._path):
            write_all(self._file, data, self._place)
            self._place += len(data)

    def settle(self) -> None:
        """Have everything written so far on disk, and nothing behind it."""
        with translate_os_errors(self._path):
            os.ftruncate(self._file, self._place)
            os.fsync(self._file)

    def keep(self) -> None:
        """It has its name."""

    def drop(self) -> None:
        """Close it."""
        os.close(self._file)


def pieces(path: Path, place: int, size: int, what: str) -> Iterator[bytes]:
    """Bytes of a file, a piece at a time; see `spans`.

    Args:
        place: The first byte.
        what: How a person calls it.
    """
    return spans(path, [(place, size)], what)


def spans(path: Path, wanted: Sequence[tuple[int, int]], what: str) -> Iterator[bytes]:
    """Bytes of some parts of a file, a piece at a time. A file that is removed meanwhile is read to its end.

    Args:
        wanted: The first byte of each part, and how many it has.
        what: How a person calls it.

    Raises:
        DamagedFile: They are not there.
    """
    if not wanted:  # then there need not be a file
        return
    try:
        with os.fdopen(_plain(path), "rb", buffering=0) as file:
            for place, size in wanted:
                file.seek(place)
                while size:
                    data = file.read(min(size, PIECE_BYTES))
                    if not data:
                        raise damaged_file_error(path, what, f"it ends {format_bytes(size)} early")
                    size -= len(data)
                    yield data
    except FileNotFoundError:
        raise damaged_file_error(path, what, "it is missing") from None
    except OSError as error:
        raise damaged_file_error(path, what, f"it cannot be read ({error.strerror})") from error


def _plain(path: Path) -> int:
    """A file opened to be read; a named pipe, which would keep us waiting, or a link, is not one.

    Raises:
        OSError: It cannot be opened, or is of another kind.
    """
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    raise OSError(errno.EINVAL, "it is no plain file", str(path))


_OF_ONE_FILE = (
    errno.EISDIR,
    errno.ENOTEMPTY,
    errno.ENOENT,
    errno.ELOOP,
    errno.ENXIO,
    errno.ESPIPE,
    errno.EINVAL,
    errno.EACCES,
    errno.EPERM,
)
"""What the system says of a name under which something else stands by now, or a file that is not ours any more."""


@contextmanager
def isolate_file_errors(path: Path, what: str) -> Iterator[None]:
    """Tell trouble with one file, under whose name a folder stands say, from trouble with the disk it is on.

    Args:
        what: How a person calls it.

    Raises:
        DamagedFile: What was refused within the block concerns this file alone.
        StorageFailed: It concerns all.
    """
    try:
        yield
    except StorageFailed as failure:
        error = failure.__cause__
        if not isinstance(error, OSError) or error.errno not in _OF_ONE_FILE or not _is_of_file(error, path):
            raise
        raise DamagedFile(
            f"the file of {what} cannot be written ({error.strerror}): tell the operator, and submit it again",
            path,
        ) from error


def _is_of_file(error: OSError, path: Path) -> bool:
    """Whether a file itself was refused, by its name or as it is open, and others could be written beside it."""
    named = {name for name in (error.filename, error.filename2) if name is not None}
    return (not named or str(path) in map(str, named)) and os.access(path.parent, os.W_OK | os.X_OK)


def check(good: bool, path: Path, what: str, how: str) -> None:
    """Raise where a file is not as it should be.

    Raises:
        DamagedFile: It is not `good`; says how.
    """
    if not good:
        raise damaged_file_error(path, what, how)


def damaged_file_error(path: Path, what: str, how: str) -> DamagedFile:
    """The error that names a file and what is wrong with it."""
    return DamagedFile(f"the file of {what} is damaged: {how}", path)
