"""Who else loads designs on the same board: AMD's dfx-mgr, and device-tree overlays of designs that were loaded.

On Kria, `dfx-mgrd` loads a default design when it starts, and any other that `xmutil loadapp` asks for. Two loaders of
one fabric cannot be made safe from one side, so Eddy configures the fabric only while that daemon does not run. And a
design that came with an overlay has kernel drivers at its registers: replacing it under them would hang the processor.

Ref: Xilinx/dfx-mgr, README.md ("Usage guidelines"); UG1630, "dfx-mgrd".
"""

from __future__ import annotations

from pathlib import Path

from eddy.board.fabric_record import OVERLAYS

DAEMON = "dfx-mgrd"
OURS = "eddy"
"""The name of our own overlay: that of the bitstream's file."""
_LOADS_A_DESIGN = b"firmware-name"
"""The property of an overlay that has the kernel load a bitstream (Ref: Linux, fpga-region.txt)."""
PROC = Path("/proc")


def loader_runs(proc: Path = PROC) -> bool:
    """Whether dfx-mgr's daemon runs."""
    return any(_said(path) == DAEMON.encode() for path in proc.glob("[0-9]*/comm"))


def designs_with_drivers(overlays: Path = OVERLAYS) -> tuple[str, ...]:
    """Device-tree overlays in place that came with a design of somebody else's; in doubt, an overlay did."""
    try:
        others = sorted(entry for entry in overlays.iterdir() if entry.name != OURS)
    except OSError:
        return ()
    return tuple(entry.name for entry in others if _loads_a_design(entry))


def applied(name: str = OURS, overlays: Path = OVERLAYS) -> bool:
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
