# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module conv_pool against numpy."""

import random
from dataclasses import dataclass
from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials
from eddy_sim.reference import layers

MODULE = "conv_pool"


@dataclass(frozen=True)
class Layer:
    """What a trial computes; see the module's arguments."""

    channels: int
    height: int
    width: int
    kernel: int
    groups: int
    stride: int = 1
    padding: int = 0
    first: int = 0
    shift: int = 7
    relu: int = 1
    pool: int = 0


def trial(rng: np.random.Generator, layer: Layer) -> trials.ModuleTrial:
    """Random contents of a layer; the biases reach both ends of the clamp. Groups before `first` keep their bytes."""
    outputs = 8 * (layer.first + layer.groups)
    activations = rng.integers(-128, 128, (layer.channels, layer.height, layer.width)).astype("i1")
    weights = rng.integers(-128, 128, (outputs, layer.channels, layer.kernel, layer.kernel)).astype("i1")
    bias = (rng.integers(-200, 201, outputs) << layer.shift).astype("i4")
    sums = layers.convolve(activations, weights, bias, layer.stride, layer.padding)
    result = layers.requantise(sums, layer.shift, bool(layer.relu))
    result = layers.max_pool(result) if layer.pool else result
    names = ("channels", "height", "width", "kernel", "stride", "padding", "first", "groups", "shift", "relu", "pool")
    scalars = {name: getattr(layer, name) for name in names}
    wanted = layers.map_bytes(result).view("u1")
    wanted[: layer.first] = 0xA5
    scalars |= {"rows": result.shape[1], "columns": result.shape[2]}
    return trials.ModuleTrial(
        scalars, {"map": layers.map_bytes(activations), "weights": layers.pack(weights, bias)}, {"out": wanted}
    )


def make(rng: np.random.Generator) -> trials.ModuleTrial:
    """Few and many channels, every stride and padding, pooled or not, slices that begin anywhere."""
    channels = int(rng.choice([1, 2, 3, 7, 8, 16]))
    kernel = int(rng.integers(1, 4))
    height, width = int(rng.integers(4, 8)), 8 if channels < 8 else int(rng.integers(4, 8))
    layer = Layer(
        channels,
        height,
        width,
        kernel,
        groups=int(rng.integers(1, 3)),
        stride=int(rng.integers(1, 3)),
        padding=int(rng.integers(kernel)),
        first=int(rng.integers(3)),
        shift=int(rng.integers(4, 12)),
        relu=int(rng.integers(2)),
    )
    outputs = [(side + 2 * layer.padding - kernel) // layer.stride + 1 for side in (height, width)]
    pool = int(rng.integers(2)) if min(outputs) > 1 else 0
    return trial(rng, Layer(**{**vars(layer), "pool": pool}))


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, MODULE, make, runs=4)


@cocotb.test()
async def takes_the_corners(dut: Any) -> None:
    """The largest maps, kernel, numbers of taps, stride, slice; the smallest of all; shifts of nothing and of all."""
    harness = await trials.bring_up(dut, MODULE)
    data = np.random.default_rng(19)
    corners = (
        Layer(2, 128, 128, 1, 1, stride=4, shift=8),
        Layer(1, 128, 8, 1, 1, shift=5),
        Layer(256, 2, 2, 2, 1, shift=9),
        Layer(8, 1, 5, 1, 1, stride=4, shift=24),
        Layer(8, 11, 12, 11, 1, shift=9, relu=0),
        Layer(3, 7, 8, 11, 1, padding=5, stride=3, shift=9),
        Layer(8, 1, 1, 1, 32, shift=6),
        Layer(8, 2, 2, 1, 1, first=31, shift=0, relu=0, pool=1),
        Layer(7, 64, 73, 1, 1, stride=4, shift=6),
        Layer(24, 39, 35, 1, 1, stride=4, shift=6),
        Layer(40, 5, 5, 5, 1, shift=9),
    )
    for corner in corners:
        await trials.carry_out(harness, trial(data, corner), random.Random(19))


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, MODULE, lambda rng: trial(rng, Layer(2, 4, 4, 3, 1)))


ILLEGAL: dict[str, tuple[int, ...]] = {
    "channels": (0, 9, 20, 264, 1 << 31),
    "height": (0, 3, 129, 1 << 16),
    "width": (0, 2, 129, 260),
    "kernel": (0, 12, 8, 1 << 8),
    "stride": (0, 5, 8),
    "padding": (3, 6, 8),
    "rows": (0, 5, 129, 256),
    "columns": (0, 5, 129, 256),
    "first": (32, 1 << 20),
    "groups": (0, 33, 64),
    "shift": (25, 32),
    "relu": (2,),
    "pool": (1, 2),
}
"""Arguments that make the run below illegal, one at a time: out of range, or beyond the padded map."""


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    illegal: list[dict[str, int]] = [{name: value} for name, values in ILLEGAL.items() for value in values]
    # Each number is within its range; the map's bytes are no words, the map or the kernel is too large.
    illegal += [{"channels": 1, "height": 5, "width": 5}, {"channels": 8, "height": 65, "width": 64}]
    illegal += [{"channels": 16, "kernel": 9, "padding": 5}]
    # One more than the most, of channels with few and with many bytes a pixel, and of taps.
    illegal += [{"channels": 7, "height": 48, "width": 98}, {"channels": 6, "height": 52, "width": 106}]
    illegal += [{"channels": 24, "height": 39, "width": 36}, {"channels": 200, "height": 13, "width": 13}]
    illegal += [{"channels": 48, "kernel": 5, "padding": 2}, {"channels": 136}]
    await trials.refuses_illegal(dut, MODULE, lambda rng: trial(rng, Layer(4, 4, 4, 3, 1, padding=1)), illegal)


@cocotb.test()
async def restarts(dut: Any) -> None:
    await trials.restarts(dut, MODULE, make)
