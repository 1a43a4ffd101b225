# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module flow_outer_product against numpy."""

import random
from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import optical_flow

SIDES = [{side: bad} for side in ("width", "height") for bad in (0, 12, 136, 0x4000_0040)]


def trial(rng: np.random.Generator, width: int, height: int) -> trials.ModuleTrial:
    """Any values, a tenth of them the most negative."""
    values = rng.integers(-(1 << 15), 1 << 15, (height, width, 4)).astype("<i2")
    values[rng.random(values.shape) < 0.1] = -(1 << 15)
    wanted = optical_flow.outer_product(values)
    return trials.ModuleTrial({"width": width, "height": height}, {"gradient": values}, {"tensor": wanted})


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Frames of any size."""
    width, height = (8 * int(n) for n in rng.integers(1, 3, 2))
    return trial(rng, width, height)


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "flow_outer_product", make)


@cocotb.test()
async def takes_the_largest(dut: Any) -> None:
    harness = await trials.bring_up(dut, "flow_outer_product")
    data = np.random.default_rng(19)
    for width, height in ((128, 8), (8, 128)):
        await trials.carry_out(harness, trial(data, width, height), random.Random(19))


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "flow_outer_product", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    await trials.refuses_illegal(dut, "flow_outer_product", make, SIDES)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "flow_outer_product", make)
