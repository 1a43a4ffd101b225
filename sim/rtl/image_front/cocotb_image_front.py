# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The fused module image_front against numpy: level_shift, dct and quantize, one after the other."""

from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import image_compression as reference


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Images of one to five blocks each way, at every quality."""
    height, width = (8 * int(n) for n in rng.integers(1, 6, 2))
    quality = int(rng.choice(reference.QUALITIES))
    image = rng.integers(0, 256, (height, width)).astype("u1")
    wanted = reference.quantize(reference.dct(reference.level_shift(image)), quality)
    return trials.ModuleTrial({"width": width, "height": height, "quality": quality}, {"in": image}, {"out": wanted})


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "image_front", make)


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "image_front", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    illegal = [{"width": 0}, {"width": 12}, {"width": 520}, {"height": 0}, {"height": 2056}, {"quality": 76}]
    await trials.refuses_illegal(dut, "image_front", make, illegal)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "image_front", make)
