# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The fp32 workloads of [000] 5.1.1: k-means clustering with k = 7, and training of a multi-layer perceptron."""

from __future__ import annotations

import numpy as np

from eddy.gpu.launches.launch import Local
from eddy.gpu.workloads.base import Array, Step, Workload, floats, in_order

K = 7
"""Clusters, as [000] 5.1.1 has it."""
GROUP = 16
"""Work-items whose sums are added up in local memory."""


def kmeans(points: int = 1024, dimensions: int = 4, items: int = 128, rounds: int = 2, seed: int = 1) -> Workload:
    """Lloyd's algorithm for a fixed number of rounds.

    Args:
        points: A multiple of `items`.
        dimensions: Of a point.
        items: Work-items that share the points, a multiple of 16; the last sums are one item.
        rounds: Assignments and new centres.
        seed: Of the points.
    """
    rng = np.random.default_rng(seed)
    middles = floats(rng, K, dimensions, low=-10, high=10)
    data = (middles[rng.integers(0, K, points)] + floats(rng, points, dimensions, low=-3, high=3)).astype(np.float32)
    centres = data[:K].copy()
    groups = items // GROUP
    steps: list[Step] = []
    for _ in range(rounds):
        local = (Local(4 * K * dimensions * GROUP), Local(4 * K * GROUP))
        arguments = ("points", "centres", "label", "sums", "counts", *local)
        steps.append(Step("assign", (items,), arguments, (GROUP,)))
        steps.append(Step("centre", (1,), ("sums", "counts", "centres", groups)))
    buffers = {
        **{"points": data.T.copy(), "centres": centres, "label": np.zeros(points, np.int32)},
        **{"sums": np.zeros((K, dimensions, groups), np.float32), "counts": np.zeros((K, groups), np.int32)},
    }
    label, moved = _lloyd(data, centres, items, rounds)
    text = f"{points} points of {dimensions} dimensions, k = {K}, {rounds} rounds"
    wanted = {"label": label, "centres": moved}
    defines = {"K": K, "D": dimensions, "N": points}
    return Workload("k-means", "kmeans.cl", "compute", tuple(steps), buffers, wanted, defines, description=text)


def _lloyd(data: Array, centres: Array, items: int, rounds: int) -> tuple[Array, Array]:
    """The same additions in the same order, each rounded to binary32: by item, by group, then over the groups."""
    centres = centres.copy()
    dimensions = data.shape[1]
    label = np.zeros(len(data), np.int32)
    for _ in range(rounds):
        gaps = [data[:, None, d] - centres[None, :, d] for d in range(dimensions)]
        label = in_order([gap * gap for gap in gaps]).argmin(axis=1).astype(np.int32)
        for k in range(K):
            own = np.where((label == k)[:, None], data, np.float32(0)).reshape(-1, items, dimensions)
            lanes = in_order(list(own)).reshape(-1, GROUP, dimensions)
            total = in_order(list(in_order(list(lanes.swapaxes(0, 1)))))
            count = int((label == k).sum())
            if count:
                centres[k] = total / np.float32(count)
    return label, centres


def mlp(
    samples: int = 64, batch: int = 32, inputs: int = 8, units: int = 16, outputs: int = 4, seed: int = 1
) -> Workload:
    """One pass of mini-batch training; the steps along the gradient are serial.

    Args:
        samples: A multiple of `batch`.
        batch: Samples of one step.
        inputs, units, outputs: Widths of the layers.
        seed: Of data and weights.
    """
    rng = np.random.default_rng(seed)
    x, wanted = floats(rng, samples, inputs), floats(rng, samples, outputs, low=0)
    w, v = floats(rng, units, inputs + 1), floats(rng, outputs, units + 1)
    rate = np.float32(0.1)
    steps: list[Step] = []
    for first in range(0, samples, batch):
        steps += [
            Step("hidden", (units, batch), ("x", "w", "h", first, inputs)),
            Step("output", (batch,), ("h", "v", "wanted", "delta", first, units, outputs)),
            Step("back", (units, batch), ("h", "v", "delta", "gap", outputs)),
            Step("update", (1,), ("h", "delta", "v", 0, batch, units, outputs, rate)),
            Step("update", (1,), ("x", "gap", "w", first, batch, inputs, units, rate)),
        ]
    buffers = {
        **{"x": x, "w": w, "v": v, "wanted": wanted, "h": np.zeros((batch, units), np.float32)},
        **{"delta": np.zeros((batch, outputs), np.float32), "gap": np.zeros((batch, units), np.float32)},
    }
    text = f"{samples} samples, layers of {inputs}, {units} and {outputs}, batches of {batch}"
    trained = _train(x, wanted, w, v, batch, float(rate))
    return Workload(
        "mlp", "mlp.cl", "compute", tuple(steps), buffers, dict(zip("wv", trained, strict=True)), {}, 1e-4, text
    )


def _train(x: Array, wanted: Array, w: Array, v: Array, batch: int, rate: float) -> tuple[Array, Array]:
    """The same in binary64."""
    w, v = w.astype(np.float64), v.astype(np.float64)
    for first in range(0, len(x), batch):
        part = np.hstack([x[first : first + batch], np.ones((batch, 1))])
        h = np.hstack([1 / (1 + np.exp(-part @ w.T)), np.ones((batch, 1))])
        y = 1 / (1 + np.exp(-h @ v.T))
        delta = (y - wanted[first : first + batch]) * y * (1 - y)
        gap = (delta @ v)[:, :-1] * h[:, :-1] * (1 - h[:, :-1])
        v -= rate * delta.T @ h
        w -= rate * gap.T @ part
    return w, v
