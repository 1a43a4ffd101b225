# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The folder a server keeps everything in: held by one server, private, and looked at before it is used.

::

    lock             who has the folder: process id and URL while a server runs, empty otherwise
    eddy.sqlite3     jobs, events, tenants (with its -wal and -shm while a server runs, or after one that was killed)
    eddy.sqlite3-promised  how far the log is on disk (`eddy.store.disk.disk`)
    blobs/, outputs/ bytes that rows of it name (`eddy.store.disk.names`)
    secret           32 random bytes under which keys are hashed
    operator.key     the operator's key
    applications/    packages that were added
    beginning        only until the first start is complete; what a first start that was cut short left is thrown away
    restoring        only until all of a backup is there (`eddy.store.upkeep.restore`); no server starts on it

What an earlier server left is never taken for a first start: a part that is missing or empty is damage, and says so.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from eddy.core.errors import EddyError, InvalidRequest, StorageFailed
from eddy.core.units import format_size
from eddy.host.files import (
    PRIVATE_FOLDER,
    FolderLock,
    damaged_file_error,
    is_exposed,
    make_private,
    read_lock_holder,
    sync_folder,
    translate_os_errors,
    write_private,
)
from eddy.store.db.check import check_file, read_whole
from eddy.store.db.faults import storage_errors
from eddy.store.disk.disk import check_log
from eddy.store.disk.kinds import check_kinds
from eddy.store.upkeep.examined import examine_folder, listed

_DATABASE, _SECRET, _KEY, _LOCK, _BEGINNING = "eddy.sqlite3", "secret", "operator.key", "lock", "beginning"
RESTORING = "restoring"
NAMED = 20
"""Damaged records and files that `eddy doctor` names; `eddy backup` names them all."""
_BACKUP = "restore it from a backup, or start again with an empty --data"
_log = logging.getLogger(__name__)


