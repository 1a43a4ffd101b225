# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The shared cache on the simulated board: what is read again comes from it, and the CPU must flush what it changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from eddy.board.port.profile import Profile
from eddy_sim.boards.board import SimBoard
from eddy_sim.design import build
from eddy_sim.tools.filelist import read_filelist
from system.board.board_rig import load, module, open_slot, run_for, tiny

pytestmark = pytest.mark.rtl

FORCE, FIRST, LAST, FLUSH, COUNT, HITS, MISSES, FLUSHES = 0x2C, 0x30, 0x34, 0x38, 0x3C, 0x40, 0x48, 0x50
CACHE_BYTES = 4096
PORTS = build.ROOT / "hw/ip/slot_ports/slot_ports.f"
NORMAL, DEVICE = 0b0011, 0b0000
WORDS = 32
STRIDE = 16 * 8192 + 64
"""From word to word: another row of the same bank of the DRAM, and another set of the cache."""


def profile(cache_bytes: int = CACHE_BYTES) -> Profile:
    return replace(tiny(), cache_bytes=cache_bytes)


def prepare(board: SimBoard, slots: tuple[int, ...] = (0,)) -> None:
    """The probe in some slots, open to the whole arena; words there that are all different."""
    path, _ = build.build_rtl_module(
        "memory_probe", [*read_filelist(PORTS), Path(__file__).with_name("memory_probe.sv")]
    )
    arena = board.profile.arena
    for slot in slots:
        load(board, slot, path)
        open_slot(board, slot, arena.base, arena.base + arena.bytes - 1, timeout=4096)
    for word in range(WORDS):
        store(board, word, 1000 + word)


def store(board: SimBoard, word: int, value: int) -> None:
    """The CPU writes a word of those that are read."""
    at = board.profile.arena.base - board.dram_base + word * STRIDE
    board.dram[at : at + 4].view(np.uint32)[0] = value


def begin(board: SimBoard, slot: int, cache: int = NORMAL) -> None:
    arguments = ((0x10, board.profile.arena.base), (0x14, STRIDE), (0x18, WORDS), (0x20, cache), (0, 1))
    for offset, value in arguments:
        board.write32(module(slot, offset), value)


def finish(board: SimBoard, slot: int) -> tuple[int, int]:
    """The sum, and shell-clock cycles from now until it is there."""
    before = board.shell_cycles
    while not board.read32(module(slot, 0)) & 2:
        run_for(board, 5)
        assert board.shell_cycles - before < 100_000
    cycles = board.shell_cycles - before
    return board.read32(module(slot, 0x1C)), cycles


def read_all(board: SimBoard, slot: int = 0, cache: int = NORMAL) -> tuple[int, int, int]:
    """One item: the sum, how long it took, and the bytes that memory served for it."""
    served = board.served.statistics().read_bytes
    begin(board, slot, cache)
    total, cycles = finish(board, slot)
    return total, cycles, board.served.statistics().read_bytes - served


def flush(board: SimBoard, first: int, last: int) -> int:
    """Flush pages; cycles until it is over."""
    before = board.shell_cycles
    board.write32(FIRST, first)
    board.write32(LAST, last)
    board.write32(FLUSH, 1)
    while board.read32(FLUSH):
        pass
    return board.shell_cycles - before


def pages(board: SimBoard) -> tuple[int, int]:
    arena = board.profile.arena
    return arena.base >> 12, arena.base + arena.bytes - 1 >> 12


def counts(board: SimBoard, slot: int) -> tuple[int, int]:
    board.write32(COUNT, slot)
    return board.read32(HITS), board.read32(MISSES)


EXPECTED = sum(range(1000, 1000 + WORDS))


def test_what_is_read_again_comes_from_the_cache_and_sooner() -> None:
    with SimBoard(profile()) as board:
        prepare(board)
        total, cold, served = read_all(board)
        assert (total, served) == (EXPECTED, 64 * WORDS), "whole lines"
        total, warm, served = read_all(board)
        assert (total, served) == (EXPECTED, 0)
        assert counts(board, 0) == (WORDS, WORDS)
        assert counts(board, 1) == (0, 0)
    with SimBoard(profile(0)) as board:
        prepare(board)
        read_all(board)
        total, plain, served = read_all(board)
        assert (total, served) == (EXPECTED, 8 * WORDS)
        assert (board.read32(0x28), counts(board, 0)) == (0, (0, 0))
    assert warm < plain < cold


def test_a_forgotten_flush_gives_the_old_data() -> None:
    with SimBoard(profile()) as board:
        prepare(board)
        assert read_all(board)[0] == EXPECTED
        store(board, 3, 500_000)
        stale, _, served = read_all(board)
        assert (stale, served) == (EXPECTED, 0), "memory has changed, and the cache does not know"
        first, last = pages(board)
        flush(board, last, last)
        assert read_all(board)[0] == EXPECTED, "another page was flushed"
        cycles = flush(board, first, last)
        total, _, served = read_all(board)
        assert (total, served) == (EXPECTED - 1003 + 500_000, 64 * WORDS)
        assert board.read32(FLUSHES) == 2
        # Sets, and the accesses of the registers themselves.
        assert CACHE_BYTES // 64 // 4 <= cycles < CACHE_BYTES // 64 // 4 + 60


def test_what_must_not_be_changed_is_always_read_from_memory() -> None:
    with SimBoard(profile()) as board:
        prepare(board)
        assert read_all(board)[0] == EXPECTED
        store(board, 3, 500_000)
        total, _, served = read_all(board, cache=DEVICE)
        assert (total, served) == (EXPECTED - 1003 + 500_000, 8 * WORDS)
        board.write32(FORCE, 0xFFFE)
        assert read_all(board)[0] == EXPECTED - 1003 + 500_000, "normal reads, no longer kept unasked"


def two_slots(skipping: bool, resting: bool) -> tuple[list[int], int]:
    """Two slots at unrelated clocks read the same words, with writes of the CPU, flushes and gaps in between."""
    with SimBoard(profile(), skipping=skipping, resting=resting) as board:
        prepare(board, (0, 1))
        trace = []
        for turn in range(4):
            begin(board, 0)
            run_for(board, 40 * turn)
            begin(board, 1)
            if turn == 2:
                flush(board, *pages(board))
            trace += [*finish(board, 1), *finish(board, 0), *counts(board, 0), *counts(board, 1), board.shell_cycles]
            store(board, turn, turn)
            run_for(board, 3000)
            if turn == 1:
                flush(board, *pages(board))
        statistics = board.served.statistics()
        trace += [statistics.read_bytes, statistics.row_hits, statistics.row_misses, int(board.dram.sum())]
        return trace, board.statistics().shell_evaluated


def test_skipping_and_resting_change_nothing_with_a_cache() -> None:
    trace, evaluated = two_slots(skipping=True, resting=True)
    plain, all_of_it = two_slots(skipping=False, resting=False)
    assert trace == plain
    assert evaluated < all_of_it / 2
    assert two_slots(skipping=False, resting=True)[0] == plain
    assert two_slots(skipping=True, resting=True) == (trace, evaluated), "the same calls, the same cycles"


def test_an_idle_board_with_a_cache_jumps() -> None:
    with SimBoard(profile()) as board:
        prepare(board)
        read_all(board)
        run_for(board, 10_000)
        before = board.statistics().shell_evaluated
        run_for(board, 100_000_000)
        assert board.statistics().shell_evaluated - before < 100
