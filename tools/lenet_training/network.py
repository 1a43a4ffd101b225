# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""LeNet in floating point with its gradients, in numpy: convolution, ReLU and pool twice, then two dense layers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]
SHAPES = ((6, 1, 5, 5), (16, 6, 5, 5), (120, 400), (10, 120))


def windows(maps: Array, kernel: int = 5) -> Array:
    """(n, channels, h, w) to (n, h', w', channels x kernel x kernel): what lies under each place of a kernel."""
    view = np.lib.stride_tricks.sliding_window_view(maps, (kernel, kernel), axis=(2, 3))  # type: ignore[call-overload]
    rows, columns = view.shape[2:4]
    return np.ascontiguousarray(view.transpose(0, 2, 3, 1, 4, 5)).reshape(len(maps), rows, columns, -1)


def pool(maps: Array) -> tuple[Array, Array]:
    """(n, h, w, channels) to the largest of every 2x2, and which shares of the gradient go back to which."""
    n, rows, columns, channels = maps.shape
    quads = maps.reshape(n, rows // 2, 2, columns // 2, 2, channels)
    largest = quads.max(axis=(2, 4))
    hits = (quads == largest[:, :, None, :, None]).astype(np.float32)
    return largest, hits / hits.sum(axis=(2, 4), keepdims=True)


@dataclass
class Network:
    """Weights and biases of the four layers, and what a pass leaves for the way back."""

    weights: list[Array]
    biases: list[Array]
    _kept: list[tuple[Array, ...]] = field(default_factory=list)

    @classmethod
    def random(cls, rng: np.random.Generator) -> Network:
        """Weights for ReLUs after He: normal, of variance 2 / inputs."""
        scales = [np.sqrt(2 / np.prod(shape[1:])) for shape in SHAPES]
        weights = [rng.normal(0, s, shape).astype(np.float32) for s, shape in zip(scales, SHAPES, strict=True)]
        return cls(weights, [np.zeros(shape[0], np.float32) for shape in SHAPES])

    def forward(self, images: Array) -> list[Array]:
        """What each layer gives for (n, 32, 32): (n, 6, 14, 14), (n, 16, 5, 5), (n, 120), (n, 10)."""
        self._kept = []
        maps = images[:, None]
        results = []
        for w, b in zip(self.weights[:2], self.biases[:2], strict=True):
            under = windows(maps)
            sums = under @ w.reshape(len(w), -1).T + b
            pooled, shares = pool(np.maximum(sums, 0))
            self._kept.append((under, sums, shares))
            maps = np.ascontiguousarray(pooled.transpose(0, 3, 1, 2))
            results.append(maps)
        flat = maps.reshape(len(maps), -1)
        hidden = np.maximum(flat @ self.weights[2].T + self.biases[2], 0)
        self._kept.append((flat, hidden))
        return [*results, hidden, hidden @ self.weights[3].T + self.biases[3]]

    def backward(self, slope: Array) -> list[Array]:
        """Gradients of weights, then of biases, from that of the last layer's result, after `forward`."""
        flat, hidden = self._kept[2]
        gradients = {3: (slope.T @ hidden, slope.sum(axis=0))}
        slope = (slope @ self.weights[3]) * (hidden > 0)
        gradients[2] = (slope.T @ flat, slope.sum(axis=0))
        back = (slope @ self.weights[2]).reshape(-1, 16, 5, 5).transpose(0, 2, 3, 1)
        for layer in (1, 0):
            under, sums, shares = self._kept[layer]
            through = (back[:, :, None, :, None] * shares).reshape(sums.shape) * (sums > 0)
            flat_slope = through.reshape(-1, through.shape[-1])
            gradient = flat_slope.T @ under.reshape(-1, under.shape[-1])
            gradients[layer] = (gradient.reshape(SHAPES[layer]), flat_slope.sum(axis=0))
            if layer:
                back = self._spread(through, self.weights[layer])
        return [gradients[i][0] for i in range(4)] + [gradients[i][1] for i in range(4)]

    @staticmethod
    def _spread(through: Array, weights: Array) -> Array:
        """The gradient of a convolution's input, (n, h, w, channels)."""
        n, rows, columns, _ = through.shape
        kernel = weights.shape[-1]
        back = np.zeros((n, rows + kernel - 1, columns + kernel - 1, weights.shape[1]), np.float32)
        for i in range(kernel):
            for j in range(kernel):
                back[:, i : i + rows, j : j + columns] += through @ weights[:, :, i, j]
        return back
