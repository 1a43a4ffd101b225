# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module flow_gradient_z against numpy."""

import random
from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import optical_flow

SIDES = [{side: bad} for side in ("width", "height") for bad in (0, 12, 136, 0x4000_0040)]


def trial(rng: np.random.Generator, width: int, height: int) -> trials.ModuleTrial:
    """Any bytes, among them the pixels of the largest and the smallest derivative; any derivatives along x and y."""
    frames = rng.integers(0, 256, (height, width // 8, 5, 8)).astype("u1")
    frames[0, 0, :, :2] = np.array([[255, 0], [0, 255], [7, 7], [255, 0], [0, 255]])
    along_xy = rng.integers(-(1 << 15), 1 << 15, (height, width, 2)).astype("<i2")
    wanted = optical_flow.gradient_z(frames, along_xy)
    inputs = {"frames": frames, "gradient_xy": along_xy}
    return trials.ModuleTrial({"width": width, "height": height}, inputs, {"gradient": wanted})


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Frames of any size."""
    width, height = (8 * int(n) for n in rng.integers(1, 4, 2))
    return trial(rng, width, height)


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "flow_gradient_z", make)


@cocotb.test()
async def takes_the_largest(dut: Any) -> None:
    harness = await trials.bring_up(dut, "flow_gradient_z")
    data = np.random.default_rng(19)
    for width, height in ((128, 128),):
        await trials.carry_out(harness, trial(data, width, height), random.Random(19))


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "flow_gradient_z", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    await trials.refuses_illegal(dut, "flow_gradient_z", make, SIDES)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "flow_gradient_z", make)
