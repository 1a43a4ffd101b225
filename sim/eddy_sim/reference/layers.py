# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Layers of 8-bit integer inference by their definitions, and the bytes that the modules of them read and write.

An activation or a weight is a signed byte; a sum of products, a bias and, for rounding, half a unit of the result has
32 bits (and wraps); it is turned into a byte by a shift to the right, then cut to -128..127, after a ReLU to 0..127.
The RTL walks taps with counters; here whole arrays are multiplied, and both must give the same bits.

Shapes: a map of activations is (channels, height, width), a convolution's weights (outputs, channels, kernel, kernel),
a fully connected layer's (outputs, inputs), biases (outputs,).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int8 = npt.NDArray[np.int8]
Int32 = npt.NDArray[np.int32]

LANES = 8
"""Output channels the modules compute together."""


def requantise(sums: npt.NDArray[np.int64], shift: int, relu: bool) -> Int8:
    """Sums to bytes: floor(sum / 2^shift + 1/2), with the sum at 32 bits, cut."""
    wrapped = (sums + (1 << shift) // 2 + (1 << 31)) % (1 << 32) - (1 << 31)
    rounded = wrapped >> shift
    return np.clip(rounded, 0 if relu else -128, 127).astype(np.int8)


def convolve(activations: Int8, weights: Int8, bias: Int32, stride: int = 1, padding: int = 0) -> npt.NDArray[np.int64]:
    """The sums of a convolution (a correlation, as networks use the word), zero beyond the edges."""
    kernel = weights.shape[-1]
    padded = np.pad(activations.astype(np.int64), ((0, 0), (padding, padding), (padding, padding)))
    rows, columns = ((side - kernel) // stride + 1 for side in padded.shape[1:])
    sums = np.zeros((len(weights), rows, columns), dtype=np.int64)
    for i in range(kernel):
        for j in range(kernel):
            under = padded[:, i : i + (rows - 1) * stride + 1 : stride, j : j + (columns - 1) * stride + 1 : stride]
            sums += np.tensordot(weights[:, :, i, j].astype(np.int64), under, axes=1)
    return sums + bias[:, None, None]


def max_pool(activations: Int8) -> Int8:
    """The largest of every 2x2; an odd last row or column is left out."""
    channels, height, width = activations.shape
    even = activations[:, : height // 2 * 2, : width // 2 * 2]
    pooled: Int8 = even.reshape(channels, height // 2, 2, width // 2, 2).max(axis=(2, 4))
    return pooled


def connect(inputs: Int8, weights: Int8, bias: Int32) -> npt.NDArray[np.int64]:
    """The sums of a fully connected layer."""
    sums: npt.NDArray[np.int64] = weights.astype(np.int64) @ inputs.astype(np.int64) + bias
    return sums


def map_bytes(activations: Int8) -> Int8:
    """A map as the modules have it: (height, width, channels) below eight channels, else (planes, height, width, 8)."""
    channels, height, width = activations.shape
    if channels < LANES:
        return np.ascontiguousarray(activations.transpose(1, 2, 0))
    planes = activations.reshape(channels // LANES, LANES, height, width)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1))


def map_of(data: Int8) -> Int8:
    """The map that lies as (planes, height, width, 8)."""
    planes, height, width, lanes = data.shape
    return np.ascontiguousarray(data.transpose(0, 3, 1, 2)).reshape(planes * lanes, height, width)


def pack(weights: Int8, bias: Int32) -> npt.NDArray[np.uint8]:
    """(groups, bytes of a group): of every eight outputs 32 bytes of biases, then eight weights for each tap.

    Taps follow the map's bytes: planes of channels, rows, columns, channels of a plane. Weights (outputs, inputs) keep
    their order. The number of outputs is a multiple of eight.
    """
    outputs = len(weights)
    if weights.ndim == 4:
        weights = np.stack([_taps(kernel) for kernel in weights])
    by_group = weights.reshape(outputs // LANES, LANES, -1).transpose(0, 2, 1)
    heads = np.ascontiguousarray(bias.astype("<i4").reshape(outputs // LANES, LANES)).view(np.uint8)
    tails = np.ascontiguousarray(by_group).reshape(outputs // LANES, -1).view(np.uint8)
    return np.concatenate([heads, tails], axis=1)


def _taps(kernel: Int8) -> Int8:
    """One output's weights in the order of the walk."""
    return map_bytes(kernel).reshape(-1)


def unpack(data: npt.NDArray[np.uint8], shape: tuple[int, ...]) -> tuple[Int8, Int32]:
    """Weights of a shape and biases, from what `pack` gives in any shape."""
    outputs, *taps = shape
    groups = data.reshape(outputs // LANES, -1)
    bias = np.ascontiguousarray(groups[:, : 4 * LANES]).view("<i4").reshape(-1)
    walked = groups[:, 4 * LANES :].view(np.int8).reshape(outputs // LANES, -1, LANES)
    weights = walked.transpose(0, 2, 1).reshape(outputs, -1)
    if len(taps) == 1:
        return np.ascontiguousarray(weights), bias
    channels, *kernel = taps
    planes, lanes = (1, channels) if channels < LANES else (channels // LANES, LANES)
    moved = weights.reshape(outputs, planes, *kernel, lanes).transpose(0, 1, 4, 2, 3)
    return np.ascontiguousarray(moved).reshape(shape), bias
