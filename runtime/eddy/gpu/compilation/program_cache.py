# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Compiled programs in a folder: each owner's under names of its own, so that nobody finds what others compiled."""

from __future__ import annotations

import hashlib
import logging
import os
import stat
from contextlib import suppress
from pathlib import Path

from eddy.core.errors import StorageFailed
from eddy.gpu.programs.program import Program
from eddy.host.files import write_private

_log = logging.getLogger(__name__)
CACHE_BYTES = 256 << 20


class ProgramCache:
    """Programs by digest and owner.

    Args:
        folder: Where they are kept.
        most_bytes: What they may take there; the ones not used for longest leave first.
    """

    def __init__(self, folder: Path, most_bytes: int = CACHE_BYTES) -> None:
        self._folder, self._most_bytes = folder, most_bytes

    def find(self, digest: str, owner: str) -> Program | None:
        """The program of a digest that was kept for an owner; None where there is none that can be read."""
        file = self._file(digest, owner)
        try:
            if not stat.S_ISREG(file.lstat().st_mode):  # a named pipe would keep us waiting
                return None
            os.utime(file)
            return Program.from_json(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, program: Program, owner: str) -> None:
        """Put a program into the folder; where that cannot be done it is compiled again next time."""
        try:
            write_private(self._file(program.digest, owner), program.to_json().encode())
        except StorageFailed as error:
            _log.warning("a compiled kernel is not kept: %s", error.message)
            return
        self._make_room()

    def _make_room(self) -> None:
        """Remove the programs not used for longest, as far as there are too many bytes of them."""
        found = []
        for file in self._folder.glob("*.json"):
            with suppress(OSError):
                status = file.lstat()
                if stat.S_ISREG(status.st_mode):  # a folder is not ours to remove
                    found.append((status.st_mtime_ns, status.st_size, file))
        room = self._most_bytes
        for _, size, file in sorted(found, reverse=True):
            room -= size
            if room < 0:
                file.unlink(missing_ok=True)

    def _file(self, digest: str, owner: str) -> Path:
        name = hashlib.sha256(f"{owner}\n{digest}".encode()).hexdigest() if owner else digest
        return self._folder / f"{name}.json"
