# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module flow_calc against numpy."""

import random
from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import optical_flow

SIDES = [{side: bad} for side in ("width", "height") for bad in (0, 12, 136, 0x4000_0040)]


def trial(rng: np.random.Generator, width: int, height: int) -> trials.ModuleTrial:
    """Products of real derivatives; any values; few values, so that divisors are zero, ratios halves or too large."""
    tensor = rng.integers(-(1 << 31), 1 << 31, (height, width, 6)).astype("<i4")
    kind = rng.integers(0, 4, (height, width))
    derivatives = rng.integers(-400, 400, (2, height, width, 4)).astype("<i2")
    likely = optical_flow.outer_product(derivatives[0]) + optical_flow.outer_product(derivatives[1])
    tensor[kind == 0] = likely[kind == 0]
    tensor[kind == 1] = tensor[kind == 1] >> 26
    tensor[kind == 2] = np.where(tensor[kind == 2] < 0, -(1 << 31), (1 << 31) - 1)
    wanted = optical_flow.calc(tensor)
    return trials.ModuleTrial({"width": width, "height": height}, {"tensor": tensor}, {"flow": wanted})


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Frames of any size."""
    width, height = (8 * int(n) for n in rng.integers(1, 3, 2))
    return trial(rng, width, height)


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "flow_calc", make)


@cocotb.test()
async def takes_the_largest(dut: Any) -> None:
    harness = await trials.bring_up(dut, "flow_calc")
    data = np.random.default_rng(19)
    for width, height in ((128, 8), (8, 128)):
        await trials.carry_out(harness, trial(data, width, height), random.Random(19))


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "flow_calc", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    await trials.refuses_illegal(dut, "flow_calc", make, SIDES)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "flow_calc", make)
