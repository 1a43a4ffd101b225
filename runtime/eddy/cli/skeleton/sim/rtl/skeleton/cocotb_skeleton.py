"""The module skeleton against numpy."""

from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials

MODULE = Path(__file__).parents[3] / "bitstreams/skeleton"


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Some words, and what to add to them."""
    words, addend = int(rng.integers(1, 100)), int(rng.integers(0, 1 << 32))
    data = rng.integers(0, 1 << 64, words, dtype="u8")
    scalars = {"words": words, "addend": addend}
    return trials.ModuleTrial(scalars, {"in": data}, {"out": data + np.uint64(addend)})


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, MODULE, make)


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, MODULE, make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    await trials.refuses_illegal(dut, MODULE, make, [{"words": 0}, {"words": 65537}])


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, MODULE, make)
