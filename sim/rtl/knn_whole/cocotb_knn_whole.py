# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The fused module knn_whole against numpy: binarising, search and vote, one after the other."""

from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import digit_recognition


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Few distinct digits and labels, so that distances and votes tie; one to four sweeps."""
    training, count = 8 * int(rng.integers(1, 7)), 8 * int(rng.integers(1, 5))
    threshold, k = int(rng.integers(1, 256)), int(rng.integers(1, 5))
    kinds = rng.integers(0, 256, (10, 64)).astype("u1")
    train, digits = rng.choice(kinds, training), rng.choice(kinds, count)
    digits = np.where(rng.random(digits.shape) < 0.1, 255 - digits, digits).astype("u1")
    labels = rng.integers(0, 4, training).astype("u1")
    bits = [digit_recognition.binarise(each, threshold) for each in (train, digits)]
    wanted = digit_recognition.predict(labels, digit_recognition.search(*bits), k)
    scalars = {"training": training, "count": count, "threshold": threshold, "k": k}
    return trials.ModuleTrial(scalars, {"labels": labels, "train": train, "digits": digits}, {"out": wanted})


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "knn_whole", make)


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "knn_whole", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    illegal = [
        *({"training": n} for n in (0, 12, 2056)),
        *({"count": n} for n in (0, 4, 4104)),
        *({"threshold": 256}, {"k": 0}, {"k": 5}),
    ]
    await trials.refuses_illegal(dut, "knn_whole", make, illegal)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "knn_whole", make)
