# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a bench may do: pass, fail, trip a claim of the hardware, or end without a result."""

from __future__ import annotations

import os
from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Timer
from cocotb.types import Logic


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
async def it_has_no_signal_of_another_name(dut: Any) -> None:
    for _ in range(2):
        assert dut.rst_ni is dut.rst_ni
        with pytest.raises(AttributeError):
            dut.reset  # noqa: B018
        with pytest.raises(AttributeError, match="value"):
            dut.rst_ni = 1
    for value in ("0", 1, True, Logic("0")):
        dut.rst_ni.value = value
        await Timer(1, "ns")
        assert dut.rst_ni.value == value


@cocotb.test()
async def it_expects_too_much(dut: Any) -> None:
    assert await count(dut, 3) == 77


@cocotb.test()
async def it_counts_too_far(dut: Any) -> None:
    await count(dut, 9)


@cocotb.test()
async def it_vanishes(dut: Any) -> None:
    os._exit(0)
