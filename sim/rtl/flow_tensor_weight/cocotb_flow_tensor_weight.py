# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module flow_tensor_weight against numpy."""

import random
from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import optical_flow

SIDES = [{side: bad} for side in ("width", "height") for bad in (0, 12, 136, 0x4000_0040)]


def trial(rng: np.random.Generator, width: int, height: int, direction: int) -> trials.ModuleTrial:
    """Any values, a third of them the most negative or the most positive."""
    values = rng.integers(-(1 << 31), 1 << 31, (height, width, 6)).astype("<i4")
    values[rng.random(values.shape) < 0.15] = -(1 << 31)
    values[rng.random(values.shape) < 0.15] = (1 << 31) - 1
    wanted = optical_flow.tensor_weight(values, direction)
    scalars = {"width": width, "height": height, "direction": direction}
    return trials.ModuleTrial(scalars, {"in": values}, {"out": wanted})


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Frames of any size, along y and along x."""
    width, height = (8 * int(n) for n in rng.integers(1, 3, 2))
    return trial(rng, width, height, int(rng.integers(0, 2)))


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "flow_tensor_weight", make)


@cocotb.test()
async def takes_the_largest(dut: Any) -> None:
    harness = await trials.bring_up(dut, "flow_tensor_weight")
    data = np.random.default_rng(19)
    for width, height, direction in ((128, 8, 0), (8, 128, 0), (128, 8, 1)):
        await trials.carry_out(harness, trial(data, width, height, direction), random.Random(19))


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "flow_tensor_weight", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    await trials.refuses_illegal(dut, "flow_tensor_weight", make, [*SIDES, {"direction": 2}])


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "flow_tensor_weight", make)
