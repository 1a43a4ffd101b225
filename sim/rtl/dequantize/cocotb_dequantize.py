# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module dequantize against numpy."""

from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import image_compression


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Ordinary values, and now and then the full range."""
    blocks = int(rng.integers(1, 9))
    limit = int(rng.choice([600, 32768]))
    data = rng.integers(-limit, limit, (blocks, 8, 8)).astype("<i2")
    quality = int(rng.choice(image_compression.QUALITIES))
    wanted = image_compression.dequantize(data, quality)
    return trials.ModuleTrial({"blocks": blocks, "quality": quality}, {"in": data}, {"out": wanted})


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "dequantize", make)


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "dequantize", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    illegal = [{"blocks": 0}, {"blocks": 65537}, {"quality": 0}, {"quality": 76}]
    await trials.refuses_illegal(dut, "dequantize", make, illegal)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "dequantize", make)
