# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""AlexNet in 8-bit integers, its layers by their definitions, on patches of scikit-learn's photographs.

A. Krizhevsky, I. Sutskever, G. Hinton, ImageNet classification with deep convolutional neural networks, NIPS 2012, in
the 38 tasks of [004], which connect every map of a layer with every map of the next. Reduced: an image of 96x96 pixels
instead of 227x227; a third of the 96 maps of the first layer, a quarter of those of the second, third and fifth (256,
384, 256), a sixth of the fourth's 384. The connected layers are [004]'s, 256 wide; its thousand classes are filled up
to 1008, an even number of eights. Pools take the largest of 2x2 instead of 3x3 with a stride of 2; there is no local
response normalisation. Kernels, strides and paddings are AlexNet's.

The weights are random numbers of a seed, of a spread that keeps the activations' range from layer to layer: this
network knows nothing. It is here for its graph and its arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from eddy_sim.reference import datasets, layers
from eddy_sim.reference.layers import Int8, Int32

SIDE = 96
"""Pixels of an image's side."""
SEED = 2012
WEIGHT_SPREAD, BIAS_SPREAD = 32, 2
"""Standard deviation of the weights; of the biases, in units of the shifted result."""


@dataclass(frozen=True)
class Layer:
    """One layer.

    Attributes:
        name: Of the layer; the result of the last one is in the buffer `result`, of the others in that of their name.
        shape: Of its weights; a fully connected layer's has two numbers.
        shift: What its sums are divided by, as a power of two.
        stride, padding: Of the convolution.
        pool: Whether the largest of every 2x2 is kept.
        relu: Whether negative results become zero.
    """

    name: str
    shape: tuple[int, ...]
    shift: int
    stride: int = 1
    padding: int = 0
    pool: bool = False
    relu: bool = True


LAYERS = (
    Layer("conv1", (32, 3, 11, 11), shift=10, stride=4, pool=True),
    Layer("conv2", (64, 32, 5, 5), shift=9, padding=2, pool=True),
    Layer("conv3", (96, 64, 3, 3), shift=9, padding=1),
    Layer("conv4", (64, 96, 3, 3), shift=9, padding=1),
    Layer("conv5", (64, 64, 3, 3), shift=9, padding=1, pool=True),
    Layer("fc6", (256, 256), shift=9),
    Layer("fc7", (256, 256), shift=8),
    Layer("fc8", (1008, 256), shift=9, relu=False),
)


def parameters(layer: Layer) -> tuple[Int8, Int32]:
    """Weights and biases of a layer."""
    rng = np.random.default_rng([SEED, LAYERS.index(layer)])
    weights = np.clip(np.rint(WEIGHT_SPREAD * rng.standard_normal(layer.shape)), -127, 127).astype(np.int8)
    bias = np.rint(BIAS_SPREAD * 2.0**layer.shift * rng.standard_normal(layer.shape[0])).astype(np.int32)
    return weights, bias


def constants() -> dict[str, npt.NDArray[np.uint8]]:
    """The constant buffers of a job: the weights of every layer."""
    return {f"{layer.name}_weights": layers.pack(*parameters(layer)).reshape(-1) for layer in LAYERS}


def apply(layer: Layer, activations: Int8, weights: Int8, bias: Int32) -> Int8:
    """What a layer makes of activations: a map of a map, or (outputs,) of what lies in memory before it."""
    if len(layer.shape) == 2:
        flat = activations if activations.ndim == 1 else layers.map_bytes(activations).reshape(-1)
        return layers.requantise(layers.connect(flat, weights, bias), layer.shift, layer.relu)
    sums = layers.convolve(activations, weights, bias, layer.stride, layer.padding)
    result = layers.requantise(sums, layer.shift, layer.relu)
    return layers.max_pool(result) if layer.pool else result


def forward(image: Int8, given: Mapping[str, npt.NDArray[np.uint8]]) -> dict[str, Int8]:
    """Every buffer of the packaged application but the constants for one image of (96, 96, 3), by its name."""
    activations = np.ascontiguousarray(image.transpose(2, 0, 1))
    buffers = {"image": image}
    for layer in LAYERS:
        weights, bias = layers.unpack(given[f"{layer.name}_weights"], layer.shape)
        activations = apply(layer, activations, weights, bias)
        name = "result" if layer is LAYERS[-1] else layer.name
        buffers[name] = layers.map_bytes(activations) if activations.ndim == 3 else activations
    return buffers


def run_item(inputs: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The outputs of one item of the packaged application, given its input and constants, by buffer name."""
    return {"result": forward(inputs["image"], inputs)["result"]}


def images() -> list[Int8]:
    """Patches of 96x96 of the two photographs, 24 of each, colours less 128: the items of a batch, each (96, 96, 3)."""
    patches = []
    for name in ("china.jpg", "flower.jpg"):
        photograph = datasets.picture(name)
        for y in range(0, photograph.shape[0] - SIDE + 1, SIDE):
            for x in range(0, photograph.shape[1] - SIDE + 1, SIDE):
                patch = photograph[y : y + SIDE, x : x + SIDE].astype(np.int16) - 128
                patches.append(patch.astype(np.int8))
    return patches
