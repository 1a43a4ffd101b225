# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The watch over a clock that may stop: what a check takes, what it says, and how soon a stop is known.

The far clock is driven edge by edge, so that it can stop anywhere.
"""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer

FAR_PS = int(os.environ["FAR_PS"])
PS = 10_000
TIMEOUT = 8 * max(PS, FAR_PS) // PS + 4
"""Cycles that cover eight periods of the slower clock, as the block asks for."""


class Far:
    """The clock in question, which runs while `runs`, and counts its edges."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.runs, self.edges = dut, True, 0
        self.phase = random.Random(seed).randrange(FAR_PS)

    async def drive(self) -> None:
        await Timer(max(1, self.phase), "ps")
        while True:
            await Timer(FAR_PS // 2, "ps")
            if self.runs:
                self.dut.far_clk_i.value = 1
                self.edges += 1
            await Timer(FAR_PS - FAR_PS // 2, "ps")
            self.dut.far_clk_i.value = 0


async def start(dut: Any, timeout: int = TIMEOUT, seed: int = 1) -> Far:
    dut.start_i.value = dut.busy_i.value = dut.far_clk_i.value = 0
    dut.timeout_i.value = timeout
    dut.rst_ni.value = 0
    Clock(dut.clk_i, PS, "ps").start()
    far = Far(dut, seed)
    cocotb.start_soon(far.drive())
    await ClockCycles(dut.clk_i, 40 + 4 * FAR_PS // PS)
    await FallingEdge(dut.clk_i)
    assert (dut.checking_o.value, dut.alive_o.value, dut.lost_o.value) == (0, 0, 0)
    dut.rst_ni.value = 1
    return far


async def check(dut: Any, timeout: int) -> bool:
    """One check on demand; answer whether the clock was found alive."""
    await FallingEdge(dut.clk_i)
    dut.start_i.value = 1
    await FallingEdge(dut.clk_i)
    dut.start_i.value = 0
    cycles = 0
    while dut.checking_o.value == 1:
        assert dut.lost_o.value == 0
        cycles += 1
        await FallingEdge(dut.clk_i)
    assert cycles == max(1, timeout)
    alive = bool(dut.alive_o.value == 1)
    assert dut.lost_o.value == int(not alive)
    await FallingEdge(dut.clk_i)
    assert dut.lost_o.value == 0, "a loss is told in one cycle"
    return alive


@cocotb.test()
async def a_running_clock_is_alive(dut: Any) -> None:
    await start(dut)
    rng = random.Random(91)
    for _ in range(40):
        assert await check(dut, TIMEOUT)
        await ClockCycles(dut.clk_i, 1 + rng.randrange(5))


@cocotb.test()
async def a_stopped_clock_is_lost_and_found_again(dut: Any) -> None:
    far, rng = await start(dut), random.Random(92)
    for _ in range(12):
        far.runs = False
        await ClockCycles(dut.clk_i, 2 + FAR_PS // PS + rng.randrange(7))
        for _ in range(rng.randrange(1, 4)):
            assert not await check(dut, TIMEOUT)
        far.runs = True
        # The word of the lost check still comes, and is not taken for the answer of the next.
        await ClockCycles(dut.clk_i, rng.randrange(8) + 1)
        assert await check(dut, TIMEOUT)


@cocotb.test()
async def a_late_answer_does_not_count(dut: Any) -> None:
    """The clock wakes after a lost check for just as long as its answer needs, and stops again."""
    far = await start(dut)
    for edges in (1, 2, 3, 4, 5):
        far.runs = False
        await ClockCycles(dut.clk_i, 2 + FAR_PS // PS)
        assert not await check(dut, TIMEOUT)
        before = far.edges
        far.runs = True
        while far.edges < before + edges:
            await Timer(FAR_PS // 4, "ps")
        far.runs = False
        await ClockCycles(dut.clk_i, 2 + FAR_PS // PS)
        verdicts = [await check(dut, TIMEOUT) for _ in range(2)]
        assert verdicts == [False, False], f"after {edges} edges"
        far.runs = True
        await ClockCycles(dut.clk_i, 10 + 4 * FAR_PS // PS)
        assert await check(dut, TIMEOUT)


@cocotb.test()
async def while_busy_a_stop_is_known_within_two_checks(dut: Any) -> None:
    far, rng = await start(dut), random.Random(93)
    dut.busy_i.value = 1
    took = []
    for _ in range(25):
        for _ in range(3 * TIMEOUT + rng.randrange(2 * TIMEOUT)):
            await FallingEdge(dut.clk_i)
            assert dut.lost_o.value == 0
        await Timer(rng.randrange(1, PS), "ps")
        far.runs = False
        cycles = 0
        while dut.lost_o.value == 0:
            await FallingEdge(dut.clk_i)
            cycles += 1
            assert cycles <= 2 * (TIMEOUT + 1) + 1
        took.append(cycles)
        far.runs = True
        await ClockCycles(dut.clk_i, 3 * (TIMEOUT + 1))
        await FallingEdge(dut.clk_i)
    # The bound is that of two checks: one that had its answer before the stop, and the one after it.
    assert max(took) > TIMEOUT


@cocotb.test()
async def without_a_reason_nothing_moves(dut: Any) -> None:
    await start(dut)
    await check(dut, TIMEOUT)
    await ClockCycles(dut.clk_i, 20 + 4 * FAR_PS // PS)
    ask = dut.u_watch.ask_q.value
    for _ in range(100):
        await FallingEdge(dut.clk_i)
        assert (dut.checking_o.value, dut.u_watch.ask_q.value, dut.lost_o.value) == (0, ask, 0)
        assert dut.alive_o.value == 1


@cocotb.test()
async def no_bound_counts_as_one_cycle(dut: Any) -> None:
    await start(dut, timeout=0)
    assert not await check(dut, 0)


@cocotb.test()
async def a_reset_ends_a_check(dut: Any) -> None:
    await start(dut)
    dut.start_i.value = 1
    await ClockCycles(dut.clk_i, 3)
    dut.start_i.value, dut.rst_ni.value = 0, 0
    await ClockCycles(dut.clk_i, 10 + 4 * FAR_PS // PS)
    await FallingEdge(dut.clk_i)
    assert (dut.checking_o.value, dut.alive_o.value, dut.lost_o.value) == (0, 0, 0)
    dut.rst_ni.value = 1
    assert await check(dut, TIMEOUT)
