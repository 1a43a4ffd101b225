# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module reconstruct against numpy."""

from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import image_compression


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Images of one to five blocks each way, with samples that clip."""
    height, width = (8 * int(n) for n in rng.integers(1, 6, 2))
    limit = int(rng.choice([160, 32768]))
    data = rng.integers(-limit, limit, (height * width // 64, 8, 8)).astype("<i2")
    wanted = image_compression.reconstruct(data, width, height)
    return trials.ModuleTrial({"width": width, "height": height}, {"in": data}, {"out": wanted})


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "reconstruct", make)


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "reconstruct", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    illegal = [{"width": 0}, {"width": 12}, {"width": 520}, {"height": 0}, {"height": 4}, {"height": 2056}]
    await trials.refuses_illegal(dut, "reconstruct", make, illegal)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "reconstruct", make)
