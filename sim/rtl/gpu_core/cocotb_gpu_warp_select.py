# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The choice of the warp that issues, against a ring of warps: random readiness, holds, idle stretches, a reset."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

CYCLES = 3000


class Ring:
    """Warps in the order of their turns; who issues goes to the end, and all that stood before it with it."""

    def __init__(self, warps: int) -> None:
        self.order = [*range(1, warps), 0]

    def next(self, ready: int) -> int | None:
        return next((warp for warp in self.order if ready >> warp & 1), None)

    def issue(self, warp: int) -> None:
        at = self.order.index(warp) + 1
        self.order = self.order[at:] + self.order[:at]


async def reset(dut: Any) -> None:
    dut.rst_ni.value = 0
    dut.ready_i.value = 0
    dut.hold_i.value = 0
    await FallingEdge(dut.clk_i)
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1


@cocotb.test()
async def next_ready_after_the_last(dut: Any) -> None:
    warps, rng = int(os.environ["SELECT_WARPS"]), random.Random(7)
    Clock(dut.clk_i, 10, "ns").start()
    await reset(dut)
    ring = Ring(warps)
    issued = [0] * warps
    for cycle in range(CYCLES):
        if cycle == CYCLES // 2:
            await reset(dut)
            ring = Ring(warps)
        share = (0.05, 0.5, 1.0)[cycle * 3 // CYCLES]
        ready = sum((rng.random() < share) << warp for warp in range(warps))
        hold = rng.random() < 0.3
        dut.ready_i.value = ready
        dut.hold_i.value = int(hold)
        await ReadOnly()
        want = ring.next(ready)
        assert bool(dut.issue_o.value) == (want is not None and not hold)
        if want is not None:
            assert int(dut.warp_o.value) == want, "held or not, the next one is shown"
        if want is not None and not hold:
            ring.issue(want)
            issued[want] += 1
        await FallingEdge(dut.clk_i)
    assert min(issued) > CYCLES // 4 // warps
