# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""LeNet-5 in 8-bit integers after [004], its layers by their definitions, on scikit-learn's handwritten digits.

Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, Gradient-based learning applied to document recognition, Proc. IEEE 86(11),
1998: 32x32 pixels; 6 maps of 28x28, pooled to 14x14; 16 of 10x10, pooled to 5x5; 120; ten classes. As in [004], its
layer of 84 is left out; here with ReLU and the largest of 2x2. The six maps of the first layer have two empty
ones beside them and the ten classes six, since the modules compute eight channels together. Weights are what
`tools/train_lenet.py` ships in `bitstreams/applications/lenet/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from eddy_sim.reference import datasets, layers
from eddy_sim.reference.digit_recognition import TRAINING
from eddy_sim.reference.layers import Int8
from eddy_sim.tools.products import ROOT

SIDE, ENLARGED, BORDER = 32, 3, 4
"""Pixels of an image's side; of each pixel of the 8x8 digit; around them."""
BRIGHTNESS = 7
"""A digit's values of 0 to 16 become 0 to 112."""
CLASSES = 10
SHIFTS = (10, 9, 9, 9)
"""Of the four layers: what their sums are divided by, as a power of two."""
SHAPES = {"conv1_weights": (8, 1, 5, 5), "conv3_weights": (16, 8, 5, 5)}
"""Convolutions: constant to the shape of its weights."""
DENSE_SHAPES = ((120, 16, 5, 5), (16, 120))
"""The two layers of the constant `conv5_weights`; the first covers its whole map."""
PACKAGE = ROOT / "bitstreams/applications/lenet"


def image(digits: npt.NDArray[np.uint8]) -> Int8:
    """(n, 64) pixels of 0 to 16 to (n, 32, 32): each pixel a square of 3x3, a border of 4 of zeros."""
    large = np.kron(digits.reshape(-1, 8, 8), np.ones((ENLARGED, ENLARGED), dtype=np.uint8))
    return np.pad(BRIGHTNESS * large, ((0, 0), (BORDER, BORDER), (BORDER, BORDER))).astype(np.int8)


def constants() -> dict[str, npt.NDArray[np.uint8]]:
    """The weights the package ships, by buffer."""
    names = (*SHAPES, "conv5_weights")
    return {name: np.fromfile(PACKAGE / f"{name}.bin", dtype=np.uint8) for name in names}


def forward(pixels: Int8, given: Mapping[str, npt.NDArray[np.uint8]]) -> dict[str, npt.NDArray[Any]]:
    """Every buffer of the packaged application but the constants for one image, by its name."""
    maps = [pixels[None]]
    for (name, shape), shift in zip(SHAPES.items(), SHIFTS, strict=False):
        sums = layers.convolve(maps[-1], *layers.unpack(given[name], shape))
        maps.append(layers.max_pool(layers.requantise(sums, shift, True)))
    data = given["conv5_weights"]
    split = 120 * (16 * 25 + 4)
    sums = layers.convolve(maps[-1], *layers.unpack(data[:split], DENSE_SHAPES[0]))
    hidden = layers.requantise(sums, SHIFTS[2], True)
    last = layers.connect(hidden.reshape(-1), *layers.unpack(data[split:], DENSE_SHAPES[1]))
    pool2, pool4 = (layers.map_bytes(each) for each in maps[1:])
    return {"image": pixels, "pool2": pool2, "pool4": pool4, "result": layers.requantise(last, SHIFTS[3], False)}


def run_item(inputs: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The outputs of one item of the packaged application, given its input (and other weights than it ships)."""
    return {"result": forward(inputs["image"], {**constants(), **inputs})["result"]}


def recognised(result: Int8) -> int:
    """The class of a result: the largest of ten, of equals the first."""
    return int(np.argmax(result[:CLASSES]))


def training() -> tuple[Int8, npt.NDArray[np.int64]]:
    """Images of the first 1408 digits, and what they are."""
    pixels, truth = _data()
    return image(pixels[:TRAINING]), truth[:TRAINING]


def held_out() -> tuple[Int8, npt.NDArray[np.int64]]:
    """Images of the other 389 digits, and what they are."""
    pixels, truth = _data()
    return image(pixels[TRAINING:]), truth[TRAINING:]


def _data() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    pixels, truth = datasets.digits()
    return pixels, truth.astype(np.int64)
