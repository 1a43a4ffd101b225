# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels in the style of PolyBench, with groups of 256 and 32 x 8, against numpy on a small cluster."""

from __future__ import annotations

import numpy as np
from unit.gpu.launches.test_foreign_rodinia import floats, program, run

ROW, SQUARE = (256,), (32, 8)


def test_products() -> None:
    made = program("polybench.cl")
    ni, nj, nk = 24, 40, 20
    a, b, c = floats(ni, nk), floats(nk, nj), floats(ni, nj)
    before = c.copy()
    run(made, "gemm", (64, 24), SQUARE, a, b, c, 1.5, 0.5, ni, nj, nk)
    np.testing.assert_allclose(c, 0.5 * before + 1.5 * (a @ b), rtol=1e-5)
    nx, ny = 60, 50
    matrix, x, rows, y = floats(nx, ny), floats(ny), np.zeros(nx, "f4"), np.zeros(ny, "f4")
    run(made, "atax1", (256,), ROW, matrix, x, rows, nx, ny)
    run(made, "atax2", (256,), ROW, matrix, y, rows, nx, ny)
    np.testing.assert_allclose(y, matrix.T @ (matrix @ x), rtol=1e-5)
    n = 48
    first, second, v = floats(n, n), floats(n, n), floats(n)
    out, rest = np.zeros(n, "f4"), np.zeros(n, "f4")
    run(made, "gesummv", (256,), ROW, first, second, v, out, rest, 2.0, 3.0, n)
    np.testing.assert_allclose(out, 2 * (first @ v) + 3 * (second @ v), rtol=1e-5)


def test_stencils() -> None:
    made, side = program("polybench.cl"), 30
    a, b = floats(side, side), np.zeros((side, side), "f4")
    run(made, "conv2d", (32, 32), SQUARE, a, b, side, side)
    weights = np.array([[0.2, 0.5, -0.8], [-0.3, 0.6, -0.9], [0.4, 0.7, 0.1]])
    inner = sum(weights[i, j] * a[i : side - 2 + i, j : side - 2 + j] for i in range(3) for j in range(3))
    np.testing.assert_allclose(b[1:-1, 1:-1], inner, rtol=1e-4, atol=1e-6)
    assert not b[0].any()
    nx, ny = 20, 28
    fict, ex, ey, hz = floats(4), floats(nx, ny + 1), floats(nx, ny), floats(nx, ny)
    was_x, was_y = ex.copy(), ey.copy()
    run(made, "fdtd1", (32, 24), SQUARE, fict, ex, ey, hz, 2, nx, ny)
    run(made, "fdtd2", (32, 24), SQUARE, ex, ey, hz, nx, ny)
    np.testing.assert_allclose(
        ey, np.vstack([np.full((1, ny), fict[2]), was_y[1:] - 0.5 * np.diff(hz, axis=0)]), rtol=1e-5
    )
    np.testing.assert_allclose(ex[:, 1:ny], was_x[:, 1:ny] - 0.5 * np.diff(hz, axis=1), rtol=1e-5, atol=1e-6)
    n = 12
    cube, out = floats(n, n, n), np.zeros((n, n, n), "f4")
    run(made, "conv3d", (16, 12, 12), (16, 4, 4), cube, out, n)
    c = cube[1:-1, 1:-1]
    wanted = 2 * cube[:-2, 1:-1, 1:-1] - 3 * cube[2:, 1:-1, 1:-1] + 4 * cube[1:-1, :-2, 1:-1] + 5 * cube[1:-1, 2:, 1:-1]
    np.testing.assert_allclose(out[1:-1, 1:-1, 1:-1], wanted - 6 * c[..., :-2] + 7 * c[..., 2:], rtol=1e-4, atol=1e-5)


def test_correlation() -> None:
    made, m, n = program("polybench.cl"), 10, 30
    data, mean, deviation = floats(n + 1, m + 1), np.zeros(m + 1, "f4"), np.zeros(m + 1, "f4")
    run(made, "mean_kernel", (256,), ROW, mean, data, float(n), m, n)
    run(made, "std_kernel", (256,), ROW, mean, deviation, data, float(n), 0.005, m, n)
    inner = data[1:, 1:]
    np.testing.assert_allclose(mean[1:], inner.mean(0), rtol=1e-5)
    np.testing.assert_allclose(deviation[1:], inner.std(0), rtol=1e-5)
    scaled = data.copy()
    scaled[1:, 1:] = (inner - mean[1:]) / (np.sqrt(np.float32(n)) * deviation[1:])
    symmetric = np.zeros((m + 1, m + 1), "f4")
    run(made, "corr_kernel", (256,), ROW, symmetric, scaled, m, n)
    symmetric[m, m] = 1
    np.testing.assert_allclose(symmetric[1:, 1:], np.corrcoef(inner.T), rtol=1e-3, atol=1e-4)
    a, r, q = floats(20, 6), np.zeros((6, 6), "f4"), np.zeros((20, 6), "f4")
    run(made, "gram1", (256,), ROW, a, r, q, 2, 20, 6)
    np.testing.assert_allclose(r[2, 2], np.linalg.norm(a[:, 2]), rtol=1e-5)
