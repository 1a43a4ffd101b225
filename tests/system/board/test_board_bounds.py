# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""In how many shell-clock cycles each misbehaviour ends as a cause.

The bounds are those of docs/reference/blocks/shell.md, "When a misbehaviour is known". Cycle counts are deterministic.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from eddy_drivers.regs import shell, slot_ctrl, window
from eddy_drivers.regs.slot_ctrl import Cause
from eddy_sim.boards.board import SimBoard, StopReason
from eddy_sim.boards.faults import Behaviour
from system.board.board_rig import CAUSE, bank, load_rogue, module, page, run_for, start, tiny

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]

CONTROL, MEMORY, CLOCK = 300, 700, 64
"""CONTROL_TIMEOUT, MEMORY_TIMEOUT, CLOCK_TIMEOUT."""
PERIOD = (1.0, 4 / 3)
"""Of the slots' clocks, in shell-clock cycles."""
TELL = 4
"""From the firewall's verdict to the interrupt: CAUSE, the controller's ISR, its output, and the board's pin."""
ANSWER = 40
"""Most cycles an idle memory takes to answer a burst of 64 beats: its rows, its latency, 16 bytes a cycle."""
LONGEST_ANSWER = 136
"""The same for a write of 256 beats, once it has the last."""
LOOKED_UP = 1 + 17 + 1
"""Most cycles until no window is known to hold a burst where one direction asks: the table, and the likeliest first."""
INTC = window.INTC.offset
IER, MER = INTC + 0x08, INTC + 0x1C


@pytest.fixture
def board() -> Iterator[SimBoard]:
    with SimBoard(tiny()) as board:
        board.write32(MER, 3)
        yield board


def prepare(board: SimBoard, slot: int, behaviour: Behaviour) -> None:
    load_rogue(board, slot, behaviour)
    for register, cycles in (
        (slot_ctrl.CONTROL_TIMEOUT, CONTROL),
        (slot_ctrl.MEMORY_TIMEOUT, MEMORY),
        (slot_ctrl.CLOCK_TIMEOUT, CLOCK),
    ):
        board.write32(bank(slot, register.offset), cycles)
    board.write32(IER, 1 << 16 + slot)


def until_fault(board: SimBoard, limit: int) -> int:
    """Cycles until the slot's fault interrupts."""
    begin = board.shell_cycles
    assert board.step_until_fs(board.now_fs + limit * 10**7, StopReason.IRQ) == StopReason.IRQ, "no fault"
    return board.shell_cycles - begin


def causes(board: SimBoard, slot: int) -> set[Cause]:
    word = board.read32(bank(slot, CAUSE))
    return {cause for cause in Cause if cause and word >> cause & 1}


def began(board: SimBoard, slot: int, address: int) -> int:
    """Start the module; answer the cycle in which the CPU began to say so."""
    for offset, value in ((0x10, address & 0xFFFF_FFFF), (0x14, address >> 32)):
        board.write32(module(slot, offset), value)
    begin = board.shell_cycles
    board.write32(module(slot, 0), 1)
    return begin


def starting(slot: int) -> float:
    """Most cycles from the CPU's write to the module's first request at its pins: to the bridge and the firewall 8,
    over the crossing and the decoupler 5 periods, in the module 3."""
    return 8 + 8 * PERIOD[slot]


def crossing(slot: int) -> float:
    """Most cycles from a request at the pins to the firewall's verdict: decoupler 2 periods, crossing 4 + 1 period,
    firewall 2."""
    return 6 + 3 * PERIOD[slot]


@pytest.mark.parametrize("slot", [0, 1])
@pytest.mark.parametrize(
    ("behaviour", "cause", "bound"),
    [
        (Behaviour.READ_OUTSIDE, Cause.READ_OUTSIDE_WINDOW, LOOKED_UP),
        (Behaviour.WRITE_OUTSIDE, Cause.WRITE_OUTSIDE_WINDOW, LOOKED_UP),
        (Behaviour.ILLEGAL_BURST, Cause.ILLEGAL_BURST, 0),
        (Behaviour.STALL_WRITE, Cause.WRITE_STALLED, MEMORY),
        # Until the first beat it does not take has come, what lies between the firewall and the slot fills with beats.
        (Behaviour.STALL_RESPONSE, Cause.RESPONSE_STALLED, MEMORY + ANSWER + 16),
        # Of 18 cycles, 17 are a hold-up, and they are counted over the whole burst.
        (Behaviour.DRIBBLE_WRITE, Cause.WRITE_STALLED, MEMORY * 18 / 17),
    ],
    ids=lambda value: value.value if isinstance(value, Behaviour) else "",
)
def test_a_bad_burst_is_known_within_its_bound(
    board: SimBoard, slot: int, behaviour: Behaviour, cause: Cause, bound: float
) -> None:
    prepare(board, slot, behaviour)
    outside = behaviour in (Behaviour.READ_OUTSIDE, Behaviour.WRITE_OUTSIDE)
    begin = began(board, slot, page(board, slot) + (0x1000 if outside else 0))
    until_fault(board, 5000)
    took = board.shell_cycles - begin
    assert took <= starting(slot) + crossing(slot) + bound + TELL
    assert took >= bound * 0.9
    assert causes(board, slot) == {cause}
    # What was under way is then finished: beats made up into the buffer, from there to memory, and its answer.
    begin = board.shell_cycles
    while not idle(board, slot):
        assert board.shell_cycles - begin <= 2 * 256 + LONGEST_ANSWER + 8


