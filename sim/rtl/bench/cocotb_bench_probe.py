# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a bench may do: pass, fail, trip a claim of the hardware, or end without a result."""

from __future__ import annotations

import os
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles


async def count(dut: Any, edges: int) -> int:
    """Reset the counter, let it count, and answer how far it came."""
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 10, "ns").start()
    await ClockCycles(dut.clk_i, 2)
    dut.rst_ni.value = 1
    await ClockCycles(dut.clk_i, edges)
    return int(dut.count_o.value)


@cocotb.test()
async def it_counts(dut: Any) -> None:
    assert await count(dut, 3) == 2
    assert os.environ["BENCH_VALUE"] == "a/b c"


@cocotb.test()
@cocotb.parametrize(edges=[3, 4])
async def it_counts_each(dut: Any, edges: int) -> None:
    assert await count(dut, edges) == edges - 1


@cocotb.test()
async def it_expects_too_much(dut: Any) -> None:
    assert await count(dut, 3) == 77


@cocotb.test()
async def it_counts_too_far(dut: Any) -> None:
    await count(dut, 9)


@cocotb.test()
async def it_vanishes(dut: Any) -> None:
    os._exit(0)
