"""The folders of a board, laid over this machine's own in a mount namespace: /dev, /proc, /sys, /run, /lib/firmware.

What is not faked stays what it was: a folder that is laid over holds links to everything else that was in it. Nothing
outside of the namespace changes, and everything is gone with its last process.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from eddy_sim.kernel.filesystem import mount

_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def enter() -> None:
    """Let no mount from here on reach outside."""
    mount("none", Path("/"), flags=_RECURSIVE | _PRIVATE)


def bind(what: Path, where: Path) -> None:
    """Show a file or folder at another place, too."""
    mount(str(what), where, flags=_BIND | _RECURSIVE)


def empty(where: Path) -> None:
    """Lay an empty folder over one."""
    mount("tmpfs", where, "tmpfs", "mode=755")


class Scenery:
    """Folders that are laid over.

    Args:
        root: A folder of this run, outside of what is laid over.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def lay_over(self, folder: Path, faked: Mapping[str, str | Path | None]) -> None:
        """Lay a folder over one; what was in it is linked, but for what is faked.

        Args:
            folder: An absolute path.
            faked: By path inside the folder: text of a file, what a link points to, or None for an empty folder.
        """
        kept = self._root / "kept" / folder.name
        kept.mkdir(parents=True)
        bind(folder, kept)
        empty(folder)
        self._fill(folder, kept, {name.split("/", 1)[0] for name in faked}, faked)

    def _fill(self, folder: Path, kept: Path, tops: set[str], faked: Mapping[str, str | Path | None]) -> None:
        if kept.is_dir():
            for entry in kept.iterdir():
                if entry.name not in tops:
                    (folder / entry.name).symlink_to(entry)
        for name in tops:
            inner = {key.split("/", 1)[1]: value for key, value in faked.items() if key.startswith(name + "/")}
            if inner:
                (folder / name).mkdir()
                self._fill(folder / name, kept / name, {key.split("/", 1)[0] for key in inner}, inner)
                continue
            value = faked[name]
            if value is None:
                (folder / name).mkdir()
            elif isinstance(value, Path):
                (folder / name).symlink_to(value)
            else:
                (folder / name).write_text(value)

    def own_copy(self, folder: Path) -> None:
        """Lay a copy of a folder over it, so that what is written there stays here."""
        copy = self._root / "copies" / folder.name
        shutil.copytree(folder, copy)
        bind(copy, folder)
