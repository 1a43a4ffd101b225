# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module knn_predict against numpy."""

from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import digit_recognition


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Few distinct labels, so that votes tie; of the neighbours some lie beyond the labels."""
    training, count = 8 * int(rng.integers(1, 9)), 8 * int(rng.integers(1, 5))
    k = int(rng.integers(1, 5))
    labels = rng.integers(0, 3, training).astype("u1")
    neighbours = rng.integers(0, training, (count, 4, 2)).astype("<u2")
    beyond = rng.random((count, 4)) < 0.1
    neighbours[..., 0][beyond] = rng.integers(training, 1 << 16, int(beyond.sum()))
    wanted = digit_recognition.predict(labels, neighbours, k)
    scalars = {"training": training, "count": count, "k": k}
    return trials.ModuleTrial(scalars, {"labels": labels, "neighbours": neighbours}, {"out": wanted})


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "knn_predict", make)


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "knn_predict", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    illegal = [
        *({"training": n} for n in (0, 12, 2056)),
        *({"count": n} for n in (0, 4, 4104)),
        *({"k": n} for n in (0, 5)),
    ]
    await trials.refuses_illegal(dut, "knn_predict", make, illegal)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, "knn_predict", make)
