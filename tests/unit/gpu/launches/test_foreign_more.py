# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Programs in the style of further Rodinia, Parboil and Vortex ones: images, atomics, headers, groups of 64 to 256."""

from __future__ import annotations

import numpy as np
from eddy.gpu.launches.launch import ImageArgument, Local
from unit.gpu.launches.test_foreign_rodinia import RNG, floats, program, run


def test_match() -> None:
    made = program("vision.cl", "-D RD_WG_SIZE_0=256 -I ./ -cl-fast-relaxed-math", frame_h="frame.h")
    kinds = [(name, "i4") for name in ("frame_rows", "rows", "cols", "place_rows", "places")]
    common = np.zeros(1, np.dtype([*kinds, ("frame_bytes", "i8"), ("scale", "f4")], align=True))
    common[0] = (40, 5, 4, 18, 18 * 20, 4800, 0.5)
    frame, templates = floats(30, 40), floats(3, 4, 5)
    rows, cols = RNG.integers(0, 18, 3).astype("i4"), RNG.integers(0, 7, 3).astype("i4")
    score, best = np.zeros((3, 20, 18), "f4"), np.zeros(3, "i4")
    run(made, "match", (3 * 256,), (256,), common[0], frame, rows, cols, templates, score, best)
    windows = np.lib.stride_tricks.sliding_window_view(frame, (4, 5))
    wanted = [(windows[c : c + 20, r : r + 18] * t).sum((2, 3)) for r, c, t in zip(rows, cols, templates, strict=True)]
    np.testing.assert_allclose(score, 0.5 * np.array(wanted), rtol=1e-5)
    np.testing.assert_array_equal(best, score.reshape(3, -1).argmax(1))


def test_images() -> None:
    made = program("vision.cl", frame_h="frame.h")
    frame, other = (RNG.integers(0, 256, (8, 12), "u1") for _ in range(2))
    sums = np.zeros((2, 3, 8, 8), "u2")
    reference = ImageArgument(other[:, :, None], "r", "unsigned_int8")
    run(made, "differences", (24, 16), (8, 8), sums, reference, frame, 12)
    wide = np.lib.stride_tricks.sliding_window_view(np.pad(other, 4, mode="edge"), (4, 4)).astype(int)
    for y, x in np.ndindex(2, 3):
        block = frame[4 * y : 4 * y + 4, 4 * x : 4 * x + 4]
        wanted = abs(wide[4 * y : 4 * y + 8, 4 * x : 4 * x + 8] - block).sum((2, 3))
        np.testing.assert_array_equal(sums[y, x], wanted)
    image, element, out = floats(16, 12), RNG.integers(0, 2, (5, 5), "u1"), np.zeros((16, 12), "f4")
    texels = ImageArgument(image[:, :, None], "r", "float")
    run(made, "dilate", (256,), (64,), 16, 12, element, 5, texels, out)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(image, 2), (5, 5))
    np.testing.assert_array_equal(out, (windows * element).max((2, 3)))


def test_lattice_and_grid() -> None:
    made = program("particles.cl", "-DOMEGA=1.95f")
    cells, after = floats(100, 3) + np.float32(0.1), np.zeros((100, 3), "f4")
    run(made, "relax", (128,), (64,), cells, after, 100)
    centre, north, south = cells.T.astype("f8")
    mass = centre + north + south
    rest = -0.95 * centre + 1.95 * 2 / 3 * mass * (1 - 1.5 * ((north - south) / mass) ** 2)
    np.testing.assert_allclose(after, np.stack([rest, (mass - rest) / 2, (mass - rest) / 2], 1), rtol=1e-4, atol=1e-5)
    atoms, grid = floats(10, 4) + np.float32(0.1), np.zeros((16, 32), "f4")
    run(made, "potential", (32, 16), (16, 16), grid, atoms, 10, 0.0625, 0.5)
    y, x = np.mgrid[:16, :32] * 0.0625
    r2 = (x[..., None] - atoms[:, 0]) ** 2 + (y[..., None] - atoms[:, 1]) ** 2 + atoms[:, 2] ** 2
    wanted = np.where(r2 < 0.5, atoms[:, 3] / np.sqrt(r2) * (1 - r2 / 0.5) ** 2, 0).sum(2)
    np.testing.assert_allclose(grid, wanted, rtol=1e-4, atol=1e-5)


