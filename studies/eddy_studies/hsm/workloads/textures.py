# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""DXT1 compression of textures by cluster fit, and what decodes it."""

from __future__ import annotations

import numpy as np
from eddy.gpu.launches.launch import Local
from eddy.gpu.workloads.base import Array, Step, Workload

from eddy_studies.hsm.workloads.common import source


def texture(blocks: int, *, seed: int = 1) -> Workload:
    """So many blocks of sixteen colours; compared is the squared error of each, which the least one found has.

    Codes may differ from the reference's where two cuts are as good as each other; `decoded` shows what they are worth.
    """
    rng = np.random.default_rng(seed)
    ends = rng.uniform(0, 1, (2, blocks, 3, 1))
    mix = rng.uniform(0, 1, (blocks, 1, 16))
    pixels = ends[0] * mix + ends[1] * (1 - mix) + rng.normal(0, 0.03, (blocks, 3, 16))
    pixels = np.clip(pixels, 0, 1).astype(np.float32)
    local = (Local(4 * 48), Local(4 * 48), Local(4 * 51), Local(64), Local(64), Local(64))
    step = Step("dxtc", (16 * blocks,), ("pixels", "codes", "errors", *local), (16,))
    buffers = {"pixels": pixels, "codes": np.zeros((blocks, 2), np.uint32), "errors": np.zeros(blocks, np.float32)}
    wanted = {"errors": np.array([_least(block.astype(np.float64)) for block in pixels])}
    text = f"{blocks} blocks of 16 colours"
    return Workload("DXTC", source("texture.cl"), "compute", (step,), buffers, wanted, {}, 2e-2, text)


def decoded(codes: Array) -> Array:
    """The colours of compressed blocks, of shape (blocks, 3, 16), between 0 and 1."""
    ends = np.stack([codes[:, 0] & 0xFFFF, codes[:, 0] >> 16], axis=1)
    colours = np.stack([(ends >> 11) / 31, (ends >> 5 & 63) / 63, (ends & 31) / 31], axis=2)
    a, b = colours[:, 0], colours[:, 1]
    palette = np.stack([a, b, (2 * a + b) / 3, (a + 2 * b) / 3], axis=1)
    which = codes[:, 1:] >> (2 * np.arange(16, dtype=np.uint32)) & 3
    return np.asarray(palette[np.arange(len(codes))[:, None], which]).transpose(0, 2, 1)


def _least(block: Array) -> float:
    """The least squared error of any cut of the colours' order along their principal axis."""
    centred = block - block.mean(axis=1, keepdims=True)
    covariance, axis = centred @ centred.T, np.ones(3)
    for _ in range(8):
        turned = covariance @ axis
        axis = turned / np.abs(turned).max() if np.abs(turned).max() > 0 else axis
    ordered = block[:, np.argsort(axis @ block, kind="stable")]
    cuts = np.array([(i, j, k) for i in range(17) for j in range(i, 17) for k in range(j, 17)])
    place = (np.arange(16)[None, None] >= cuts[:, :, None]).sum(axis=1)
    weight = np.array([1, 2 / 3, 1 / 3, 0])[place]
    near, far, cross = (weight**2).sum(1), ((1 - weight) ** 2).sum(1), (weight * (1 - weight)).sum(1)
    det = near * far - cross**2
    kept = det >= 1e-4
    near, far, cross, det, weight = near[kept], far[kept], cross[kept], det[kept], weight[kept]
    a, b = weight @ ordered.T, (1 - weight) @ ordered.T
    grid = np.array([31.0, 63.0, 31.0])

    def quantised(colours: Array) -> Array:
        return np.asarray(np.floor(np.clip(colours, 0, 1) * grid + 0.5) / grid)

    start = quantised((a * far[:, None] - b * cross[:, None]) / det[:, None])
    end = quantised((b * near[:, None] - a * cross[:, None]) / det[:, None])
    left = weight[:, None, :] * start[:, :, None] + (1 - weight)[:, None, :] * end[:, :, None] - ordered[None]
    return float((left**2).sum(axis=(1, 2)).min())
