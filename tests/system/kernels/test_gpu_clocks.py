# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A GPU cluster behind the asynchronous FIFOs at many ratios of its clock to the shell's: nothing depends on the ratio.

One kernel of four warps loads, computes, parts and stores. At every ratio it leaves the same words in memory, and each
core has executed the same instructions on the same numbers of lanes; only cycles differ.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from eddy_sim.boards.board import SimBoard, StopReason
from eddy_sim.design import build
from eddy_sim.gpu.assemble import program
from system.board.board_rig import CAUSE, bank, load, module, open_slot, page, run_for, tiny

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_board")]

SLOT = 1
STATUS, LAUNCH, SNAPSHOT, START, BASE2, FAULT, COUNTER = 0x08, 0x20, 0x34, 0x100, 0x118, 0x120, 0x400
INSTRUCTIONS, ACTIVE, THREADS = 1, 15, 4
CODE, DATA, TRAIL, OUT = 0x80000000, 0x80001000, 0x80002000, 0x80003000
WINDOW_BYTES = 0x4000
LANES, TURNS, LINE = 16, 6, 64
SHELL_HZ = 100_000_000
RATIOS = {
    "1:1": SHELL_HZ,
    "3:2": 150_000_000,
    "2:3": 66_666_667,
    "7:5": 140_000_000,
    "1:4": 25_000_000,
    "4:1": 400_000_000,
    "unrelated, slower": 83_194_303,
    "unrelated, a little faster": 100_000_007,
}
"""Slot clocks by their ratio to the shell's."""
KERNEL = f"""
.section .text.init
.globl _start
_start:
  li t0, 4
  la t1, work
  .insn r 0x0b, 1, 0, x0, t0, t1
work:
  li t0, 15
  .insn r 0x0b, 0, 0, x0, t0, x0
  csrr a0, 0xcc0
  csrr a1, 0xcc1
  slli a1, a1, 2
  add a0, a0, a1
  slli a1, a0, 2
  li a2, {DATA:#x}
  li a3, {TRAIL:#x}
  add a2, a2, a1
  add a3, a3, a1
  mv s0, a0
  li s1, {TURNS}
1: lw t2, 0(a2)
  mul s0, s0, t2
  addi s0, s0, 3
  sw s0, 0(a3)
  addi a2, a2, {LINE}
  addi a3, a3, {LINE}
  addi s1, s1, -1
  bnez s1, 1b
  andi t3, a0, 3
2: addi s0, s0, 5
  addi t3, t3, -1
  bgez t3, 2b
  li a4, {OUT:#x}
  add a4, a4, a1
  sw s0, 0(a4)
  .insn r 0x0b, 0, 0, x0, x0, x0
"""


@lru_cache(maxsize=1)
def code() -> bytes:
    return program(KERNEL).segments[0].data


def data() -> np.ndarray[tuple[int, ...], np.dtype[np.uint32]]:
    return np.random.default_rng(7).integers(0, 2**32, (TURNS, LANES), dtype=np.uint32)


def expected() -> tuple[list[list[int]], list[int]]:
    """What the lanes store in every turn, and at the end."""
    values = np.arange(LANES, dtype=np.uint32)
    trail = []
    for row in data():
        values = values * row + np.uint32(3)
        trail.append(values.tolist())
    return trail, (values + np.uint32(5) * (np.arange(LANES, dtype=np.uint32) % 4 + 1)).tolist()


def run(slot_hz: int) -> tuple[list[int], int]:
    """Instructions executed by warps, and in how many cycles 1, 2, 3, 4 lanes executed; and the cycles it took."""
    profile = tiny()
    slots = tuple(replace(slot, clk_hz=float(slot_hz)) if k == SLOT else slot for k, slot in enumerate(profile.slots))
    with SimBoard(replace(profile, slots=slots)) as board:
        path, _ = build.build_module("gpu_1c4w4t")
        assert load(board, SLOT, path) == StopReason.CONFIG
        base = page(board, SLOT)
        open_slot(board, SLOT, base, base + WINDOW_BYTES - 1, timeout=20_000)
        memory = board.device_dram[base - board.dram_base :]
        memory[: len(code())] = list(code())
        for turn, row in enumerate(data()):
            at = DATA - CODE + turn * LINE
            memory[at : at + LINE] = row.view(np.uint8)
        for offset, value in ((BASE2, base >> 12), (START, CODE), (LAUNCH, 1)):
            board.write32(module(SLOT, offset), value)
        run_for(board, 2000 + 4000 * SHELL_HZ // slot_hz)
        assert board.read32(module(SLOT, STATUS)) == 0, "it has ended"
        assert board.read32(module(SLOT, FAULT)) == 0
        assert board.read32(bank(SLOT, CAUSE)) == 0
        trail, out = expected()
        words = memory[OUT - CODE :][:LINE].view(np.uint32).tolist()
        assert words == out
        assert [memory[TRAIL - CODE + t * LINE :][:LINE].view(np.uint32).tolist() for t in range(TURNS)] == trail
        board.write32(module(SLOT, SNAPSHOT), 0)
        counters = [board.read32(module(SLOT, COUNTER + 8 * k)) for k in range(ACTIVE + THREADS + 1)]
        return [counters[INSTRUCTIONS], *counters[ACTIVE:]], counters[0]


def test_nothing_depends_on_the_ratio_of_the_clocks() -> None:
    assert len(set(RATIOS.values())) == len(RATIOS)
    found = {name: run(hz) for name, hz in RATIOS.items()}
    counts, cycles = found["1:1"]
    assert counts[0] == counts[1] == sum(counts[2:])
    assert all(counts[2:]), "1, 2, 3 and 4 lanes have executed together"
    assert {name: found[name][0] for name in found} == dict.fromkeys(found, counts)
    assert found["1:4"][1] < cycles < found["4:1"][1], "memory is nearer for a slower cluster"
