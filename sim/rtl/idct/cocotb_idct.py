# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module idct against numpy."""

from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import image_compression


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Ordinary coefficients, and now and then full-range noise, which saturates."""
    blocks = int(rng.integers(1, 9))
    limit = int(rng.choice([600, 32768]))
    data = rng.integers(-limit, limit, (blocks, 8, 8)).astype("<i2")
    return trials.ModuleTrial({"blocks": blocks}, {"in": data}, {"out": image_compression.idct(data)})


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "idct", make)


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "idct", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    illegal = [{"blocks": 0}, {"blocks": 65537}, {"blocks": 0x8000_0001}]
    await trials.refuses_illegal(dut, "idct", make, illegal)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "idct", make)
