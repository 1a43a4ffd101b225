# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a slot keeps of its memory throughput while its neighbour misbehaves, and that it is what the blocks promise.

The bounds are those of docs/reference/blocks/shell.md, "What a neighbour can cost". Cycle counts are deterministic.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest
from eddy_drivers.regs import slot_ctrl
from eddy_sim.boards.board import SimBoard
from eddy_sim.boards.faults import Behaviour
from system.board.board_rig import bank, load_rogue, module, page, run_for, start, tiny

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]

CYCLES = 8000
SETTLE = 600
LONGEST = 2048
"""Bytes of the longest burst, 256 beats of 8."""
RATE, BURST = 2.0, 4096
"""The rogue's regulator: bytes a shell-clock cycle, and what may go at once."""
ROW = 2 * 8
"""Cycles a request of the rogue may cost beside its data: its row must be opened, and the other's opened again, each
time after the row before was open long enough and is closed: tRAS + tRP + tRCD, 6 cycles, and 2 for rounding."""
ROGUES = [
    *(Behaviour.FLOOD, Behaviour.FLOOD_WRITE, Behaviour.DRIBBLE_WRITE, Behaviour.STALL_WRITE, Behaviour.STALL_RESPONSE),
    *(Behaviour.SILENT, Behaviour.READ_OUTSIDE, Behaviour.WRITE_OUTSIDE, Behaviour.ILLEGAL_BURST, Behaviour.INTERRUPT),
]
DIRECTIONS = {"reads": Behaviour.FLOOD, "writes": Behaviour.FLOOD_WRITE}


@dataclass(frozen=True)
class Traffic:
    """What the regulator of a slot let through between two snapshots of its monitor."""

    cycles: int
    bytes: int
    requests: int


@dataclass(frozen=True)
class Contest:
    """A slot that reads or writes as fast as it can, and its neighbour."""

    victim: Traffic
    rogue: Traffic


def snapshot(board: SimBoard, slot: int) -> tuple[int, int, int]:
    """(cycles, bytes, requests) so far."""
    board.write32(bank(slot, slot_ctrl.MONITOR_SNAPSHOT.offset), slot_ctrl.MONITOR_SNAPSHOT.encode(memory_context=16))
    counts = []
    for index in range(5):
        low = board.read32(bank(slot, slot_ctrl.COUNTER_LO.at(index)))
        counts.append(board.read32(bank(slot, slot_ctrl.COUNTER_HI.at(index))) << 32 | low)
    cycles, read_bytes, write_bytes, reads, writes = counts
    return cycles, read_bytes + write_bytes, reads + writes


def regulate(board: SimBoard, slot: int) -> None:
    board.write32(bank(slot, slot_ctrl.REGULATOR_BURST.offset), BURST)
    rate = slot_ctrl.REGULATOR_RATE.encode(rate=round(RATE * 65536), enable=1)
    board.write32(bank(slot, slot_ctrl.REGULATOR_RATE.offset), rate)


@cache
def contest(
    victim: Behaviour, rogue: Behaviour, regulated: bool, loses_clock: bool = False, settled: bool = False
) -> Contest:
    """Slot 0 does its utmost while slot 1 misbehaves; both have the same bank of memory, and rows of their own.

    Measured from the rogue's start on, or, `settled`, once its queue is full.
    """
    with SimBoard(tiny()) as board:
        load_rogue(board, 0, victim)
        load_rogue(board, 1, rogue)
        if regulated:
            regulate(board, 1)
        start(board, 0, page(board, 0))
        run_for(board, SETTLE)
        outside = rogue in (Behaviour.READ_OUTSIDE, Behaviour.WRITE_OUTSIDE)
        target = page(board, 0) + 0x1000 if outside else page(board, 1)
        if settled:
            start(board, 1, target)
            run_for(board, 2 * SETTLE)
        before = [snapshot(board, slot) for slot in (0, 1)]
        if not settled:
            start(board, 1, target)
        if loses_clock:
            run_for(board, 1000)
            board.faults.lose_clock(1)
        board.read32(module(1, 0))
        left = CYCLES - (board.shell_cycles - before[0][0])
        run_for(board, left)
        after = [snapshot(board, slot) for slot in (0, 1)]
        assert board.read32(bank(0, 0x020)) == 0, "the one who behaves has a fault"
        own, other = (Traffic(*(b - a for a, b in zip(*pair, strict=True))) for pair in zip(before, after, strict=True))
    return Contest(own, other)


def alone(direction: str) -> Traffic:
    """The same with a neighbour that does nothing."""
    return contest(DIRECTIONS[direction], Behaviour.HANG, regulated=True).victim


def lost(direction: str, found: Contest) -> float:
    """Bytes the victim got less than it would have got alone in as many cycles."""
    usual = alone(direction)
    return usual.bytes / usual.cycles * found.victim.cycles - found.victim.bytes


def cost(rogue: Traffic) -> float:
    """What the rogue's traffic may cost in bytes: its data, its rows, and a burst at each end of the measurement."""
    return rogue.bytes + rogue.requests * ROW * 8 + 2 * LONGEST


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("rogue", ROGUES, ids=lambda rogue: rogue.value)
def test_a_neighbour_costs_no_more_than_its_regulator_lets_through(rogue: Behaviour, direction: str) -> None:
    found = contest(DIRECTIONS[direction], rogue, regulated=True)
    assert found.rogue.bytes <= BURST + RATE * found.rogue.cycles
    assert lost(direction, found) <= cost(found.rogue)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("rogue", ["flood", "flood-write"])
def test_a_neighbour_whose_clock_stops_costs_what_was_under_way(rogue: str, direction: str) -> None:
    found = contest(DIRECTIONS[direction], Behaviour(rogue), regulated=True, loses_clock=True)
    # What the regulator let through while it ran, and what the firewall finished for it.
    assert found.rogue.bytes <= BURST + RATE * 1100 + LONGEST
    assert lost(direction, found) <= cost(found.rogue)


@pytest.mark.parametrize(
    ("direction", "rogue"), [("reads", Behaviour.FLOOD), ("writes", Behaviour.FLOOD_WRITE)], ids=["reads", "writes"]
)
def test_without_a_regulator_requests_of_a_direction_take_turns(rogue: Behaviour, direction: str) -> None:
    found = contest(DIRECTIONS[direction], rogue, regulated=False, settled=True)
    assert lost(direction, found) <= cost(found.rogue)
    # One burst of the rogue for each of its own: with bursts alike, half of the port.
    assert abs(found.victim.requests - found.rogue.requests) <= 1
    assert found.victim.bytes >= 0.5 * 8 * found.victim.cycles / (1 + ROW / 256) - LONGEST


@pytest.mark.parametrize("rogue", [Behaviour.STALL_WRITE, Behaviour.STALL_RESPONSE, Behaviour.DRIBBLE_WRITE])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_without_a_regulator_a_neighbour_that_stalls_costs_one_burst(rogue: Behaviour, direction: str) -> None:
    found = contest(DIRECTIONS[direction], rogue, regulated=False)
    assert found.rogue.requests == 1
    assert lost(direction, found) <= cost(found.rogue)