def test_particles_and_pairs() -> None:
    made, n = program("particles.cl", "-DOMEGA=1"), 100
    weights, sums, chosen, seed = floats(n), np.zeros(n, "f4"), np.zeros(n, "i4"), np.array([77], "u4")
    run(made, "resample", (128,), (128,), weights, sums, chosen, seed, n)
    total = np.cumsum(weights, dtype="f4")
    np.testing.assert_array_equal(sums, total)
    start = np.float32((77 * 1103515245 + 12345) % 2**32 >> 8) / np.float32(1 << 24)
    wanted = np.searchsorted(total, (start + np.arange(n, dtype="f4")) * (total[-1] / np.float32(n)))
    np.testing.assert_array_equal(chosen, np.minimum(wanted, n - 1))
    points, bounds, counts = floats(60, 2), np.array([1.2, 1, 0.8, 0.6, 0.4, 0.2, 0.1], "f4"), np.zeros(8, "u4")
    run(made, "angles", (60 * 64,), (64,), points, 60, bounds, counts)
    cosines = (points[:, :1] * points[:, 0] + points[:, 1:] * points[:, 1])[np.triu_indices(60, 1)]
    bins = (cosines[:, None] < bounds).sum(1)
    np.testing.assert_array_equal(counts, np.bincount(bins, minlength=8))


def test_transforms() -> None:
    made = program("transforms.cl", "-DTHREADS=128")
    lines, out = floats(6, 256), np.zeros((6, 256), "f4")
    run(made, "wavelet", (8 * 128,), (128,), lines, out, 6)
    wanted = lines.astype("f8")
    for k, by in enumerate((-1.586134342, -0.05298011854, 0.8829110762, 0.4435068522)):
        wide = np.pad(wanted, ((0, 0), (1, 1)), mode="reflect")
        at = slice(1 - k % 2, None, 2)
        wanted[:, at] += by * (wide[:, :-2] + wide[:, 2:])[:, at]
    halves = np.hstack([wanted[:, ::2] * 1.230174105, wanted[:, 1::2] / 1.230174105])
    np.testing.assert_allclose(out, halves, rtol=1e-4, atol=1e-5)
    numbers = RNG.integers(-(2**31), 2**31, (32, 8)).astype("i4")
    merged, runs = np.zeros((8, 32), "i4"), np.sort(numbers.reshape(16, 16), 1)
    run(made, "merge", (8,), (4,), runs, merged, 16)
    np.testing.assert_array_equal(merged, np.sort(numbers.reshape(8, 32), 1))
    keys, counts = RNG.integers(0, 2**32, (2, 512), dtype="u4"), np.zeros((2, 16), "u4")
    run(made, "digits", (128,), (64,), keys, counts, 4, Local(64 * 16 * 2))
    np.testing.assert_array_equal(counts, [np.bincount(k >> 4 & 15, minlength=16) for k in keys])
    power, heat, after = floats(5, 8, 64), floats(5, 8, 64), np.zeros((5, 8, 64), "f4")
    run(made, "heat", (64, 8), (64, 4), power, heat, after, 64, 8, 5, 0.1, 0.4)
    wide = np.pad(heat, 1, mode="edge")
    parts = [np.roll(wide, step, axis)[1:-1, 1:-1, 1:-1] for axis in range(3) for step in (-1, 1)]
    np.testing.assert_allclose(after, 0.4 * heat + 0.1 * sum(parts) + power, rtol=1e-5)
