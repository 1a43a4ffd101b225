# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Digit recognition: k nearest neighbours by Hamming distance over binarised 8x8 digits, after [004]'s Rosetta version.

Written from the definitions with sorting and counting; the RTL keeps four running neighbours instead and must give the
same bits. The data are scikit-learn's handwritten digits (1797 images of 8x8 pixels, values 0 to 16).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from eddy_sim.reference import datasets

TRAINING = 1408
"""Digits of the packaged application's training set: the first ones of the data set."""
GROUP = 32
"""Digits of one item."""
THRESHOLD = 8
"""A pixel is set from half of full scale on."""
K = 3
"""Neighbours that vote in the packaged application."""
NEIGHBOURS = 4
"""Neighbours the search keeps."""


def binarise(digits: npt.NDArray[np.uint8], threshold: int = THRESHOLD) -> npt.NDArray[np.uint64]:
    """(n, 64) pixels to n words of 64 bits, pixel i being bit i."""
    bits = np.packbits(digits.reshape(-1, 64) >= threshold, axis=1, bitorder="little")
    return np.ascontiguousarray(bits).view("<u8").reshape(-1)


def search(train_bits: npt.NDArray[np.uint64], digit_bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
    """(m, 4, 2): index and distance of each digit's nearest training digits, nearest first, ties by index."""
    train = np.unpackbits(np.ascontiguousarray(train_bits).view(np.uint8).reshape(-1, 8), axis=1)
    digit = np.unpackbits(np.ascontiguousarray(digit_bits).view(np.uint8).reshape(-1, 8), axis=1)
    distance = (digit[:, None, :] != train[None]).sum(axis=-1)
    order = np.argsort(distance, axis=1, kind="stable")[:, :NEIGHBOURS]
    records: npt.NDArray[np.uint16] = np.stack([order, np.take_along_axis(distance, order, axis=1)], axis=-1).astype(
        "<u2"
    )
    return records


def predict(labels: npt.NDArray[np.uint8], neighbours: npt.NDArray[np.uint16], k: int = K) -> npt.NDArray[np.uint8]:
    """The most frequent label among the k nearest; on a tie the one that appears first. No such neighbour: label 0."""
    result, indices = [], neighbours[:, :k, 0]
    known = indices < len(labels)
    for row in np.where(known, labels[np.where(known, indices, 0)], 0):
        counts = np.bincount(row)
        result.append(next(label for label in row if counts[label] == counts.max()))
    return np.array(result, dtype=np.uint8)


def recognise(
    train: npt.NDArray[np.uint8], labels: npt.NDArray[np.uint8], digits: npt.NDArray[np.uint8]
) -> dict[str, npt.NDArray[Any]]:
    """Every buffer of the packaged application for one item, by its name."""
    train_bits, digit_bits = binarise(train), binarise(digits)
    neighbours = search(train_bits, digit_bits)
    return {
        **{"train": train, "labels": labels, "digits": digits},
        **{"train_bits": train_bits, "digit_bits": digit_bits, "neighbours": neighbours},
        "result": predict(labels, neighbours),
    }


def run_item(inputs: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The outputs of one item of the packaged application, given its inputs and constants, by buffer name."""
    return {"result": recognise(inputs["train"], inputs["labels"], inputs["digits"])["result"]}


def _data() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    return datasets.digits()


def constants() -> dict[str, npt.NDArray[np.uint8]]:
    """The constant buffers of a job: training digits (1408, 64) and their labels."""
    pixels, labels = _data()
    return {"train": pixels[:TRAINING], "labels": labels[:TRAINING]}


def groups() -> list[npt.NDArray[np.uint8]]:
    """Held-out digits, 32 to an item: the items of a batch (12 of them), each (32, 64)."""
    pixels, _ = _data()
    held_out = pixels[TRAINING:]
    return [held_out[i : i + GROUP] for i in range(0, len(held_out) // GROUP * GROUP, GROUP)]


def truth() -> list[npt.NDArray[np.uint8]]:
    """What the digits of `groups` really are."""
    _, labels = _data()
    held_out = labels[TRAINING:]
    return [held_out[i : i + GROUP] for i in range(0, len(held_out) // GROUP * GROUP, GROUP)]
