# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Clocks: the wizards, unrelated rates, and a slot that stands still."""

from __future__ import annotations

import pytest
from eddy_drivers.regs import window
from eddy_sim.boards.board import SimBoard
from eddy_sim.boards.faults import Behaviour
from system.board.board_rig import MS, load_rogue, module, page, run_for, start, tiny

pytestmark = pytest.mark.rtl

WIZARD, STATUS, FEEDBACK, DIVIDE, LOAD = window.WIZARD.offset, 0x004, 0x200, 0x208, 0x25C


def wizard(slot: int, offset: int) -> int:
    return WIZARD + slot * 0x1000 + offset


def set_divide(board: SimBoard, slot: int, whole: int, thousandths: int = 0) -> None:
    board.write32(wizard(slot, DIVIDE), whole | thousandths << 8)
    board.write32(wizard(slot, LOAD), 3)


def edges(board: SimBoard, slot: int, duration_fs: int) -> int:
    before = board.slot_cycles(slot)
    board.step_until_fs(board.now_fs + duration_fs)
    return board.slot_cycles(slot) - before


def test_slots_start_at_their_profiles_rates() -> None:
    with SimBoard(tiny()) as board:
        assert edges(board, 0, MS) == pytest.approx(100_000, abs=1)
        assert edges(board, 1, MS) == pytest.approx(75_000, abs=1)


def test_the_wizard_sets_a_rate_and_says_when_it_is_stable() -> None:
    with SimBoard(tiny()) as board:
        assert board.read32(wizard(0, FEEDBACK)) == 0x0A01
        set_divide(board, 0, 12, 500)
        assert board.read32(wizard(0, STATUS)) == 1, "what it says of the clock before"
        board.step_until_fs(board.now_fs + MS // 1000)
        assert board.read32(wizard(0, STATUS)) == 0
        assert edges(board, 0, MS // 1000) == 0, "a clock that is not locked does not run"
        board.step_until_fs(board.now_fs + MS)
        assert board.read32(wizard(0, STATUS)) == 1
        assert edges(board, 0, MS) == pytest.approx(80_000, abs=1)


def test_a_wizard_asked_for_nothing_never_locks_until_reset() -> None:
    with SimBoard(tiny()) as board:
        set_divide(board, 0, 0)
        assert edges(board, 0, MS) == 0
        board.write32(wizard(0, 0), 0xA)
        board.step_until_fs(board.now_fs + MS)
        assert board.read32(wizard(0, STATUS)) == 1
        assert edges(board, 0, MS) == pytest.approx(100_000, abs=1)


def test_slots_at_unrelated_clocks_both_work() -> None:
    with SimBoard(tiny()) as board:
        set_divide(board, 0, 7, 375)
        set_divide(board, 1, 31, 125)
        board.step_until_fs(board.now_fs + MS)
        for slot in (0, 1):
            load_rogue(board, slot, Behaviour.SOUND)
        for slot in (0, 1):
            start(board, slot, page(board, slot))
        run_for(board, 2000)
        for slot in (0, 1):
            at = page(board, slot) - board.dram_base
            assert board.dram[at : at + 8].tobytes() == bytes.fromhex("efcdab8967452301")
            assert board.read32(module(slot, 0)) & 2


def test_time_outlives_64_bits_of_femtoseconds() -> None:
    with SimBoard(tiny()) as board:
        day_fs = 86_400 * 10**15
        board.step_until_fs(day_fs)
        assert board.now_fs == day_fs
        assert board.shell_cycles == day_fs // 10**7
        assert board.read32(0) >> 16 == 0xED01
        low, high = board.read32(0x10), board.read32(0x14)
        assert 0 <= board.shell_cycles - (high << 32 | low) < 100


def test_boards_close_in_any_order() -> None:
    """Each board has models of its own, and a model is taken down in the context it was made in."""
    for newer_first in (True, False):
        first, second = SimBoard(tiny()), SimBoard(tiny())
        for board in (second, first) if newer_first else (first, second):
            load_rogue(board, 0, Behaviour.SOUND)
            assert board.read32(0) == board.read32(0) != 0
            board.close()
