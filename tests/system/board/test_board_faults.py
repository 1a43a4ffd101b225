# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every way a module can misbehave ends with its cause, within a bound, and the neighbour goes on."""

from __future__ import annotations

import pytest
from eddy_sim.boards.board import SimBoard, StopReason
from eddy_sim.boards.faults import Behaviour, BoundaryFault
from system.board.board_rig import CAUSE, MS, bank, load_rogue, module, page, run_for, start, tiny

pytestmark = pytest.mark.rtl

OUTSIDE = 0x1000
CAUSES = {
    Behaviour.SOUND: 0,
    Behaviour.SILENT: 1,
    Behaviour.READ_OUTSIDE: 3,
    Behaviour.WRITE_OUTSIDE: 4,
    Behaviour.ILLEGAL_BURST: 5,
    Behaviour.STALL_WRITE: 6,
    Behaviour.STALL_RESPONSE: 7,
    Behaviour.DRIBBLE_WRITE: 6,
    Behaviour.LATE_OUTSIDE: 4,
}


def neighbour_works(board: SimBoard) -> bool:
    """Slot 1 writes its word and says so."""
    start(board, 1, page(board, 1))
    run_for(board, 1000)
    at = page(board, 1) - board.dram_base
    wrote = board.device_dram[at : at + 8].tobytes() == bytes.fromhex("efcdab8967452301")
    board.device_dram[at : at + 8] = 0
    return wrote and bool(board.read32(module(1, 0)) & 2)


@pytest.mark.parametrize("behaviour", list(Behaviour), ids=lambda behaviour: behaviour.value)
def test_misbehaviour_ends_with_its_cause(behaviour: Behaviour) -> None:
    with SimBoard(tiny()) as board:
        load_rogue(board, 0, behaviour)
        load_rogue(board, 1, Behaviour.SOUND)
        outside = behaviour in (Behaviour.READ_OUTSIDE, Behaviour.WRITE_OUTSIDE, Behaviour.LATE_OUTSIDE)
        start(board, 0, page(board, 0) + (OUTSIDE if outside and behaviour is not Behaviour.LATE_OUTSIDE else 0))
        run_for(board, 2000)
        board.read32(module(0, 0))
        cause = CAUSES.get(behaviour, 0)
        assert board.read32(bank(0, CAUSE)) == (1 << cause if cause else 0)
        assert neighbour_works(board)
        assert board.read32(bank(1, CAUSE)) == 0
        if outside:
            at = page(board, 0) + OUTSIDE - board.dram_base
            assert not board.device_dram[at : at + 4096].any()


def test_a_flood_keeps_the_memory_busy() -> None:
    with SimBoard(tiny()) as board:
        load_rogue(board, 0, Behaviour.FLOOD)
        start(board, 0, page(board, 0))
        run_for(board, 4000)
        assert board.served.statistics().read_bytes > 0.8 * 4000 * 8


def test_a_silent_module_is_answered_for_within_the_bound() -> None:
    with SimBoard(tiny()) as board:
        load_rogue(board, 0, Behaviour.SILENT)
        start(board, 0, page(board, 0))
        begin = board.shell_cycles
        assert board.read32(module(0, 0)) >> 16 == 0xDEAD
        assert 500 <= board.shell_cycles - begin <= 600


def test_a_lost_clock_ends_as_a_cause_and_harms_nobody() -> None:
    with SimBoard(tiny()) as board:
        load_rogue(board, 0, Behaviour.SOUND)
        load_rogue(board, 1, Behaviour.SOUND)
        board.faults.lose_clock(0)
        before = board.slot_cycles(0)
        assert board.read32(module(0, 0xF000)) >> 16 == 0xDEAD
        run_for(board, 3000)
        assert board.slot_cycles(0) == before
        assert board.read32(bank(0, CAUSE)) & (1 << 1 | 1 << 8)
        assert neighbour_works(board)


def test_a_module_can_fall_silent_while_it_runs() -> None:
    with SimBoard(tiny()) as board:
        load_rogue(board, 0, Behaviour.SOUND)
        assert board.read32(module(0, 0xF000)) == 0x45444459
        board.faults.at_boundary(0, BoundaryFault.MUTE)
        assert board.read32(module(0, 0xF000)) >> 16 == 0xDEAD


def test_an_interrupt_ends_the_waiting_when_it_rises_and_only_then() -> None:
    with SimBoard(tiny()) as board:
        board.write32(0x01_0008, 1)
        board.write32(0x01_001C, 3)
        load_rogue(board, 0, Behaviour.SOUND)
        assert board.step_until_fs(board.now_fs + MS // 10, StopReason.IRQ) == StopReason.DEADLINE
        start(board, 0, page(board, 0), interrupt=True)
        begin = board.now_fs
        assert board.step_until_fs(begin + MS, StopReason.IRQ) == StopReason.IRQ
        assert board.irq
        assert board.now_fs - begin < MS // 100
