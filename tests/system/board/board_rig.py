# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Registers by hand: what the tests of the simulated board need of the shell, without the drivers.

The board's own tests use offsets from the register map, so that they hold the board responsible for nothing but
carrying accesses.
"""

from __future__ import annotations

from pathlib import Path

from eddy.board.port.profile import Profile, load_profile
from eddy_drivers.regs import window
from eddy_sim.boards.board import SimBoard, StopReason
from eddy_sim.boards.faults import Behaviour, LoadFault, rogue
from eddy_sim.design import build

CONTROL, CAUSE, CONTROL_TIMEOUT, MEMORY_TIMEOUT, WINDOWS = 0x004, 0x020, 0x010, 0x014, 0x100
OPEN_ALL = 0b1111
BUILD = 0x0123_4567_89AB_CDEF
PAYLOAD = 20_000
MS = 10**12


def bank(slot: int, offset: int) -> int:
    """Offset of a register of a slot's control bank."""
    return window.CONTROL.at(slot) + offset


def module(slot: int, offset: int) -> int:
    """Offset of a register of the module in a slot."""
    return window.MODULE.at(slot) + offset


def tiny() -> Profile:
    """The profile of the tests: two slots, 100 and 75 MHz."""
    return load_profile("tiny")


def load(board: SimBoard, slot: int, path: Path, fault: LoadFault | None = None) -> StopReason:
    """Load a module, with the slot closed; answer why the waiting ended."""
    board.write32(bank(slot, CONTROL), 0)
    board.start_config(slot, path, PAYLOAD, fault, (BUILD, 1))
    return board.step_until_fs(board.now_fs + 100 * MS, StopReason.CONFIG)


def open_slot(board: SimBoard, slot: int, first: int, last: int, timeout: int = 500) -> None:
    """Open a slot to one window of memory (byte addresses, inclusive) for context 0."""
    window = bank(slot, WINDOWS)
    board.write32(window, first >> 12)
    board.write32(window + 4, last >> 12)
    board.write32(window + 8, 0x1_0003)
    board.write32(bank(slot, CONTROL_TIMEOUT), timeout)
    board.write32(bank(slot, MEMORY_TIMEOUT), timeout)
    board.write32(bank(slot, CONTROL), OPEN_ALL)
    board.step_until_fs(board.now_fs + MS // 1000)


def load_rogue(board: SimBoard, slot: int, behaviour: Behaviour) -> None:
    """Load a rogue module and open its slot to the page at `page(slot)`."""
    path = build.build_rogue()
    assert load(board, slot, path, rogue(behaviour)) == StopReason.CONFIG
    open_slot(board, slot, page(board, slot), page(board, slot) + 0xFFF)


def page(board: SimBoard, slot: int) -> int:
    """A page of the arena for each slot."""
    return board.profile.arena.base + slot * 0x10_0000


def start(board: SimBoard, slot: int, address: int, interrupt: bool = False) -> None:
    """Give a module an address and start it."""
    for offset, value in ((0x10, address & 0xFFFF_FFFF), (0x14, address >> 32), (4, interrupt), (8, interrupt), (0, 1)):
        board.write32(module(slot, offset), value)


def run_for(board: SimBoard, cycles: int) -> None:
    """Let shell-clock cycles pass."""
    board.step_until_fs(board.now_fs + cycles * 10**7)
