# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Traffic goes through unharmed, at full rate and with every channel pausing."""

from __future__ import annotations

import os
from typing import Any

import cocotb
from boundary_bench import Boundary, both_ways

SLOT_CLK_PS = int(os.environ.get("SLOT_CLK_PS", "0"))


@cocotb.test(timeout_time=5, timeout_unit="ms")
@cocotb.parametrize(rate=[0.0, 0.3, 0.6])
async def registers_and_memory_at_once(dut: Any, rate: float) -> None:
    bench = Boundary(dut)
    await bench.start(SLOT_CLK_PS)
    bench.window(0, 0, 15)
    await bench.windows_set()
    dut.mem_timeout_i.value = 60_000
    dut.ctrl_timeout_i.value = 60_000
    await both_ways(bench, seed=3, rate=rate)
    assert await bench.cause() == "none"
