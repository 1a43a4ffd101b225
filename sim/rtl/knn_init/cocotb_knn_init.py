# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module knn_init against numpy."""

from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import digit_recognition


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Some training digits, some digits, any threshold."""
    training, count = int(rng.integers(4, 20)), int(rng.integers(1, 9))
    threshold = int(rng.integers(0, 256))
    train = rng.integers(0, 256, (training, 64)).astype("u1")
    digits = rng.integers(0, 256, (count, 64)).astype("u1")
    bits = {
        "train_bits": digit_recognition.binarise(train, threshold),
        "digit_bits": digit_recognition.binarise(digits, threshold),
    }
    scalars = {"training": training, "count": count, "threshold": threshold}
    return trials.ModuleTrial(scalars, {"train": train, "digits": digits}, bits)


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "knn_init", make)


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "knn_init", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    illegal = [{"training": 3}, {"training": 2049}, {"count": 0}, {"count": 4097}, {"threshold": 256}]
    await trials.refuses_illegal(dut, "knn_init", make, illegal)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "knn_init", make)
