# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module flow_gradient_xy against numpy."""

import random
from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import optical_flow

SIDES = [{side: bad} for side in ("width", "height") for bad in (0, 12, 136, 0x4000_0040)]


def trial(rng: np.random.Generator, width: int, height: int) -> trials.ModuleTrial:
    """Any bytes, a third of them black or white, where the derivatives are largest."""
    frames = rng.integers(0, 256, (height, width // 8, 5, 8)).astype("u1")
    frames[rng.random(frames.shape) < 0.15] = 0
    frames[rng.random(frames.shape) < 0.15] = 255
    wanted = optical_flow.gradient_xy(frames)
    return trials.ModuleTrial({"width": width, "height": height}, {"frames": frames}, {"gradient_xy": wanted})


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Frames of any size."""
    width, height = (8 * int(n) for n in rng.integers(1, 4, 2))
    return trial(rng, width, height)


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "flow_gradient_xy", make)


@cocotb.test()
async def takes_the_largest(dut: Any) -> None:
    harness = await trials.bring_up(dut, "flow_gradient_xy")
    data = np.random.default_rng(19)
    for width, height in ((128, 8), (8, 128)):
        await trials.carry_out(harness, trial(data, width, height), random.Random(19))


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "flow_gradient_xy", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    await trials.refuses_illegal(dut, "flow_gradient_xy", make, SIDES)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "flow_gradient_xy", make)