class DataFolder:
    """A data folder, held by this process until it is closed.

    Args:
        path: The folder; made where missing, for its owner alone.

    Raises:
        InvalidRequest: It is no folder.
        StorageDamaged: A part of it is missing, of another kind, or not what was written.
        StorageInUse: Another server has it.
        StorageFailed: It cannot be used, or what is in it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database, self.secret, self.key = path / _DATABASE, path / _SECRET, path / _KEY
        self.applications = path / "applications"
        self._settled = False
        _make(path)
        check_kinds(path)
        self._lock = FolderLock(path / _LOCK, f"the data folder {path}")
        try:
            _check_restored(path)
            self.first_start = self._begins()
            if not self.first_start:
                examine_parts(path)
                self._look_for_log()
            self._make_private()
            self._lock.note()
        except BaseException:
            self._lock.release(in_order=False)
            raise

    def settle(self, url: str = "") -> None:
        """Say that everything is there and written to: from now on a missing part is damage, and who meets the lock
        is told the URL."""
        with translate_os_errors(self.path):
            (self.path / _BEGINNING).unlink(missing_ok=True)
            sync_folder(self.path)
        self._make_private()
        self._lock.note(url=url, open=True)
        self._settled = True

    def close(self) -> None:
        """Give the folder back; what was in it is closed already."""
        self._lock.release(in_order=self._settled)

    def _begins(self) -> bool:
        """Whether this is a first start: there is nothing, or what a first start left that was cut short."""
        parts = self._parts()
        mark = self.path / _BEGINNING
        if any(part.exists() for part in parts) and not mark.exists():
            return False
        with translate_os_errors(self.path):
            for part in parts:
                part.unlink(missing_ok=True)
        write_private(mark, b"")
        return True

    def _parts(self) -> list[Path]:
        return [self.secret, self.key, *_files(self.database)]

    def _look_for_log(self) -> None:
        """A server that did not end in order leaves its write-ahead log: without it, what it did last is lost."""
        log = self.database.with_name(_DATABASE + "-wal")
        if self._lock.left.get("open") and not log.exists():
            lock = self.path / _LOCK
            fix = f"restore it; or give up the last changes by removing {lock}"
            raise damaged_file_error(log, "is missing, and the last server did not end in order", fix)

    def _make_private(self) -> None:
        for part in (*self._parts(), self.path / _LOCK):
            if make_private(part):
                _log.warning("%s could be read by others; now only by its owner", part)
        if self.path.stat().st_mode & 0o002:
            _log.warning(
                "%s can be written by everyone: `chmod o-w %s`, or others may replace its files", *[self.path] * 2
            )


def _check_restored(path: Path) -> None:
    """Refuse a folder that a restore has not finished.

    Raises:
        StorageDamaged: It is one.
    """
    mark = path / RESTORING
    if mark.exists():
        raise damaged_file_error(mark, "says that a restore was cut short here", "run the same `eddy restore` again")


def open_existing(path: Path) -> tuple[Path, Path]:
    """The data base and the secret of a folder that has been used, for who only reads.

    Raises:
        InvalidRequest: It has never been used.
        StorageFailed: One is missing or damaged.
    """
    examine_parts(path)
    return path / _DATABASE, path / _SECRET


def examine_parts(path: Path) -> None:
    """Look at the parts of a folder that has been used, without opening or changing any.

    Raises:
        InvalidRequest: It has never been used.
        StorageFailed: One is missing or damaged.
    """
    database, secret, key = path / _DATABASE, path / _SECRET, path / _KEY
    others = [part.name for part in (secret, key) if part.exists()]
    if not database.exists():
        left = [part.name for part in _files(database)[1:] if part.exists()]
        if not others + left:
            message = f"{path} is no data folder of `eddy serve`: name the one it was started with (--data)."
            raise InvalidRequest(message, field="data", asked=str(path))
        raise damaged_file_error(database, f"is missing next to {' and '.join(others + left)}", _BACKUP)
    with translate_os_errors(path):
        check_file(database)
        check_log(database)
        if not secret.exists():
            raise damaged_file_error(secret, "is missing, and without it no key can be checked", _BACKUP)
        size = secret.stat().st_size
        secret.read_bytes()
    if size != 32:
        raise damaged_file_error(secret, f"has {size} of 32 bytes", _BACKUP)


def findings(path: Path) -> Iterator[tuple[str, bool, str, str]]:
    """What `eddy doctor` says of a data folder: what was looked at, whether it is well, what was found, what helps."""
    try:
        check_kinds(path)
        _check_restored(path)
    except (EddyError, OSError) as error:
        yield "data files", False, _sentence(error), "`eddy serve` does not start on it"
        return
    held = read_lock_holder(path / _LOCK)
    if held is not None:
        yield "data lock", True, f"held by process {held.get('pid', '?')} {held.get('url', '')}".rstrip(), ""
    parts = [part for part in (path / _SECRET, path / _KEY, *_files(path / _DATABASE)) if part.exists()]
    if not parts:
        return
    try:
        examine_parts(path)
        yield "data files", True, ", ".join(part.name for part in parts), ""
    except (EddyError, OSError) as error:
        yield "data files", False, _sentence(error), "`eddy serve` does not start on it"
        return
    examined = _examined(path / _DATABASE)
    yield examined
    if examined[1]:
        yield _vouched(path / _DATABASE, path / _SECRET)
    open_to_all = [part for part in parts if is_exposed(part)]
    if open_to_all:
        names = " ".join(map(str, open_to_all))
        yield "data modes", False, f"others can read {names}", f"chmod 600 {names}"


def _examined(database: Path) -> tuple[str, bool, str, str]:
    """A data base read whole, beside a server that may run."""
    name, what = "data base", format_size(database.stat().st_size)
    try:
        with storage_errors(database):
            found = read_whole(database)
    except StorageFailed as error:
        return name, False, error.message, "`eddy serve` does not start on it"
    if not found:
        return name, True, f"{what}, in order", ""
    return name, False, f"{what}: {found[0]}", "`eddy serve` builds damaged indices again; for more, take a backup"


def _vouched(database: Path, secret: Path) -> tuple[str, bool, str, str]:
    """Everything that is kept, read and compared."""
    name = "records"
    try:
        found = listed(examine_folder(database, secret), NAMED)
    except (EddyError, OSError) as error:
        return name, False, _sentence(error), "restore the folder from a backup"
    if not found:
        return name, True, "every row, file and entry of the audit log is as it was written", ""
    return (
        name,
        False,
        "; ".join(found),
        "the others go on; a backup may have them whole: `eddy restore` it beside",
    )


def _sentence(error: Exception) -> str:
    return error.message if isinstance(error, EddyError) else str(error)


def _files(database: Path) -> list[Path]:
    return [database, *(database.with_name(f"{database.name}-{suffix}") for suffix in ("wal", "shm"))]


def _make(path: Path) -> None:
    if path.exists() and not path.is_dir():
        message = f"--data {path} is a file: name a folder, which is made where it is missing."
        raise InvalidRequest(message, field="data", asked=str(path))
    with translate_os_errors(path):
        try:
            path.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
        except NotADirectoryError as error:
            message = f"--data {path} is below a file: choose another folder."
            raise InvalidRequest(message, field="data", asked=str(path)) from error
