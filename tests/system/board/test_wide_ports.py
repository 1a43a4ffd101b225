# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Slots whose ports to memory have 128 bits: twice the bytes a cycle, counted and shared in bytes; ports of 64 too."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from eddy.board.overlay import memory_bytes_per_cycle
from eddy.board.port.profile import load_profile
from eddy_drivers.regs import slot_ctrl
from eddy_sim.boards.board import SimBoard, StopReason
from eddy_sim.design import build
from system.board.board_rig import bank, load, module, open_slot, page, run_for
from system.board.traffic import READ, WRITE, Traffic, bursts_ended, default_rate, prepare

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]

WIDE = load_profile("tiny_wide")
PORT = 16
"""Bytes of a beat."""
WHOLE = Traffic(size=4, stride=4096)
"""Bursts of a page each: the longest there are."""
WIDTH, HEIGHT = 64, 8


def counted(board: SimBoard, slot: int) -> tuple[int, int, int]:
    """Shell time, and bytes read and written until then, by the slot's monitor."""
    board.write32(bank(slot, slot_ctrl.MONITOR_SNAPSHOT.offset), slot_ctrl.MONITOR_SNAPSHOT.encode(memory_context=16))
    cycles, read, written = (board.read32(bank(slot, slot_ctrl.COUNTER_LO.at(word))) for word in range(3))
    return cycles, read, written


@pytest.mark.parametrize("direction", [READ, WRITE])
def test_one_slot_alone_has_all_of_a_wide_port(direction: int) -> None:
    """One direction, as the board sets regulators: the whole width, but for the way there and back."""
    asked = Traffic(size=4, directions=direction, count=20, stride=4096)
    with SimBoard(WIDE) as board:
        prepare(board, 0, default_rate(WIDE))
        before = board.shell_cycles
        asked.started(board, 0)
        while not board.read32(module(0, 0)) & 2:
            run_for(board, 20)
        took = board.shell_cycles - before
        assert counted(board, 0)[1:] == ((20 * 4096, 0) if direction == READ else (0, 20 * 4096))
        assert board.read32(bank(0, slot_ctrl.CAUSE.offset)) == 0
    rate, limit = 20 * 4096 / took, memory_bytes_per_cycle(WIDE) / 2
    print(f"{'read' if direction == READ else 'written'}: {rate:.2f} of {limit:.0f} bytes a cycle")
    assert rate >= 0.9 * limit


def test_two_tenants_have_equal_shares_in_bytes() -> None:
    """One asks for whole pages, the other for 16 beats at a time: what each moves is what its rate promises."""
    rate, shapes = 6.0, (WHOLE, Traffic(beats=16, size=4, stride=256))
    with SimBoard(WIDE) as board:
        for slot, shape in enumerate(shapes):
            prepare(board, slot, rate)
            shape.started(board, slot)
        run_for(board, 8000)
        began = [counted(board, slot) for slot in (0, 1)]
        run_for(board, 80_000)
        found = [counted(board, slot) for slot in (0, 1)]
        ended = [bursts_ended(board, slot) * shape.beats * PORT for slot, shape in enumerate(shapes)]
    for before, after, answered in zip(began, found, ended, strict=True):
        share = (sum(after[1:]) - sum(before[1:])) / (after[0] - before[0])
        print(f"{share:.3f} of {rate} bytes a cycle")
        assert 0.98 * rate <= share <= 1.02 * rate
        # What is not answered yet, is under way: eight pages each way at most.
        assert abs(sum(after[1:]) - answered) <= 16 * 4096


def run_level_shift(profile_name: str) -> npt.NDArray[np.uint8]:
    """What a module whose own port has 64 bits makes of random pixels."""
    profile = load_profile(profile_name)
    with SimBoard(profile) as board:
        path, _ = build.build_module("level_shift", memory_bits=profile.memory_bits)
        assert load(board, 0, path) == StopReason.CONFIG
        first = page(board, 0)
        open_slot(board, 0, first, first + 0x1FFF, timeout=4096)
        at = first - board.dram_base
        # Neither begins with a whole beat of 16 bytes.
        pixels = np.random.default_rng(3).integers(0, 256, WIDTH * HEIGHT, dtype="u1")
        board.dram[at + 8 : at + 8 + pixels.size] = pixels
        registers = ((0x10, first + 8), (0x14, 0), (0x1C, first + 0x1008), (0x20, 0), (0x28, WIDTH), (0x30, HEIGHT))
        for offset, value in (*registers, (0, 1)):
            board.write32(module(0, offset), value)
        while not board.read32(module(0, 0)) & 2:
            run_for(board, 50)
        assert board.read32(bank(0, slot_ctrl.CAUSE.offset)) == 0
        return np.array(board.dram[at : at + 0x2000])


def test_a_module_of_64_bits_runs_in_a_wide_slot() -> None:
    narrow, wide = run_level_shift("tiny"), run_level_shift("tiny_wide")
    assert narrow[0x1008 : 0x1008 + 2 * WIDTH * HEIGHT].any()
    assert (narrow == wide).all()
