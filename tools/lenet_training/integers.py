# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A trained network in 8-bit integers: one scale for each layer's weights, a shift for its results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from eddy_sim.reference import layers, lenet

from lenet_training.network import Array, Network


@dataclass(frozen=True)
class Quantised:
    """Constants of the package by name, and the layers' shifts."""

    constants: dict[str, npt.NDArray[np.uint8]]
    shifts: tuple[int, ...]


def quantise(network: Network, images: Array, unit: float) -> Quantised:
    """Scale each layer so that its largest weight is 127 and its largest result on `images` fits a byte.

    Args:
        network: What was trained.
        images: What the results' range is taken from.
        unit: What an input of one, as a byte, is to the network.
    """
    weights, biases, shifts = [], [], []
    for w, b, result in zip(network.weights, network.biases, network.forward(images), strict=True):
        scale = float(np.abs(w).max()) / 127
        sum_unit = unit * scale
        shift = int(np.ceil(np.log2(float(np.abs(result).max()) / (127 * sum_unit))))
        weights.append(np.rint(w / scale).astype(np.int8))
        biases.append(np.rint(b / sum_unit).astype(np.int32))
        shifts.append(shift)
        unit = sum_unit * 2**shift
    return Quantised(_packed(weights, biases), tuple(shifts))


def _packed(weights: list[layers.Int8], biases: list[layers.Int32]) -> dict[str, npt.NDArray[np.uint8]]:
    """With zeros for what fills up eights: two maps of the first layer, six classes."""
    first = _filled(weights[0], lenet.SHAPES["conv1_weights"])
    second = _filled(weights[1], lenet.SHAPES["conv3_weights"])
    third = weights[2].reshape(lenet.DENSE_SHAPES[0])
    fourth = _filled(weights[3], lenet.DENSE_SHAPES[1])
    dense = [layers.pack(third, biases[2]), layers.pack(fourth, _filled(biases[3], (len(fourth),)))]
    return {
        "conv1_weights": layers.pack(first, _filled(biases[0], (len(first),))).reshape(-1),
        "conv3_weights": layers.pack(second, biases[1]).reshape(-1),
        "conv5_weights": np.concatenate([each.reshape(-1) for each in dense]),
    }


def _filled(array: npt.NDArray[np.signedinteger], shape: tuple[int, ...]) -> npt.NDArray[np.signedinteger]:  # type: ignore[type-arg]
    return np.pad(array, [(0, to - size) for size, to in zip(array.shape, shape, strict=True)])
