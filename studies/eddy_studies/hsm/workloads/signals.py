# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Signals: fast Walsh transform, convolutions, and the reconstruction of magnetic resonance images."""

from __future__ import annotations

import numpy as np
from eddy.gpu.launches.launch import Local
from eddy.gpu.workloads.base import Step, Workload, floats

from eddy_studies.hsm.workloads.common import source

RADIUS = 8
"""Of the separable convolution, as the published program has it."""


def walsh(bits: int, chunk_bits: int, *, seed: int = 1) -> Workload:
    """The transform of 2**bits numbers; `bits - chunk_bits` is even: steps of radix four over memory."""
    data = floats(np.random.default_rng(seed), 1 << bits)
    steps = []
    for stride_bits in range(bits - 2, chunk_bits - 1, -2):
        steps.append(Step("walsh_radix4", (1 << (bits - 2),), ("data", 1 << stride_bits)))
    local = Local(4 << chunk_bits)
    steps.append(Step("walsh_local", (16 << (bits - chunk_bits),), ("data", local), (16,)))
    wanted = data.astype(np.float64)
    for k in range(bits):
        pairs = wanted.reshape(-1, 2, 1 << k)
        wanted = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], 1).reshape(-1)
    defines = {"CHUNK": 1 << chunk_bits, "ITEMS": 16}
    return Workload(
        *("FWT", source("walsh.cl"), "memory", tuple(steps), {"data": data}, {"data": wanted}, defines, 5e-3),
        f"{1 << bits} numbers, the last {1 << chunk_bits} in local memory",
    )


def conv3x3(width: int, height: int, *, seed: int = 1) -> Workload:
    """PolyBench's square of three by three over an image; its border stays."""
    image = floats(np.random.default_rng(seed), height, width)
    taps = np.array([[0.2, -0.3, 0.4], [0.5, 0.6, 0.7], [-0.8, -0.9, 0.1]])
    wanted = np.zeros((height, width))
    for dy in range(3):
        for dx in range(3):
            part = image[dy : dy + height - 2, dx : dx + width - 2].astype(np.float64)
            wanted[1:-1, 1:-1] += taps[dy, dx] * part
    step = Step("conv3x3", (width - 2, height - 2), ("in", "out", width))
    buffers = {"in": image, "out": np.zeros_like(image)}
    text = f"{height} x {width}"
    return Workload("2DCONV", source("convolution.cl"), "memory", (step,), buffers, {"out": wanted}, {}, 1e-2, text)


def separable(width: int, height: int, *, tile: int = 64, seed: int = 1) -> Workload:
    """Along rows, then along columns; sides are multiples of 16 and of the tile (height: 16 at least)."""
    rng = np.random.default_rng(seed)
    image, taps = floats(rng, height, width), floats(rng, 2 * RADIUS + 1)
    padded = np.pad(image.astype(np.float64), RADIUS)
    rows = sum(taps[t] * padded[RADIUS:-RADIUS, t : t + width] for t in range(2 * RADIUS + 1))
    padded = np.pad(np.asarray(rows), RADIUS)
    wanted = sum(taps[t] * padded[t : t + height, RADIUS:-RADIUS] for t in range(2 * RADIUS + 1))
    span, columns = tile + 2 * RADIUS, (width, height // tile)
    along = ("in", "taps", "middle", width, Local(4 * span))
    down = ("middle", "taps", "out", width, height, Local(4 * 16 * span))
    steps = (
        Step("separable_rows", (16 * (width // tile), height), along, (16, 1)),
        Step("separable_columns", columns, down, (16, 1)),
    )
    zeros = np.zeros_like(image)
    buffers = {"in": image, "taps": taps, "middle": zeros, "out": zeros.copy()}
    defines = {"R": RADIUS, "TILE": tile}
    return Workload(
        *("CONVS", source("convolution.cl"), "memory", steps, buffers, {"out": np.asarray(wanted)}, defines, 1e-2),
        f"{height} x {width}, radius {RADIUS}",
    )


def magnetic(voxels: int, samples: int, *, seed: int = 1) -> Workload:
    """Matrix Q of so many voxels from so many samples of k-space; the reference is in binary64."""
    rng = np.random.default_rng(seed)
    k = [floats(rng, samples) for _ in range(3)]
    at = [floats(rng, voxels) for _ in range(3)]
    real, imaginary = floats(rng, samples), floats(rng, samples)
    angle = 2 * np.pi * sum(np.outer(p.astype(np.float64), q.astype(np.float64)) for p, q in zip(at, k, strict=True))
    magnitude = real.astype(np.float64) ** 2 + imaginary.astype(np.float64) ** 2
    steps = (
        Step("mri_magnitude", (samples,), ("real", "imaginary", "magnitude")),
        Step("mri_q", (voxels,), ("kx", "ky", "kz", "magnitude", "x", "y", "z", "q_real", "q_imaginary", samples)),
    )
    zeros = np.zeros(voxels, np.float32)
    buffers = {
        **dict(zip(("kx", "ky", "kz", "x", "y", "z"), (*k, *at), strict=True)),
        **{"real": real, "imaginary": imaginary, "magnitude": np.zeros(samples, np.float32)},
        **{"q_real": zeros, "q_imaginary": zeros.copy()},
    }
    wanted = {"q_real": np.cos(angle) @ magnitude, "q_imaginary": np.sin(angle) @ magnitude}
    text = f"{voxels} voxels, {samples} samples"
    return Workload("MRI-Q", source("mri.cl"), "compute", steps, buffers, wanted, {}, 5e-3, text)
