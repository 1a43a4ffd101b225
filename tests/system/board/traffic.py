# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Modules that ask for bursts of one shape, and how long they take: what tests of the shared memory measure with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from eddy.board.overlay import memory_bytes_per_cycle
from eddy.board.port.profile import Profile
from eddy_drivers.regs import slot_ctrl
from eddy_sim.boards.board import SimBoard, StopReason
from eddy_sim.boards.faults import Behaviour, rogue
from eddy_sim.design import build
from system.board.board_rig import bank, load, module, open_slot, page, run_for, start

FIXED, INCR, WRAP = 0, 1, 2
READ, WRITE = 1, 2
BOTH = READ | WRITE
WINDOW = 0x10_0000
"""Bytes from a slot's page on that it may touch."""
BURST = 4096
"""Bytes that may go at once after a pause, as `SlotCtrl.set_regulator` sets it where nothing is said."""


@dataclass(frozen=True)
class Traffic:
    """Bursts of one shape, as `cpp/traffic.hpp` takes them.

    Attributes:
        beats: Beats of a burst.
        size: Bytes of a beat, as a power of two.
        burst: Its AXI type.
        directions: READ, WRITE or both.
        count: Bursts in each direction; 0 without end.
        stride: Bytes from a burst's start to the next one's.
        extent: Bytes after which addresses begin again.
        under_way: Bursts under way in a direction at most; 0: as many as the shell takes.
    """

    beats: int = 256
    size: int = 3
    burst: int = INCR
    directions: int = BOTH
    count: int = 0
    stride: int = 2048
    extent: int = 0x1_0000
    under_way: int = 0

    @property
    def used(self) -> int:
        """Bytes of the port that a burst takes."""
        return 8 * self.beats

    def started(self, board: SimBoard, slot: int) -> None:
        """Tell the module in a slot, and start it."""
        shape = self.beats - 1 | self.size << 8 | self.burst << 12 | self.directions << 16
        for word, value in enumerate((shape, self.count, self.stride, self.extent, self.under_way), start=6):
            board.write32(module(slot, 4 * word), value)
        start(board, slot, page(board, slot))

    def times(self, count: int) -> Traffic:
        """So many bursts of it."""
        return replace(self, count=count)


def default_rate(profile: Profile) -> float:
    """Bytes a shell-clock cycle that a slot's regulator is set to where nothing is said."""
    return profile.memory_share * memory_bytes_per_cycle(profile)


def prepare(board: SimBoard, slot: int, rate: float | None) -> None:
    """Load a module that asks for bursts, with its window open and its regulator at a rate (bytes a cycle)."""
    assert load(board, slot, build.build_rogue(), rogue(Behaviour.TRAFFIC)) == StopReason.CONFIG
    give_memory(board, slot, rate)


def give_memory(board: SimBoard, slot: int, rate: float | None) -> None:
    """Open a loaded slot, with one window and its regulator at a rate (bytes a cycle; None: off)."""
    open_slot(board, slot, page(board, slot), page(board, slot) + WINDOW - 1)
    if rate is not None:
        board.write32(bank(slot, slot_ctrl.REGULATOR_BURST.offset), BURST)
        word = slot_ctrl.REGULATOR_RATE.encode(rate=round(rate * 65536), enable=1)
        board.write32(bank(slot, slot_ctrl.REGULATOR_RATE.offset), word)


def bursts_ended(board: SimBoard, slot: int) -> int:
    """How many of the module's bursts have ended, reads and writes."""
    return board.read32(module(slot, 0x30)) + board.read32(module(slot, 0x34))


def cycles_taken(profile: Profile, own: Traffic, others: Traffic | None, rate: float | None) -> int:
    """Shell-clock cycles that slot 0 takes for its traffic while every other slot does its own.

    Args:
        own: What slot 0 does; it has an end.
        others: What each other slot does, from before slot 0 starts; None: nothing.
        rate: Every regulator's, in bytes a cycle; None: off.
    """
    with SimBoard(profile) as board:
        for slot in range(len(profile.slots)):
            prepare(board, slot, rate)
        if others is not None:
            for slot in range(1, len(profile.slots)):
                others.started(board, slot)
            run_for(board, 2000)
        before = board.shell_cycles
        own.started(board, 0)
        while not board.read32(module(0, 0)) & 2:
            run_for(board, 50)
            assert board.shell_cycles - before < 500_000, "the slot does not get on"
        assert board.read32(bank(0, 0x020)) == 0, "the one who behaves has a fault"
        return board.shell_cycles - before
