# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module render_cull against numpy."""

import random
from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import rendering


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Overlapping triangles of few depths, so that depths tie; then spans of any bytes, which the frame cuts."""
    count, width, height = int(rng.integers(1, 7)), *(8 * int(n) for n in rng.integers(1, 5, 2))
    flat = rng.integers(0, 44, (count, 8)).astype("u1")
    flat[:, 6] = rng.choice([3, 4, 200, 254, 255], count)
    spans = rendering.rasterise(flat, width, height)
    if rng.random() < 0.3:
        spans = rng.integers(0, 256, spans.shape).astype("u1")
    wanted = rendering.cull(flat, spans, width)
    scalars = {"count": count, "width": width, "height": height}
    return trials.ModuleTrial(scalars, {"flat": flat, "spans": spans}, {"out": wanted})


def largest(rng: np.random.Generator, count: int, side: int) -> trials.ModuleTrial:
    """As many triangles, or as large a frame, as a run may have; the corners are covered, the last is nearest."""
    flat = rng.integers(0, 256, (count, 8)).astype("u1")
    flat[-2:] = [[0, 0, 255, 0, 0, 255, 1, 17], [255, 255, 255, 0, 0, 255, 0, 18]]
    spans = rendering.rasterise(flat, side, side)
    wanted = rendering.cull(flat, spans, side)
    scalars = {"count": count, "width": side, "height": side}
    return trials.ModuleTrial(scalars, {"flat": flat, "spans": spans}, {"out": wanted})


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "render_cull", make)


@cocotb.test()
async def takes_the_largest(dut: Any) -> None:
    harness = await trials.bring_up(dut, "render_cull")
    data = np.random.default_rng(19)
    for count, side in ((1024, 8), (3, 128)):
        await trials.carry_out(harness, largest(data, count, side), random.Random(19))


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "render_cull", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    illegal = [{"count": 0}, {"count": 1025}, *({side: bad} for side in ("width", "height") for bad in (0, 12, 136))]
    await trials.refuses_illegal(dut, "render_cull", make, illegal)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "render_cull", make)
