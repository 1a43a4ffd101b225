# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What `eddy doctor` says of a board: design, XRT, interrupt, memory, the shell's clock, heat, with the fix for each.

Nothing here touches the fabric: whether a register may be read is what has to be found out first.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from eddy.board.port.profile import Profile
from eddy.board.pynq import competing_loaders
from eddy.board.pynq.fabric_record import OVERLAYS, DesignStanding, Evidence, FabricRecord, judge_design, sha256_of
from eddy.board.pynq.real_board import INSTALL_PYNQ, SUPPORTED_PYNQ
from eddy.board.selftest.board_test import HOT_C
from eddy.board.selftest.sensors import temperatures
from eddy.core.units import format_frequency, format_size

Finding = tuple[str, bool, str, str]
"""What was looked at, whether it is well, what was found, and what helps where it is not."""
CLOCK_APART = 0.01
_FINE = (DesignStanding.OURS, DesignStanding.EMPTY, DesignStanding.TO_CONFIGURE)


def board(profile: Profile, root: Path = Path("/")) -> Iterator[Finding]:
    """What a board has; nothing where this machine is none.

    Args:
        profile: What the board should be.
        root: The file system that is looked at.
    """
    if not (root / "sys/class/fpga_manager/fpga0").is_dir():
        return
    yield _design(profile, root)
    yield _loaders(root)
    tree = root / "proc/device-tree/chosen/pynq_board"
    yield "device tree", tree.is_file(), _said(tree) or "no /chosen/pynq_board", "add the property to the device tree"
    has_xrt = importlib.util.find_spec("pyxrt") is not None
    found = "pyxrt" if has_xrt else "pyxrt cannot be imported"
    yield "xrt", has_xrt, found, "make the environment with --system-site-packages, install the image's xrt package"
    yield _pynq()
    names = [_said(path) for path in sorted((root / "sys/class/uio").glob("*/name"))]
    helps = "add the generic-uio node named fabric, and uio_pdrv_genirq.of_id=generic-uio to the kernel's command line"
    yield "interrupt", "fabric" in names, f"UIO files: {', '.join(names) or 'none'}", helps
    yield _contiguous(profile, root)
    yield from _clock(profile, root)
    yield from _heat(root)


def _design(profile: Profile, root: Path) -> Finding:
    file = root / "lib/firmware/eddy" / profile.name / "eddy.bit"
    if not file.is_file():
        return "design", False, f"no {file}", f"install the bitstreams of profile {profile.name} there"
    state = _said(root / "sys/class/fpga_manager/fpga0/state")
    boot = _said(root / "proc/sys/kernel/random/boot_id")
    record = FabricRecord(root / "run/eddy/fabric.json").kept
    overlays = record.overlays if record else ()
    found, why = judge_design(record, Evidence(state, boot, None, overlays), sha256_of(file))
    return "design", found in _FINE, f"{found.value}: {why}", "eddy boardd --take-fabric replaces it"


def _loaders(root: Path) -> Finding:
    designs = competing_loaders.designs_with_drivers(root / OVERLAYS.relative_to("/"))
    if running := competing_loaders.find_running_loaders(root / "proc"):
        return "other loaders", False, f"{running[0].process} runs", running[0].stop
    helps = f"unload them: sudo rmdir {OVERLAYS}/NAME, or reboot"
    found = f"device-tree overlays of other designs: {', '.join(designs)}" if designs else "none"
    return "other loaders", not designs, found, helps


def _pynq() -> Finding:
    try:
        version = metadata.version("pynq")
    except metadata.PackageNotFoundError:
        version = "none"
    return "pynq", version in SUPPORTED_PYNQ, version, INSTALL_PYNQ


def _contiguous(profile: Profile, root: Path) -> Finding:
    lines = _said(root / "proc/meminfo").splitlines()
    free = [int(line.split()[1]) << 10 for line in lines if line.startswith("CmaTotal:")]
    found, need = (free[0] if free else 0), profile.arena.bytes
    helps = f"boot with cma={-(-need // (1 << 20)) + 64}M on the kernel's command line"
    return "memory (CMA)", found >= need, f"{format_size(found)}, the arena takes {format_size(need)}", helps


def _clock(profile: Profile, root: Path) -> Iterator[Finding]:
    """The kernel shows clocks to root only."""
    said = _said(root / "sys/kernel/debug/clk/pl0_ref/clk_rate")
    if said.isdecimal():
        well = abs(int(said) / profile.shell_hz - 1) < CLOCK_APART
        planned = format_frequency(profile.shell_hz)
        helps = "give the overlay an xlnx,fclk node, or boot with clk_ignore_unused; is the profile this board's?"
        yield "shell clock", well, f"pl0_ref {format_frequency(int(said))}, the profile says {planned}", helps


def _heat(root: Path) -> Iterator[Finding]:
    if degrees := temperatures(root / "sys/class"):
        yield "temperature", max(degrees) < HOT_C, f"{max(degrees):.1f} degrees Celsius", "see to the fan and the air"


def _said(path: Path) -> str:
    """A file's text; "" where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8").strip("\0\n ")
    except (OSError, ValueError):
        return ""
