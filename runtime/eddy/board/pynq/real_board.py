# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Stock PYNQ on a real board: what it needs around it, and the fabric behind it.

Every condition is checked before PYNQ stumbles over it, and before any register is read. PYNQ decides when it is
imported whether there is a device at all, so this module imports it only after the checks.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eddy.board.images.image_files import refuse_boot_image
from eddy.board.port.clock import Clock, WallClock
from eddy.board.port.profile import Profile
from eddy.board.pynq import competing_loaders
from eddy.board.pynq.fabric_record import OVERLAYS, DesignStanding, FabricRecord, judge_design, read_evidence, sha256_of
from eddy.board.pynq.fpga_manager import FpgaManager
from eddy.board.pynq.handoff import parse_handoff
from eddy.core.errors import BoardNotReady, ConfigurationFailed, ForeignDesign

if TYPE_CHECKING:
    from eddy.board.overlay import OverlayFabric

SUPPORTED_PYNQ = ("3.1.2", "4.0.0")
INSTALL_PYNQ = f"PYNQ_BUILD_ARCH=x86_64 pip install --no-deps pynq=={SUPPORTED_PYNQ[-1]}"
"""The command that installs the latest of them, as docs/how-to/bring-up.md has it: otherwise its build needs the
sources of XRT, and it brings what a board does not need."""
"""Releases of PYNQ that this adapter is tested with (`make pynq-versions`). 3.0 reaches XRT by other calls."""
BOARD_NODE = Path("/proc/device-tree/chosen/pynq_board")
"""Where PYNQ looks to know that it is on a board."""


@dataclass(frozen=True)
class OpenedFabric:
    """The fabric, configured, and its time."""

    fabric: OverlayFabric
    clock: Clock


def check_surroundings() -> None:
    """Check what PYNQ needs of the process and of the image it runs on.

    Raises:
        BoardNotReady: Something is missing; `cause` is ``xrt``, ``device-tree``, ``privilege`` or ``pynq-version``.
    """
    if not os.environ.get("XILINX_XRT"):
        raise BoardNotReady(
            "XILINX_XRT is not set, without which PYNQ finds no device; set it as the image's login shell does"
            " (XILINX_XRT=/usr), sudo and systemd drop it",
            cause="xrt",
        )
    if not BOARD_NODE.is_file():
        raise BoardNotReady(
            f"{BOARD_NODE} is not there, by which PYNQ knows that it is on a board; boot a PYNQ image, or add the"
            " property pynq_board to /chosen in the device tree",
            cause="device-tree",
        )
    if os.geteuid() != 0:
        raise BoardNotReady(
            f"PYNQ maps registers for root only, this is user {os.geteuid()}; start boardd as root", cause="privilege"
        )
    found = metadata.version("pynq")
    if found not in SUPPORTED_PYNQ:
        raise BoardNotReady(
            f"pynq {found} is installed, Eddy is tested with {', '.join(SUPPORTED_PYNQ)}; {INSTALL_PYNQ}",
            cause="pynq-version",
        )


def open_fabric(file: Path, profile: Profile, record_file: Path, take_fabric: bool) -> OpenedFabric:
    """Configure the fabric, or find it as a boardd before this one left it.

    Slots of a fabric that is found may be in the middle of a burst; whoever opens the board closes them.

    Args:
        file: The overlay's `.bit`, its `.hwh` beside it.
        profile: What the board is.
        record_file: Where it is written down what the fabric holds.
        take_fabric: Configure it although somebody else's design is on it.

    Raises:
        ForeignDesign: Somebody else's design is on the fabric.
        BoardNotReady: XRT or the interrupt is missing, memory lies elsewhere, another loader runs, another boardd has
            the board, or the device tree does not take our overlay.
        ConfigurationFailed: The kernel refused the overlay.
        ImageRefused: The overlay's file is a boot image, or there is no whole `.hwh` beside it.
    """
    manager = FpgaManager()
    claim = manager.claim()
    try:
        return _opened(file, profile, manager, claim, FabricRecord(record_file), take_fabric)
    except BaseException:
        claim.close()
        raise


