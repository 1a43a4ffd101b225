# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Words of inputs keep what was written, byte by byte; those of outputs hold what was given when it was to be taken."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge

WORDS, RESULTS = 3, 2
KEPT = (0xFFFF_FFFF, 0xFFFF_FFFF, 0x1FF)
"""Bits of the words of inputs, as the test says."""


async def access(dut: Any, channels: tuple[str, ...], answer: str) -> int:
    for channel in channels:
        getattr(dut, f"{channel}valid_i").value = 1
    await RisingEdge(dut.clk_i)
    for channel in channels:
        getattr(dut, f"{channel}valid_i").value = 0
    getattr(dut, f"{answer}ready_i").value = 1
    while True:
        await ReadOnly()
        there, value = int(getattr(dut, f"{answer}valid_o").value), int(dut.rdata_o.value)
        await RisingEdge(dut.clk_i)
        if there:
            getattr(dut, f"{answer}ready_i").value = 0
            return value


@cocotb.test()
async def words_hold(dut: Any) -> None:
    rng = random.Random(2)
    for name in ("awvalid", "wvalid", "bready", "arvalid", "rready", "results", "take"):
        getattr(dut, f"{name}_i").value = 0
    Clock(dut.clk_i, 10, unit="ns").start()
    dut.rst_ni.value = 0
    await ClockCycles(dut.clk_i, 3)
    dut.rst_ni.value = 1
    words = [0] * (WORDS + RESULTS)
    for _ in range(400):
        at = rng.randrange(WORDS + RESULTS + 2)
        if rng.random() < 0.5:
            value, strobes = rng.getrandbits(32), rng.getrandbits(4)
            dut.awaddr_i.value, dut.wdata_i.value, dut.wstrb_i.value = 4 * at, value, strobes
            await access(dut, ("aw", "w"), "b")
            if at < WORDS:
                mask = sum(0xFF << 8 * lane for lane in range(4) if strobes >> lane & 1)
                words[at] = (words[at] & ~mask | value & mask) & KEPT[at]
        given = [rng.getrandbits(32) for _ in range(RESULTS)]
        dut.results_i.value = sum(value << 32 * i for i, value in enumerate(given))
        taken = rng.getrandbits(RESULTS)
        dut.take_i.value = taken
        await RisingEdge(dut.clk_i)
        dut.take_i.value = 0
        for i, value in enumerate(given):
            if taken >> i & 1:
                words[WORDS + i] = value
        dut.araddr_i.value = 4 * at
        assert await access(dut, ("ar",), "r") == (words[at] if at < len(words) else 0)
        assert int(dut.values_o.value) == sum(value << 32 * i for i, value in enumerate(words[:WORDS]))
