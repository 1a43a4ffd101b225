# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module render_rasterise against numpy."""

import random
from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import rendering


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Triangles of every order, some without area, some small, some that reach beyond the frame or lie outside it."""
    count, width, height = int(rng.integers(1, 9)), *(8 * int(n) for n in rng.integers(1, 6, 2))
    flat = rng.integers(0, 256, (count, 8)).astype("u1")
    kind = rng.integers(0, 4, count)
    flat[kind == 0] = flat[kind == 0] % 48
    flat[kind == 1] = flat[kind == 1] % 6 + 13
    flat[kind == 2, 4:6] = flat[kind == 2, 0:2]
    wanted = rendering.rasterise(flat, width, height)
    return trials.ModuleTrial({"count": count, "width": width, "height": height}, {"flat": flat}, {"spans": wanted})


def largest(rng: np.random.Generator, count: int, side: int) -> trials.ModuleTrial:
    """As many triangles, or as large a frame, as a run may have; the frame's corners are covered."""
    flat = rng.integers(0, 256, (count, 8)).astype("u1")
    flat[-2:, :6] = [[0, 0, 255, 0, 0, 255], [255, 255, 255, 0, 0, 255]]
    wanted = rendering.rasterise(flat, side, side)
    return trials.ModuleTrial({"count": count, "width": side, "height": side}, {"flat": flat}, {"spans": wanted})


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "render_rasterise", make)


@cocotb.test()
async def takes_the_largest(dut: Any) -> None:
    harness = await trials.bring_up(dut, "render_rasterise")
    data = np.random.default_rng(19)
    for count, side in ((1024, 8), (3, 128)):
        await trials.carry_out(harness, largest(data, count, side), random.Random(19))


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "render_rasterise", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    illegal = [{"count": 0}, {"count": 1025}, *({side: bad} for side in ("width", "height") for bad in (0, 12, 136))]
    await trials.refuses_illegal(dut, "render_rasterise", make, illegal)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "render_rasterise", make)
