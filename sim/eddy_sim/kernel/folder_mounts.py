# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The folders of a board, laid over this machine's own in a mount namespace: /dev, /proc, /sys, /run, /lib/firmware.

What is not faked stays what it was: a folder that is laid over holds links to everything else that was in it. Nothing
outside of the namespace changes, and everything is gone with its last process.
"""

from __future__ import annotations

import importlib.util
import shutil
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from eddy_sim.kernel.filesystem import mount

_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
LOG = Path("/dev/kmsg")
DEV_MEM = "eddy-dev-mem"
"""The file behind `/dev/mem`, in the folder of sysfs's files."""
IRQ = 121
"""What pl_ps_irq0 is to the interrupt controller (Ref: UG1085, table of system interrupts)."""


def isolate_mounts() -> None:
    """Let no mount from here on reach outside."""
    mount("none", Path("/"), flags=_RECURSIVE | _PRIVATE)


def bind(what: Path, where: Path) -> None:
    """Show a file or folder at another place, too."""
    mount(str(what), where, flags=_BIND | _RECURSIVE)


def mount_empty(where: Path) -> None:
    """Lay an empty folder over one."""
    mount("tmpfs", where, "tmpfs", "mode=755")


class FolderMounts:
    """Folders that are laid over.

    Args:
        root: A folder of this run, outside of what is laid over.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def mount_over(self, folder: Path, faked: Mapping[str, str | Path | None]) -> None:
        """Lay a folder over one; what was in it is linked, but for what is faked.

        Args:
            folder: An absolute path.
            faked: By path inside the folder: text of a file, what a link points to, or None for an empty folder.
        """
        kept = self._root / "kept" / folder.name
        kept.mkdir(parents=True)
        bind(folder, kept)
        mount_empty(folder)
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


def mount_board(root: Path, interrupt: str, name: str) -> None:
    """Lay a board's folders over this machine's.

    Args:
        root: Folder of this run; sysfs's files are in `fs`, configfs's in `overlays`.
        interrupt: The file that stands for `/dev/uio0`.
        name: What the device tree calls the board.
    """
    stage = FolderMounts(root)
    pynq = importlib.util.find_spec("pynq")
    assert pynq is not None
    assert pynq.origin is not None
    server = Path(pynq.origin).parent / "pl_server"
    shutil.copy(server / "default.xclbin", root / "default.xclbin")
    stage.own_copy(server)
    firmware = Path("/lib/firmware")
    if firmware.is_dir():
        mount_empty(firmware)
    else:
        stage.mount_over(firmware.parent.resolve(), {"firmware": None})
    kept_uio = root / "kept" / "dev" / Path(interrupt).relative_to("/dev")
    stage.mount_over(Path("/dev"), {"mem": root / "fs" / DEV_MEM, "uio0": kept_uio, "kmsg": ""})
    stage.mount_over(
        Path("/proc"),
        {
            "device-tree/chosen/pynq_board": name,
            "interrupts": f"           CPU0\n 47:  0  0  0  0  GICv2 {IRQ} Level  fabric\n",
            "sys/kernel/random/boot_id": f"{uuid.uuid4()}\n",
        },
    )
    mount_empty(Path("/run"))
    stage.mount_over(Path("/sys/class"), {"uio/uio0/name": "fabric\n", "fpga_manager/fpga0": root / "fs"})
    stage.mount_over(Path("/sys/kernel"), {"config/device-tree/overlays": root / "overlays"})


def write_log(lines: Sequence[str]) -> None:
    """Have the kernel's log say these lines."""
    LOG.write_text("".join(f"6,{index},{index},-;{line}\n" for index, line in enumerate(lines)))