def _opened(
    file: Path, profile: Profile, manager: FpgaManager, claim: ExitStack, record: FabricRecord, take_fabric: bool
) -> OpenedFabric:
    """The fabric of a board that nobody else has."""
    wanted = sha256_of(file)
    found, why = judge_design(record.kept, read_evidence(manager.state()), wanted)
    if found is DesignStanding.FOREIGN:
        check_take_over(why, take_fabric)
    if found is not DesignStanding.OURS:
        check_alone()
    device = _device()
    loop = asyncio.new_event_loop()
    # PYNQ registers its interrupt files with the thread's current loop while the drivers are made.
    asyncio.set_event_loop(loop)
    overlay = (
        _overlay(file, device) if found is DesignStanding.OURS else _configured(file, device, manager, record, wanted)
    )

    from eddy.board.overlay import KernelCalls, OverlayFabric, shell_time_s

    assert record.kept is not None
    now_s = shell_time_s(profile, device, record.kept.configured_s)
    return OpenedFabric(OverlayFabric(overlay, profile, loop, KernelCalls(manager, record, claim)), WallClock(now_s))


def check_take_over(why: str, take_fabric: bool) -> None:
    """Check that somebody else's design may be replaced: that it was asked for, and that no driver would notice.

    Args:
        why: What makes the design somebody else's.
        take_fabric: Whether it was asked for.

    Raises:
        ForeignDesign: It may not; `cause` is ``foreign-design`` or ``foreign-overlay``.
    """
    overlays = competing_loaders.designs_with_drivers()
    by_hand = f"sudo rmdir {OVERLAYS}/NAME"
    unload = next((loader.unload for loader in competing_loaders.find_running_loaders() if loader.unload), by_hand)
    if overlays and take_fabric:
        raise ForeignDesign(
            f"the design on the fabric has kernel drivers at its registers, by the device-tree overlays"
            f" {', '.join(overlays)}: to replace it under them would hang the processor; unload it first ({unload})",
            cause="foreign-overlay",
            overlays=overlays,
        )
    if not take_fabric:
        first = f"unload it ({unload}), then " if overlays else ""
        raise ForeignDesign(
            f"a design is on the fabric that is not Eddy's: {why}; reboot without it (eddy install keeps dfx-mgr"
            f" and fpgad from loading one), or {first}let Eddy replace it: eddy boardd --take-fabric",
            cause="foreign-design",
        )


def check_alone() -> None:
    """Check that nobody else loads designs while Eddy does.

    Raises:
        BoardNotReady: A daemon that does runs; `cause` is its name.
    """
    if running := competing_loaders.find_running_loaders():
        loader = running[0]
        raise BoardNotReady(
            f"{loader.process} runs and may load a design of its own at any time, under tenants' work; stop it:"
            f" {loader.stop} (eddy install keeps it from starting again)",
            cause=loader.name,
        )


def _device() -> Any:
    try:
        import pynq

        return pynq.Device.active_device
    except (ImportError, RuntimeError) as error:
        raise BoardNotReady(
            f"XRT does not answer ({error}); install the image's xrt package, put its pyxrt on PYTHONPATH, and see that"
            " the zocl driver is loaded (lsmod)",
            cause="xrt",
        ) from error


def _overlay(file: Path, device: Any, download: bool = False) -> Any:
    import pynq

    # Named here, so that overlays bind the drivers.
    import eddy.board.overlay  # noqa: F401

    with parse_handoff(file.with_suffix(".hwh")):
        return pynq.Overlay(str(file), download=download, device=device)


def _configured(file: Path, device: Any, manager: FpgaManager, record: FabricRecord, wanted: str) -> Any:
    from pynq.pl_server.global_state import clear_global_state

    refuse_boot_image(file.read_bytes(), file.name)
    # PYNQ puts an overlay of the same name in place after the load.
    has_overlay = file.with_suffix(".dtbo").is_file()
    if has_overlay and not OVERLAYS.is_dir():
        raise BoardNotReady(
            f"{OVERLAYS} is not there, where the kernel takes device-tree overlays; boot a kernel with"
            " CONFIG_OF_CONFIGFS, and mount configfs on /sys/kernel/config",
            cause="device-tree-overlay",
        )
    # PYNQ would ask the shutdown managers of the design it last loaded, which may be gone: nothing would answer.
    clear_global_state()
    record.begin(wanted)
    try:
        overlay = _overlay(file, device, download=True)
    except OSError as error:
        raise ConfigurationFailed(
            f"the kernel refused the overlay {file}: {error.strerror or error}, FPGA manager: {manager.state()}; dmesg"
            " says more",
            cause="configuration-error",
            errno=error.errno,
        ) from error
    except RuntimeError as error:
        if not has_overlay or competing_loaders.is_overlay_applied():
            raise
        raise BoardNotReady(
            f"the kernel does not take the device-tree overlay {file.with_suffix('.dtbo')}: {error}; dmesg says which"
            " label it misses (the base device tree needs its symbols: dtc -@)",
            cause="device-tree-overlay",
        ) from error
    record.configured()
    return overlay
