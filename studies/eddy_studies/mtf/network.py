# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A small network with Adam, in plain numpy: enough for an actor and a critic of a few hundred weights."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from eddy.policy.price.learned import Layers
from eddy.policy.price.rounds import Floats


class NeuralNetwork:
    """Layers of tanh, the last one linear.

    Args:
        sizes: Of the layers, inputs first.
        rng: For the first weights.
        rate: Adam's step.
    """

    def __init__(self, sizes: tuple[int, ...], rng: np.random.Generator, rate: float) -> None:
        pairs = list(pairwise(sizes))
        self.values = [v for a, b in pairs for v in (rng.normal(size=(a, b)) / np.sqrt(a), np.zeros(b))]
        self.values[-2] *= 0.01
        self.rate = rate
        self._mean = [np.zeros_like(v) for v in self.values]
        self._square = [np.zeros_like(v) for v in self.values]
        self._steps = 0

    @property
    def layers(self) -> Layers:
        """Weights and offsets of each layer."""
        return tuple((self.values[k], self.values[k + 1]) for k in range(0, len(self.values), 2))

    def forward(self, inputs: Floats) -> list[Floats]:
        """Activations of every layer for (samples, inputs); the last is the answer."""
        passed = [inputs]
        for k, (weights, offsets) in enumerate(self.layers):
            x = passed[-1] @ weights + offsets
            passed.append(x if k == len(self.layers) - 1 else np.tanh(x))
        return passed

    def learn(self, passed: list[Floats], slope: Floats) -> None:
        """One step of Adam down the loss whose derivative by the answer is `slope`, (samples, outputs)."""
        gradients: list[Floats] = []
        for k in reversed(range(len(self.layers))):
            gradients = [passed[k].T @ slope, slope.sum(axis=0), *gradients]
            if k:
                slope = (slope @ self.layers[k][0].T) * (1 - passed[k] ** 2)
        self._steps += 1
        for value, gradient, mean, square in zip(self.values, gradients, self._mean, self._square, strict=True):
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            step = mean / (1 - 0.9**self._steps) / (np.sqrt(square / (1 - 0.999**self._steps)) + 1e-8)
            value -= self.rate * step
