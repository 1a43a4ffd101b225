# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Turns among those that want something: nobody is passed over, who wants nothing is not chosen, nobody waits idly."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

CYCLES = 4000


@cocotb.test()
async def everybody_has_a_turn(dut: Any) -> None:
    number, rng = int(os.environ["TURNS_NUMBER"]), random.Random(9)
    Clock(dut.clk_i, 10, "ns").start()
    want = [False] * number
    passed, idle, turns = [0] * number, 0, [0] * number
    dut.rst_ni.value = 0
    dut.want_i.value = 0
    dut.done_i.value = 0
    for cycle in range(CYCLES):
        share = (0.02, 0.3, 1.0)[cycle * 3 // CYCLES]
        dut.rst_ni.value = int(cycle not in (0, 1, CYCLES // 2))
        want = [one or rng.random() < share for one in want]
        dut.want_i.value = sum(one << n for n, one in enumerate(want))
        dut.done_i.value = 0
        await FallingEdge(dut.clk_i)
        if int(dut.rst_ni.value) == 0:
            passed, idle = [0] * number, 0
            continue
        valid, index = bool(dut.valid_o.value), int(dut.index_o.value)
        assert not valid or want[index], "who is chosen wants it"
        idle = 0 if valid or not any(want) else idle + 1
        assert idle <= 1, "somebody is chosen in the cycle after"
        if valid and rng.random() < 0.7:
            dut.done_i.value = 1
            await ReadOnly()
            assert int(dut.index_o.value) == index, "having a turn does not change whose it is"
            turns[index] += 1
            passed = [0 if n == index or not want[n] else times + 1 for n, times in enumerate(passed)]
            assert max(passed) <= number, "nobody is passed over"
            await FallingEdge(dut.clk_i)
            want[index] = rng.random() < share
    assert min(turns) > CYCLES // 20 // number
