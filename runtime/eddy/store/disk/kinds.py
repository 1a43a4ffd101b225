# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whether the parts of a data folder are what they should be: plain files and folders.

A named pipe in place of a file keeps whoever opens it waiting for ever; a symbolic link leads to a file that is
somebody else's, to be locked, written over, or made private. So nothing is opened before its kind is known.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path

from eddy.host.files import damaged_file_error, translate_os_errors
from eddy.store.disk.names import BLOBS, OUTPUTS

_BACKUP = "restore it from a backup, or start again with an empty --data"
_AGAIN = "move it away; it is made again"
_FILES: Mapping[str, str] = {
    "lock": _AGAIN,
    "beginning": _AGAIN,
    "serving.json": _AGAIN,
    "eddy.sqlite3": _BACKUP,
    "eddy.sqlite3-wal": "restore it from a backup, or move it away",
    "eddy.sqlite3-shm": _AGAIN,
    "eddy.sqlite3-promised": _AGAIN,
    "secret": _BACKUP,
    "audit.head": _BACKUP,
    "operator.key": "put the key's file there; or an empty one, for a new key",
}
"""What is to be a plain file, and what helps where it is not."""
_FOLDERS = (BLOBS, OUTPUTS, "applications")
"""What is to be a folder, or a link to one, on a larger disk say."""
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFREG: "a file",
}


def check_kinds(folder: Path) -> None:
    """Check what is there of a data folder, without opening any of it.

    Raises:
        StorageDamaged: A part is of another kind; the sentence says which, and what helps.
        StorageFailed: The folder cannot be read.
    """
    with translate_os_errors(folder):
        for name, fix in _FILES.items():
            kind = _kind(folder / name)
            if kind not in (None, stat.S_IFREG):
                raise damaged_file_error(
                    folder / name, f"is {_KINDS.get(kind or 0, 'something else')}, not a file", fix
                )
        for name in _FOLDERS:
            kind = _kind(folder / name)
            if kind is not None and not (folder / name).is_dir():
                shown = _KINDS.get(kind, "something else")
                raise damaged_file_error(
                    folder / name, f"is {shown}, not a folder", "move it away, and restore the folder"
                )


def _kind(path: Path) -> int | None:
    """What a name stands for itself; None where there is nothing."""
    try:
        return stat.S_IFMT(path.lstat().st_mode)
    except FileNotFoundError:
        return None
