# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A disk that loses power: what was synchronised is there; of all else each sector and each name may be, or not.

Files are real, in a folder in memory. `os.fsync` and `os.fdatasync` are watched: they say what is durable. After a
crash the next life gets a copy of the folder as the disk would show it.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

SECTOR = 512
_NEVER_KEPT = "-shm"
"""Files that are memory, not disk."""


class SimDisk:
    """One disk.

    Args:
        root: Where folders of lives are made.
        template: What the first life finds, all of it durable.
        draw: Of this seed.
        effect: Told of every synchronisation, as something a process may die before or after.
    """

    def __init__(
        self, root: Path, template: Path, draw: random.Random, effect: Callable[[Callable[[], None]], None]
    ) -> None:
        self._root, self._draw, self._effect = root, draw, effect
        self._lives = 0
        self._contents: dict[int, bytearray] = {}
        """By inode: what is durable of a file."""
        self._names: dict[int, dict[str, int]] = {}
        """By inode: what is durable of a folder."""
        self.refuses = False
        """Whether synchronising fails."""
        self.lives_on = False
        """Whether there is no crash any more: then nobody needs to know what one would leave."""
        self.torn = 0
        """Files of which a crash left something between old and new."""
        self.folder = root / "0"
        shutil.copytree(template, self.folder)
        self.all_durable()

    # What the process does ----------------------------------------------------------------------------------------

    def sync(self, file: int) -> None:
        """`os.fsync` and `os.fdatasync`."""
        self._effect(lambda: self._sync(file))

    def _sync(self, file: int) -> None:
        if self.refuses:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self.lives_on:
            return
        found = os.fstat(file)
        if stat.S_ISDIR(found.st_mode):
            self._names[found.st_ino] = {entry.name: entry.inode() for entry in os.scandir(f"/proc/self/fd/{file}")}
        else:
            self._read(Path(f"/proc/self/fd/{file}"), found)

    def _read(self, path: Path, found: os.stat_result) -> None:
        """Note what a file holds, in the memory that held what it had before: logs are read after each commit."""
        held = self._contents.setdefault(found.st_ino, bytearray())
        if len(held) > found.st_size:
            del held[found.st_size :]
        held.extend(bytes(found.st_size - len(held)))
        with path.open("rb", buffering=0) as opened:
            assert opened.readinto(held) == len(held), f"{path} became shorter"

    def all_durable(self) -> None:
        """Everything there is has come to the disk."""
        for folder, _, files in os.walk(self.folder):
            self._names[os.stat(folder).st_ino] = {entry.name: entry.inode() for entry in os.scandir(folder)}
            self.durable(*(Path(folder, name) for name in files))

    def durable(self, *paths: Path) -> None:
        """What these files hold has come to the disk."""
        for path in paths:
            self._read(path, path.stat())

    # What a crash leaves ------------------------------------------------------------------------------------------

    def after_crash(self, power: bool) -> None:
        """Give the next life its folder.

        Args:
            power: Whether power was lost, and with it what was not durable; else only the process died.
        """
        self._lives += 1
        left, self.folder = self.folder, self._root / str(self._lives)
        contents, names = self._contents, self._names
        self._contents, self._names = {}, {}
        self._copy(left, self.folder, power, contents, names)
        if power:
            self.all_durable()
        shutil.rmtree(left)

    def _copy(
        self, old: Path, new: Path, power: bool, contents: dict[int, bytearray], names: dict[int, dict[str, int]]
    ) -> None:
        new.mkdir()
        durable = names.get(old.stat().st_ino, {})
        there = {entry.name: entry for entry in os.scandir(old) if not entry.name.endswith(_NEVER_KEPT)}
        for name in sorted({*there, *durable}):
            entry, kept = there.get(name), durable.get(name)
            changed = entry is None or entry.inode() != kept
            if name.endswith(_NEVER_KEPT) or (power and changed and kept is None and self._draw.random() < 0.5):
                continue  # its name had not come to the disk
            if entry is None or (power and changed and kept is not None and self._draw.random() < 0.5):
                if power and kept in contents and (entry is not None or self._draw.random() < 0.5):
                    (new / name).write_bytes(contents[kept])  # what had the name before has it again
                continue
            if entry.is_dir():
                self._copy(old / name, new / name, power, contents, names)
                continue
            now = (old / name).read_bytes()
            was = contents.get(entry.inode(), bytearray())
            (new / name).write_bytes(self._mixed(was, now) if power else now)
            if not power and entry.inode() in contents:
                self._contents[(new / name).stat().st_ino] = was
        if not power:
            self._names[new.stat().st_ino] = {
                name: (new / name).stat().st_ino for name, inode in durable.items() if (new / name).exists()
            }

    def _mixed(self, was: bytearray, now: bytes) -> bytes:
        """Sectors of what was durable, and of what was written since."""
        if was == now:
            return now
        self.torn += 1
        part = self._draw.choice((0.0, 0.5, 0.9, 1.0))
        ends = max(len(was), len(now))
        found = bytearray()
        for begin in range(0, ends, SECTOR):
            old, new = was[begin : begin + SECTOR], now[begin : begin + SECTOR]
            found += new if old == new or self._draw.random() < part else old.ljust(len(new), b"\0")
        if len(now) > len(was) and self._draw.random() < 0.5:
            del found[self._draw.randint(len(was), len(now)) :]  # the length had not come so far
        elif len(now) < len(was) and self._draw.random() < 0.5:
            found = found[: len(now)]
        return bytes(found)
