# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""On a board whose caches the fabric does not see, a forgotten flush or invalidate gives wrong data."""

from __future__ import annotations

import numpy as np
import pytest
from eddy_sim.boards.board import SimBoard
from eddy_sim.boards.faults import Behaviour
from eddy_sim.design import build
from system.board.board_rig import load, load_rogue, module, open_slot, page, run_for, start, tiny

pytestmark = pytest.mark.rtl


def transform(flush: bool, invalidate: bool, coherent: bool) -> list[int]:
    """One block of ones through the DCT; the first coefficients as the CPU sees them."""
    with SimBoard(tiny(), coherent=coherent) as board:
        path, _ = build.build_module("dct")
        load(board, 0, path)
        source, target = page(board, 0), page(board, 0) + 0x1000
        open_slot(board, 0, source, target + 0xFFF, timeout=4096)
        at = source - board.dram_base
        board.dram[at : at + 128].view(np.int16)[:] = 100
        if flush:
            board.flush(source, 128)
        for offset, value in ((0x10, source), (0x1C, target), (0x28, 1), (0, 1)):
            board.write32(module(0, offset), value)
        run_for(board, 3000)
        assert board.read32(module(0, 0)) & 2
        if invalidate:
            board.invalidate(target, 128)
        out = board.dram[target - board.dram_base :][:128].view(np.int16)
        return [int(value) for value in out[:4]]


def test_a_forgotten_call_gives_wrong_data() -> None:
    right = transform(flush=True, invalidate=True, coherent=True)
    assert right[0] > 0
    assert right[1:] == [0, 0, 0]
    assert transform(flush=True, invalidate=True, coherent=False) == right
    assert transform(flush=False, invalidate=True, coherent=False) != right
    assert transform(flush=True, invalidate=False, coherent=False) != right
    assert transform(flush=False, invalidate=False, coherent=True) == right


@pytest.mark.parametrize("stored", [True, False])
def test_a_store_of_the_old_value_is_a_store(stored: bool) -> None:
    with SimBoard(tiny(), coherent=False) as board:
        load_rogue(board, 0, Behaviour.SOUND)
        at = page(board, 0) - board.dram_base
        board.flush(page(board, 0), 64)
        start(board, 0, page(board, 0))
        run_for(board, 1000)
        assert board.device_dram[at : at + 8].any(), "the module wrote nothing"
        if stored:
            board.dram[at : at + 8] = 0
        board.flush(page(board, 0), 64)
        assert board.device_dram[at : at + 8].any() != stored


def test_what_a_module_wrote_is_garbage_until_it_is_invalidated() -> None:
    with SimBoard(tiny(), coherent=False) as board:
        load_rogue(board, 0, Behaviour.SOUND)
        at = page(board, 0) - board.dram_base
        board.dram[at + 8 : at + 16] = 7
        board.flush(page(board, 0), 64)
        start(board, 0, page(board, 0))
        run_for(board, 1000)
        assert board.dram[at : at + 8].any()
        assert (board.dram[at : at + 8] != board.device_dram[at : at + 8]).any()
        assert (board.dram[at + 8 : at + 16] == 7).all(), "bytes of the line that no module wrote are still right"
        board.invalidate(page(board, 0), 64)
        assert (board.dram[at : at + 16] == board.device_dram[at : at + 16]).all()
