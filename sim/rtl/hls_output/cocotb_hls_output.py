# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The modules in the shapes of HLS output against numpy."""

import os
from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.modcheck.harness import AP_CTRL, CONTINUE, DONE, IDLE, START

MODULE = os.environ["EDDY_HLS_MODULE"]
MANIFEST = str(trials.ROOT / "tests" / "modules" / MODULE)
TABLE = np.array([(167 * value + 13) & 0xFF for value in range(256)], "u1")


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Some words, and what becomes of them."""
    count, key = int(rng.integers(0, 20)), int(rng.integers(0, 1 << 32))
    data = rng.integers(0, 1 << 64, count, dtype="u8")
    if MODULE == "hls_words":
        wanted = data + np.uint64(key)
    else:
        wanted = TABLE[data.astype("<u8").view("u1") ^ np.uint8(key & 0xFF)].view("<u8")
    return trials.ModuleTrial({"count": count, "key": key}, {"in": data}, {"out": wanted})


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, MANIFEST, make)


@cocotb.test(skip=MODULE != "hls_table")
async def a_start_while_it_is_done_waits_for_continue(dut: Any) -> None:
    """What the driver must not take for the end of the second run."""
    harness = await trials.bring_up(dut, MANIFEST)
    await harness.arguments({"in": 0x1000, "out": 0x2000, "count": 1, "key": 0})
    await harness.write(AP_CTRL, START)
    while not await harness.read(AP_CTRL) & DONE:
        pass
    bursts = harness.checker.traffic.writes
    await harness.write(AP_CTRL, START)
    for _ in range(20):
        assert await harness.read(AP_CTRL) & (DONE | START | IDLE) == DONE | START
    assert harness.checker.traffic.writes == bursts
    await harness.write(AP_CTRL, CONTINUE)
    while not await harness.read(AP_CTRL) & DONE:
        pass
    assert harness.checker.traffic.writes == bursts + 1
