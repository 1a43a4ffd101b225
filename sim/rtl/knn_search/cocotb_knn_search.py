# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module knn_search against numpy."""

from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import digit_recognition


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Few distinct training digits, so that distances tie; group sizes that leave lanes empty."""
    training, count = int(rng.integers(4, 60)), int(rng.integers(1, 12))
    kinds = rng.integers(0, 1 << 64, 12, dtype="u8")
    train = rng.choice(kinds, training)
    digits = rng.choice(kinds, count) ^ (rng.integers(0, 1 << 64, count, dtype="u8") & np.uint64(0xF00F))
    wanted = digit_recognition.search(train, digits)
    scalars = {"training": training, "count": count}
    return trials.ModuleTrial(scalars, {"train_bits": train, "digit_bits": digits}, {"neighbours": wanted})


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "knn_search", make)


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "knn_search", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    illegal = [{"training": 3}, {"training": 2049}, {"count": 0}, {"count": 4097}]
    await trials.refuses_illegal(dut, "knn_search", make, illegal)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "knn_search", make)
