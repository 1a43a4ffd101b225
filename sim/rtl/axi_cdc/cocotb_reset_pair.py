# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The two resets of a crossing: never one side alone, whatever the far clock does, and released within a bound."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from cocotb.utils import get_sim_time

FAR_PS = int(os.environ["FAR_PS"])
PS = 10_000
RELEASE = 2 * (4 * FAR_PS + 4 * PS)
"""Time for a word to go over and come back, twice: set, and taken back."""
AGAIN = 2 * RELEASE
"""The same where a reset is asked for while one is being taken back: that one ends first."""


class Far:
    """The far clock, which runs while `runs`."""

    def __init__(self, dut: Any) -> None:
        self.dut, self.runs = dut, True

    async def drive(self) -> None:
        await Timer(random.Random(5).randrange(1, FAR_PS), "ps")
        while True:
            await Timer(FAR_PS // 2, "ps")
            if self.runs:
                self.dut.far_clk_i.value = 1
            await Timer(FAR_PS - FAR_PS // 2, "ps")
            self.dut.far_clk_i.value = 0


class Log:
    """When each side went into reset and came out of it: ("near" or "far", in reset, time in ps)."""

    def __init__(self, dut: Any) -> None:
        self.events: list[tuple[str, bool, float]] = []
        cocotb.start_soon(self.watch("near", dut.rst_no))
        cocotb.start_soon(self.watch("far", dut.far_rst_no))

    async def watch(self, side: str, signal: Any) -> None:
        while True:
            await signal.value_change
            self.events.append((side, signal.value == 0, get_sim_time("ps")))

    def check(self) -> int:
        """Every reset of the far side lies within one of the near side, and each of those has one; their number."""
        order = [(side, down) for side, down, _ in self.events]
        assert len(order) % 4 == 0, order[-4:]
        for first in range(0, len(order), 4):
            assert order[first : first + 4] == [("near", True), ("far", True), ("far", False), ("near", False)]
        return len(order) // 4


async def start(dut: Any) -> Far:
    dut.clear_i.value = dut.far_clk_i.value = 0
    dut.rst_ni.value = 0
    Clock(dut.clk_i, PS, "ps").start()
    far = Far(dut)
    cocotb.start_soon(far.drive())
    await Timer(RELEASE, "ps")
    await FallingEdge(dut.clk_i)
    assert (dut.rst_no.value, dut.far_rst_no.value) == (0, 0)
    dut.rst_ni.value = 1
    await released(dut)
    return far


async def released(dut: Any, within: int = RELEASE) -> None:
    """Wait until both sides are out of reset, no longer than it may take."""
    deadline = get_sim_time("ps") + within
    while dut.rst_no.value == 0:
        assert get_sim_time("ps") <= deadline, "not released in time"
        await FallingEdge(dut.clk_i)
    assert dut.far_rst_no.value == 1


async def pulse(dut: Any, cycles: int = 1) -> None:
    dut.clear_i.value = 1
    for _ in range(cycles):
        await FallingEdge(dut.clk_i)
        assert dut.rst_no.value == 0, "this side is in reset from the next edge on"
    dut.clear_i.value = 0


@cocotb.test()
async def both_sides_are_reset_by_a_pulse_or_a_level(dut: Any) -> None:
    await start(dut)
    log, rng = Log(dut), random.Random(95)
    for cycles in (1, 2, 3, 5, 8, 40, *(rng.randrange(1, 30) for _ in range(20))):
        await pulse(dut, cycles)
        await released(dut)
        for _ in range(rng.randrange(3)):
            await FallingEdge(dut.clk_i)
    await FallingEdge(dut.clk_i)
    assert log.check() == 26


@cocotb.test()
async def a_level_holds_both_sides(dut: Any) -> None:
    await start(dut)
    await pulse(dut, 1)
    dut.clear_i.value = 1
    await Timer(RELEASE, "ps")
    for _ in range(50):
        await FallingEdge(dut.clk_i)
        assert (dut.rst_no.value, dut.far_rst_no.value) == (0, 0)
    dut.clear_i.value = 0
    await released(dut)


@cocotb.test()
async def pulses_while_it_is_at_work_only_prolong_it(dut: Any) -> None:
    """Pulses at random, so that they fall into every part of a reset that is under way."""
    await start(dut)
    log, rng = Log(dut), random.Random(96)
    for _ in range(400):
        await pulse(dut)
        for _ in range(rng.choice((0, 1, 2, 3, 5, 8, 13, 30)) * max(1, FAR_PS // PS)):
            await FallingEdge(dut.clk_i)
    await released(dut, AGAIN)
    await FallingEdge(dut.clk_i)
    # A pulse in the midst may reset the far side a second time, but never while the near side runs.
    near_down = False
    for side, down, _ in log.events:
        if side == "near":
            near_down = down
        else:
            assert near_down, "the far side was reset, or released, while the near side ran"
    count = sum(side == "near" and down for side, down, _ in log.events)
    assert count > 10
    assert sum(side == "far" and down for side, down, _ in log.events) > count, "no pulse fell into a release"


@cocotb.test()
async def a_stopped_clock_only_delays_the_release(dut: Any) -> None:
    far = await start(dut)
    log, rng = Log(dut), random.Random(97)
    for _ in range(12):
        far.runs = False
        await Timer(FAR_PS, "ps")
        await FallingEdge(dut.clk_i)
        await pulse(dut, rng.randrange(1, 4))
        for _ in range(60):
            await FallingEdge(dut.clk_i)
            assert dut.rst_no.value == 0
        far.runs = True
        await released(dut)
    await FallingEdge(dut.clk_i)
    assert log.check() == 12


@cocotb.test()
async def a_clock_that_stops_midway_leaves_nobody_alone(dut: Any) -> None:
    far = await start(dut)
    log, rng = Log(dut), random.Random(98)
    for _ in range(30):
        await pulse(dut)
        await Timer(rng.randrange(1, RELEASE), "ps")
        far.runs = False
        await Timer(20 * PS, "ps")
        far.runs = True
        await released(dut)
        await FallingEdge(dut.clk_i)
    assert log.check() == 30
