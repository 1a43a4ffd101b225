# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who else loads designs on the same board: daemons, and device-tree overlays of designs that were loaded.

On Kria, AMD's `dfx-mgrd` loads a default design when it starts, and any other that `xmutil loadapp` asks for. On
Ubuntu, Canonical's `fpgad` loads what a program asks for over D-Bus, which starts it, too. Two loaders of one fabric
cannot be made safe from one side, so Eddy configures the fabric only while none of them runs. And a design that came
with an overlay has kernel drivers at its registers: replacing it under them would hang the processor.

Ref: Xilinx/dfx-mgr, README.md ("Usage guidelines"); UG1630, "dfx-mgrd"; canonical/fpgad, README.md and snapcraft.yaml.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eddy.board.pynq.fabric_record import OVERLAYS

OURS = "eddy"
"""The name of our own overlay: that of the bitstream's file."""
_LOADS_A_DESIGN = b"firmware-name"
"""The property of an overlay that has the kernel load a bitstream (Ref: Linux, fpga-region.txt)."""
PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class LoaderDaemon:
    """A daemon that loads designs.

    Attributes:
        name: What people call it.
        process: Name of its process.
        units: What starts it, as systemd names that; which of them there are depends on how it was installed.
        stop: The command that ends it, until the next boot or the next who asks for it.
        unload: The command that takes away what it loaded, with its drivers; "" where that is done by hand.
    """

    name: str
    process: str
    units: tuple[str, ...]
    stop: str
    unload: str = ""


LOADERS = (
    # The second one has it load a design at boot (Kria; Ref: Xilinx/meta-xilinx, recipe dfx-mgr).
    LoaderDaemon(
        "dfx-mgr",
        "dfx-mgrd",
        ("dfx-mgr.service", "dfx-mgr-fw-load.service"),
        "sudo systemctl stop dfx-mgr",
        "sudo xmutil unloadapp",
    ),
    # The snap's unit, and those of its sources.
    LoaderDaemon(
        "fpgad",
        "fpgad",
        ("snap.fpgad.daemon.service", "fpgad.service", "fpgad-load-defaults.service"),
        "sudo snap stop --disable fpgad",
    ),
)


def find_running_loaders(proc: Path = PROC) -> tuple[LoaderDaemon, ...]:
    """The daemons that run."""
    processes = {_said(path).decode(errors="replace") for path in proc.glob("[0-9]*/comm")}
    return tuple(loader for loader in LOADERS if loader.process in processes)


def designs_with_drivers(overlays: Path = OVERLAYS) -> tuple[str, ...]:
    """Device-tree overlays in place that came with a design of somebody else's; in doubt, an overlay did."""
    try:
        others = sorted(entry for entry in overlays.iterdir() if entry.name != OURS)
    except OSError:
        return ()
    return tuple(entry.name for entry in others if _loads_a_design(entry))


def is_overlay_applied(name: str = OURS, overlays: Path = OVERLAYS) -> bool:
    """Whether an overlay is in place."""
    return _said(overlays / name / "status") == b"applied"


def _loads_a_design(overlay: Path) -> bool:
    """An overlay that was given by a path shows no contents."""
    contents = _said(overlay / "dtbo")
    return not contents or _LOADS_A_DESIGN in contents


def _said(path: Path) -> bytes:
    try:
        with path.open("rb", buffering=0) as file:
            return (file.read(1 << 20) or b"").strip(b"\n")
    except OSError:
        return b""
