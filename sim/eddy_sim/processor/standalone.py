# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The part of a swap that a stock script has nobody to run: closing a slot before a load and opening it afterwards.

Where a hypervisor is in charge it runs the whole sequence itself (`eddy.board.pynq.swap`) with checks between the
steps, and none of this happens. A script that only calls `Overlay.pr_download` gets a slot that works: its clock set,
its registers and its interrupt reachable, and all of memory open to it, as in an overlay without a firewall.
"""

from __future__ import annotations

from typing import Any

from eddy.core.errors import BoardFault
from eddy_drivers.clocking_wizard import ClockingWizard
from eddy_drivers.regs import window
from eddy_drivers.slot_ctrl import PageWindow, SlotCtrl

from eddy_sim.design.addressmap import control_base, wizard_base
from eddy_sim.processor.tables import OverlayTables

_PAGE_BITS = 12
_DRAIN_READS = 4096
_LOCK_READS = 65536
_ALL_CONTEXTS = 0xFFFF
_SAME_RATE = 1e-3


def close(device: OverlayTables, slot: int) -> None:
    """Let a slot's bursts finish, within a bound, then close its paths and hold its reset."""
    control = _control(device, slot)
    control.quiesce()
    for _ in range(_DRAIN_READS):
        if control.idle():
            break
    control.decouple()
    control.hold_reset()


def open(device: OverlayTables, slot: int, clk_hz: float) -> None:
    """Set a slot's clock, release its reset and open every path, with one window over all of memory.

    Raises:
        BoardFault: The clock cannot be had.
    """
    _set_clock(device, slot, clk_hz)
    control = _control(device, slot)
    control.release_reset()
    control.clear_causes()
    control.open_control()
    dram = device.profile.dram
    first, last = dram.base >> _PAGE_BITS, (dram.base + dram.bytes - 1) >> _PAGE_BITS
    control.set_windows([PageWindow(first, last, read=True, write=True, contexts=_ALL_CONTEXTS)])
    control.open_memory()


def _set_clock(device: OverlayTables, slot: int, clk_hz: float) -> None:
    wizard = ClockingWizard(_description(device, wizard_base(slot), window.WIZARD.bytes))
    if abs(wizard.rate_hz() / clk_hz - 1) < _SAME_RATE and wizard.locked():
        return
    try:
        wizard.set_rate(clk_hz)
    except ValueError as error:
        raise BoardFault(f"slot {slot} cannot have a clock of {clk_hz:.0f} Hz: {error}", cause="clock-lost") from error
    if not any(wizard.locked() for _ in range(_LOCK_READS)):
        raise BoardFault(f"the clocking wizard of slot {slot} did not lock", cause="clock-lost")


def _control(device: OverlayTables, slot: int) -> SlotCtrl:
    return SlotCtrl(_description(device, control_base(slot), window.CONTROL.bytes))


def _description(device: OverlayTables, base: int, length: int) -> dict[str, Any]:
    parameters = {"PRIM_IN_FREQ": str(device.profile.shell_hz / 1e6)}
    return {"device": device, "phys_addr": base, "addr_range": length, "parameters": parameters}
