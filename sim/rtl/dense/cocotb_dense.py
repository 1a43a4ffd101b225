# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module dense against numpy."""

import random
from dataclasses import dataclass
from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import layers

MODULE = "dense"


@dataclass(frozen=True)
class Layers:
    """What a trial computes; see the module's arguments."""

    inputs: int
    groups: int
    first: int = 0
    shift: int = 8
    relu: int = 1
    groups2: int = 0
    shift2: int = 7


def trial(rng: np.random.Generator, sizes: Layers) -> trials.ModuleTrial:
    """Random contents of a layer or two; the biases reach both ends of the clamp."""

    def parameters(outputs: int, inputs: int, shift: int) -> tuple[layers.Int8, layers.Int32]:
        bias = (rng.integers(-200, 201, outputs) << shift).astype("i4")
        return rng.integers(-128, 128, (outputs, inputs)).astype("i1"), bias

    outputs = 8 * (sizes.first + sizes.groups)
    activations = rng.integers(-128, 128, sizes.inputs).astype("i1")
    weights, bias = parameters(outputs, sizes.inputs, sizes.shift)
    result = layers.requantise(layers.connect(activations, weights, bias), sizes.shift, bool(sizes.relu))
    packed = layers.pack(weights, bias).reshape(-1)
    if sizes.groups2:
        weights, bias = parameters(8 * sizes.groups2, outputs, sizes.shift2)
        result = layers.requantise(layers.connect(result, weights, bias), sizes.shift2, False)
        packed = np.concatenate([packed, layers.pack(weights, bias).reshape(-1)])
    wanted = result.view("u1")
    # Outputs before the first group keep their bytes.
    wanted[: 8 * sizes.first] = 0xA5
    return trials.ModuleTrial(vars(sizes), {"in": activations, "weights": packed}, {"out": wanted})


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """One layer or two, slices that begin anywhere."""
    inputs, groups, relu = 8 * int(rng.integers(1, 9)), int(rng.integers(1, 5)), int(rng.integers(2))
    shift, shift2 = (int(n) for n in rng.integers(3, 11, 2))
    if rng.integers(2):
        return trial(rng, Layers(inputs, groups, 0, shift, relu, int(rng.integers(1, 4)), shift2))
    return trial(rng, Layers(inputs, groups, int(rng.integers(4)), shift, relu, 0, shift2))


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, MODULE, make, runs=4)


@cocotb.test()
async def takes_the_corners(dut: Any) -> None:
    """The most inputs and groups of either layer, the smallest of all, shifts of nothing and of all."""
    harness = await trials.bring_up(dut, MODULE)
    data = np.random.default_rng(19)
    corners = (
        Layers(4096, 1, shift=13),
        Layers(8, 64, groups2=1, shift2=10),
        Layers(8, 1, groups2=64, shift2=24, shift=6),
        Layers(8, 1, first=63, shift=0, relu=0),
        Layers(8, 1, shift=24),
    )
    for corner in corners:
        await trials.carry_out(harness, trial(data, corner), random.Random(19))


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, MODULE, make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    illegal: list[dict[str, int]] = [{"inputs": bad} for bad in (0, 12, 4104, 1 << 13, 1 << 31)]
    illegal += [{"first": bad} for bad in (64, 1 << 20)] + [{"first": 1, "groups2": 1}]
    illegal += [{"groups": bad} for bad in (0, 65, 128)] + [{"groups2": bad} for bad in (65, 128)]
    illegal += [{"shift": 25}, {"shift": 32}, {"shift2": 25}, {"shift2": 32}, {"relu": 2}]
    await trials.refuses_illegal(dut, MODULE, lambda rng: trial(rng, Layers(16, 2)), illegal)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, MODULE, make)
