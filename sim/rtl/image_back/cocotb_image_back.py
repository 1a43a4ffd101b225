# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The fused module image_back against numpy: dequantize, idct and reconstruct, one after the other."""

from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import image_compression as reference


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Levels as compression leaves them, and now and then the full range, which saturates and clips."""
    height, width = (8 * int(n) for n in rng.integers(1, 6, 2))
    quality, limit = int(rng.choice(reference.QUALITIES)), int(rng.choice([20, 32768]))
    levels = rng.integers(-limit, limit, (height * width // 64, 8, 8)).astype("<i2")
    wanted = reference.reconstruct(reference.idct(reference.dequantize(levels, quality)), width, height)
    return trials.ModuleTrial({"width": width, "height": height, "quality": quality}, {"in": levels}, {"out": wanted})


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "image_back", make)


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "image_back", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    illegal = [{"width": 0}, {"width": 12}, {"width": 520}, {"height": 0}, {"height": 2056}, {"quality": 76}]
    await trials.refuses_illegal(dut, "image_back", make, illegal)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "image_back", make)
