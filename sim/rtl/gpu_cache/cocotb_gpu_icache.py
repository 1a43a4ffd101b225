# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Instruction cache under random fetches, flushes and refusals, against a memory whose words change all the time.

A word that is fetched must be one that memory held since the last flush; after a flush, one it holds from then on.
"""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

LINE = 64
WORDS = 24 * LINE // 4
BAD_LINE = 23
CYCLES = 5000


class Memory:
    """Words, and what each has been since the last flush."""

    def __init__(self, rng: random.Random) -> None:
        self.random = rng
        self.words = [rng.getrandbits(32) for _ in range(WORDS)]
        self.seen = [{word} for word in self.words]

    def change(self) -> None:
        at = self.random.randrange(WORDS)
        self.words[at] = self.random.getrandbits(32)
        self.seen[at].add(self.words[at])

    def flushed(self) -> None:
        self.seen = [{word} for word in self.words]


async def reset(dut: Any) -> None:
    for name in ("flush", "read", "miss", "rd_ready", "rd_beat", "rd_last", "rd_error"):
        getattr(dut, f"{name}_i").value = 0
    dut.pc_i.value = 0
    Clock(dut.clk_i, 10, "ns").start()
    dut.rst_ni.value = 0
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1


@cocotb.test()
async def random_fetches(dut: Any) -> None:
    await reset(dut)
    rng = random.Random(5)
    memory = Memory(rng)
    fetched: int | None = None
    fill: tuple[int, int] | None = None
    hits = misses = errors = 0
    for cycle in range(CYCLES):
        stall = (0.0, 0.3, 0.6)[cycle * 3 // CYCLES]
        # The word that was addressed in the last cycle, as the core looks at it.
        await ReadOnly()
        hit, word = int(dut.hit_o.value), int(dut.instr_o.value)
        if fetched is not None and hit:
            hits += 1
            assert word in memory.seen[fetched], f"word {fetched} is {word:#x}"
            assert fetched * 4 // LINE != BAD_LINE, "what memory refused is never an instruction"
        missed = fetched is not None and not hit
        await FallingEdge(dut.clk_i)
        # One edge later the address is still the same: nothing was read meanwhile.
        dut.miss_i.value = int(missed)
        fetched = None
        flush = rng.random() < 0.01
        dut.flush_i.value = int(flush)
        dut.rd_ready_i.value = int(rng.random() >= stall)
        refused = drive(dut, memory, fill, rng.random() >= stall)
        await ReadOnly()
        busy = bool(dut.busy_o.value)
        errors += int(dut.error_o.value)
        assert bool(dut.error_o.value) == refused
        if dut.rd_beat_i.value and fill is not None:
            fill = None if fill[1] == 7 else (fill[0], fill[1] + 1)
        if dut.rd_valid_o.value and dut.rd_ready_i.value:
            assert fill is None
            fill, misses = (int(dut.rd_line_o.value), 0), misses + 1
        await FallingEdge(dut.clk_i)
        quiet(dut)
        if flush:
            memory.flushed()
        if rng.random() < 0.3:
            memory.change()
        if not busy or rng.random() < 0.5:
            fetched = near(rng, cycle)
            dut.read_i.value, dut.pc_i.value = 1, 4 * fetched
            await FallingEdge(dut.clk_i)
            dut.read_i.value = 0
    assert hits > 150
    assert misses > 100
    assert errors > 3


def near(rng: random.Random, cycle: int) -> int:
    """A word of a few lines that move on, sometimes any."""
    return rng.randrange(WORDS) if rng.random() < 0.05 else (cycle // 200 * 16 + rng.randrange(32)) % WORDS


def drive(dut: Any, memory: Memory, fill: tuple[int, int] | None, go: bool) -> bool:
    """A beat of the line on its way, if there is one; whether it ends a refused line."""
    dut.rd_beat_i.value = dut.rd_last_i.value = dut.rd_error_i.value = 0
    if fill is None or not go:
        return False
    line, number = fill
    at = (line * LINE + 8 * number) // 4
    dut.rd_beat_i.value, dut.rd_last_i.value = 1, int(number == 7)
    dut.rd_data_i.value = memory.words[at] | memory.words[at + 1] << 32
    # One bad beat is enough.
    dut.rd_error_i.value = int(line == BAD_LINE and number == 3)
    return line == BAD_LINE and number == 7


def quiet(dut: Any) -> None:
    dut.miss_i.value = dut.flush_i.value = dut.rd_beat_i.value = dut.rd_last_i.value = dut.rd_error_i.value = 0
    dut.rd_ready_i.value = 0
