# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Counters against integers: what is live and what a snapshot kept, of any counter in any cycle; clears and resets."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

CYCLES = 4000
EVENTS = range(2, 15)
CYCLE, INSTRET, ACTIVE, FIXED = 0, 1, 15, 16


async def reset(dut: Any) -> None:
    for name in ("clear", "running", "event", "executed", "lanes", "snapshot", "shadow_index", "live_index"):
        getattr(dut, f"{name}_i").value = 0
    dut.shadow_i.value = dut.live_i.value = 1
    dut.rst_ni.value = 0
    await FallingEdge(dut.clk_i)
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1


@cocotb.test()
async def counts_and_snapshots(dut: Any) -> None:
    threads, rng = int(os.environ["COUNTER_THREADS"]), random.Random(11)
    count = FIXED + threads
    Clock(dut.clk_i, 10, "ns").start()
    await reset(dut)
    live, shadow = [0] * count, [0] * count
    highest = snapshots = clears = 0
    for cycle in range(CYCLES):
        if cycle == CYCLES * 7 // 8:
            await reset(dut)
            live, shadow = [0] * count, [0] * count
        # Idle, busy, and every event in every cycle; snapshots and clears come in crowds.
        share = (0.02, 0.6, 1.0, 1.0)[cycle // 50 % 4]
        crowd = cycle // 300 % 3 == 2
        events = [n for n in EVENTS if rng.random() < share]
        running, executed = rng.random() < share, rng.random() < share
        mask = rng.randrange(1, 1 << threads)
        snapshot = rng.random() < (0.2 if crowd else 0.01)
        clear = rng.random() < (0.05 if crowd else 0.001)
        at_shadow, at_live = rng.randrange(40), rng.randrange(40)
        dut.running_i.value = int(running)
        dut.event_i.value = sum(1 << (n - EVENTS[0]) for n in events)
        dut.executed_i.value = int(executed)
        dut.lanes_i.value = mask.bit_count()
        dut.snapshot_i.value = int(snapshot)
        dut.clear_i.value = int(clear)
        dut.shadow_index_i.value = at_shadow
        dut.live_index_i.value = at_live
        await ReadOnly()
        assert int(dut.shadow_o.value) == (shadow[at_shadow] if at_shadow < count else 0), f"cycle {cycle}"
        assert int(dut.live_o.value) == (live[at_live] if at_live < count else 0), f"cycle {cycle}"
        if snapshot:
            shadow = list(live)
        counted = [*events, *([CYCLE] if running else [])]
        if executed:
            counted += [INSTRET, ACTIVE, ACTIVE + mask.bit_count()]
        for n in counted:
            live[n] += 1
        if clear:
            live = [0] * count
        highest, snapshots, clears = max(highest, *live), snapshots + snapshot, clears + clear
        await FallingEdge(dut.clk_i)
    assert highest > 256
    assert snapshots > 100
    assert clears > 20