def idle(board: SimBoard, slot: int) -> bool:
    """Whether nothing of the slot is outstanding."""
    status = slot_ctrl.STATUS.decode(board.read32(bank(slot, slot_ctrl.STATUS.offset)))
    return bool(status["memory_idle"] and status["control_idle"])


def timed_read(board: SimBoard, offset: int) -> tuple[int, int]:
    """A register, and the cycles it took."""
    begin = board.shell_cycles
    return board.read32(offset), board.shell_cycles - begin


@pytest.mark.parametrize("slot", [0, 1])
def test_a_module_that_answers_nothing_costs_one_bound_in_each_direction(board: SimBoard, slot: int) -> None:
    prepare(board, slot, Behaviour.SILENT)
    start(board, slot, page(board, slot))
    # Those after the first find it still with the module and are failed at once.
    for bound in (CONTROL + 8, 8, 8):
        value, took = timed_read(board, module(slot, 0x10))
        assert (value, took <= bound) == (0xDEAD0010, True), f"{took} cycles"
    begin = board.shell_cycles
    board.write32(module(slot, 0x10), 1)
    assert board.shell_cycles - begin <= CONTROL + 8
    assert causes(board, slot) == {Cause.CONTROL_TIMEOUT}


def test_a_dead_address_is_answered_at_once_and_remembered(board: SimBoard) -> None:
    for offset, most in ((0x03_1000, 3), (0xFF_0000, 3), (0x12_0004, 3), (0x00_0100, 5), (0x04_0FF0, 5)):
        board.write32(shell.BAD_ACCESS.offset, 1)
        value, took = timed_read(board, offset)
        assert (value, took <= most) == (0xDEAD0001, True), f"{offset:#x}: {value:#x} in {took} cycles"
        assert board.read32(shell.BAD_ACCESS.offset) & 1
        assert board.read32(shell.BAD_ADDRESS.offset) == offset


@pytest.mark.parametrize("slot", [0, 1])
def test_a_closed_slot_answers_at_once(board: SimBoard, slot: int) -> None:
    prepare(board, slot, Behaviour.SOUND)
    board.write32(bank(slot, slot_ctrl.CONTROL.offset), 0)
    run_for(board, 40)
    value, took = timed_read(board, module(slot, 0x24))
    assert value == 0xDEAD0024
    assert took <= 8
    assert causes(board, slot) == {Cause.CONTROL_REFUSED}


@pytest.mark.parametrize("slot", [0, 1])
@pytest.mark.parametrize("behaviour", [Behaviour.FLOOD, Behaviour.FLOOD_WRITE])
def test_a_clock_that_stops_under_way_is_known_within_two_checks(
    board: SimBoard, slot: int, behaviour: Behaviour
) -> None:
    prepare(board, slot, behaviour)
    took = []
    for attempt in range(16):
        start(board, slot, page(board, slot))
        # Every attempt stops it in another part of a check, and of a burst.
        run_for(board, 300 + 13 * attempt)
        board.faults.lose_clock(slot)
        took.append(until_fault(board, 5000))
        assert causes(board, slot) == {Cause.CLOCK_LOST}
        board.faults.lose_clock(slot, False)
        board.write32(bank(slot, slot_ctrl.CONTROL.offset), 0)
        run_for(board, 600)
        board.write32(bank(slot, slot_ctrl.FAULT_CLEAR.offset), 1)
        board.write32(bank(slot, slot_ctrl.CONTROL.offset), 0b1111)
        run_for(board, 100)
    assert max(took) <= 2 * (CLOCK + 1) + 1 + TELL
    # The bound is met nearly: some attempts stop it right after the answer of a check.
    assert max(took) > 1.5 * CLOCK


@pytest.mark.parametrize("slot", [0, 1])
def test_a_clock_lost_while_nothing_was_under_way_shows_at_the_first_access(board: SimBoard, slot: int) -> None:
    prepare(board, slot, Behaviour.SOUND)
    board.faults.lose_clock(slot)
    run_for(board, 1000)
    assert causes(board, slot) == set()
    value, took = timed_read(board, module(slot, 0))
    assert value == 0xDEAD0000
    assert took <= CONTROL + 8
    assert Cause.CLOCK_LOST in causes(board, slot)
    assert board.read32(bank(slot, slot_ctrl.FIRST_FAULT.offset)) & 0xF == Cause.CLOCK_LOST
