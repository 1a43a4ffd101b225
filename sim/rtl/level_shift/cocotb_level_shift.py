# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module level_shift against numpy."""

from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import image_compression


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Images of one to five blocks each way."""
    height, width = (8 * int(n) for n in rng.integers(1, 6, 2))
    data = rng.integers(0, 256, (height, width)).astype("u1")
    wanted = image_compression.level_shift(data)
    return trials.ModuleTrial({"width": width, "height": height}, {"in": data}, {"out": wanted})


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "level_shift", make)


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "level_shift", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    illegal = [{"width": 0}, {"width": 12}, {"width": 520}, {"height": 0}, {"height": 4}, {"height": 2056}]
    await trials.refuses_illegal(dut, "level_shift", make, illegal)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "level_shift", make)
