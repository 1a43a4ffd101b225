# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whether a device has the clock managers that a fabric of so many slots takes.

Each slot's wizard is set again while the others run, by eighths, which only an MMCM can; the configuration port's clock
is fixed and takes a PLL (`hw/vivado/tcl/synthesis.tcl`). A clock tile has one MMCM and two PLLs (UG572).
"""

from __future__ import annotations

from collections.abc import Iterable

import yaml
from eddy.board.port.profile import load_profile

from area_report.clocks import BOARDS
from area_report.tops import Device

PLLS = 2
"""Of a clock tile; beside its one MMCM."""


def describe_clock_use(device: Device, slots: int) -> str:
    """What so many slots take of a device's clock managers."""
    return f"{slots} of {device.tiles} MMCM, 1 of {PLLS * device.tiles} PLL"


def too_few(devices: Iterable[Device]) -> list[str]:
    """Boards with a floorplan whose device has fewer clock managers than the profile's slots take."""
    tiles = {device.device: device for device in devices}
    found = []
    for name, board in yaml.safe_load(BOARDS.read_text(encoding="utf-8"))["boards"].items():
        device, slots = tiles[board["device"]], len(load_profile(name).slots)
        if slots > device.tiles:
            found.append(
                f"{name}: a {device.device} lacks clock managers: {describe_clock_use(device, slots)};"
                " give the board fewer slots, or slots that share a clock"
            )
    return found
