# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Gradient descent: Adam (Kingma and Ba, ICLR 2015) over shuffled, shifted images."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lenet_training.network import Array, Network

EPOCHS, BATCH = 24, 32
RATE = 1.5e-3
"""Step of the first epoch; it falls to zero along a half cosine."""
DECAY = 1e-4
"""Of the weights, each step, in units of the rate's first value."""
FARTHEST = 3
"""Pixels an image is moved by at most, up, down and sideways: one of the digit's own. The border keeps it whole."""
BETAS, EPSILON = (0.9, 0.999), 1e-8


def train(images: Array, truth: npt.NDArray[np.int64], seed: int) -> Network:
    """A network trained on images (n, 32, 32) of what `truth` says they are; the same for the same seed."""
    rng = np.random.default_rng(seed)
    network = Network.random(rng)
    first = [np.zeros_like(p) for p in (*network.weights, *network.biases)]
    second = [np.zeros_like(p) for p in first]
    steps = EPOCHS * (len(images) // BATCH)
    for step in range(steps):
        if step % (len(images) // BATCH) == 0:
            order = rng.permutation(len(images))
        chosen = order[step % (len(images) // BATCH) * BATCH :][:BATCH]
        slopes = network.backward(_slope(network.forward(_moved(images[chosen], rng))[-1], truth[chosen]))
        rate = RATE * (1 + np.cos(np.pi * step / steps)) / 2
        for i, parameter in enumerate((*network.weights, *network.biases)):
            first[i] = BETAS[0] * first[i] + (1 - BETAS[0]) * slopes[i]
            second[i] = BETAS[1] * second[i] + (1 - BETAS[1]) * slopes[i] ** 2
            mean = first[i] / (1 - BETAS[0] ** (step + 1))
            square = second[i] / (1 - BETAS[1] ** (step + 1))
            parameter -= (rate * (mean / (np.sqrt(square) + EPSILON) + DECAY * parameter)).astype(np.float32)
    return network


def _moved(images: Array, rng: np.random.Generator) -> Array:
    """Each image moved by up to `FARTHEST` pixels in both directions."""
    moves = rng.integers(-FARTHEST, FARTHEST + 1, (len(images), 2))
    return np.stack([np.roll(image, tuple(move), axis=(0, 1)) for image, move in zip(images, moves, strict=True)])


def _slope(scores: Array, truth: npt.NDArray[np.int64]) -> Array:
    """Gradient of the mean cross entropy of softmax."""
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    slope: Array = odds / odds.sum(axis=1, keepdims=True)
    slope[np.arange(len(truth)), truth] -= 1
    return slope / np.float32(len(truth))
