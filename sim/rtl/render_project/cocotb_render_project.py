# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module render_project against numpy."""

from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import rendering


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Any bytes, from every side; full scale among them, where the mean is largest."""
    count, view = int(rng.integers(1, 40)), int(rng.integers(0, 3))
    triangles = rng.integers(0, 256, (count, 16)).astype("u1")
    triangles[rng.random(count) < 0.2] = 255
    wanted = rendering.project(triangles, view)
    return trials.ModuleTrial({"count": count, "view": view}, {"triangles": triangles}, {"flat": wanted})


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "render_project", make)


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "render_project", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    illegal = [{"count": 0}, {"count": 1025}, {"view": 3}, {"view": 0x8000_0000}]
    await trials.refuses_illegal(dut, "render_project", make, illegal)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "render_project", make)
