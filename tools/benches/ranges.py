# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the shape of an ND-range costs: cycles an item on the RTL of one core, with memory near and far.

The same work as one long row, as a square, as tall and as deep ranges: an empty kernel, one that looks at its ids, a
sum of arrays, a five-point stencil, a transpose, a sparse product. `--only` chooses kernels by how their names begin;
results are checked against numpy.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.launches.launch import launch
from eddy.gpu.programs.shape import ClusterShape
from eddy_sim.gpu.executors import RtlExecutor

Array = npt.NDArray[Any]
Case = tuple[str, str, tuple[int, ...], tuple[int, ...] | None, list[object], Callable[[], Array], float]
"""Figure, kernel, sizes, work-group, arguments (the result is the last array), what it should be, parts of work."""
SIDE = 128
SOURCE = """
kernel void empty(global float *a) {}
kernel void corner(global float *a, uint n) {
  const uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  if (x + 3 * y + 5 * z == n) a[0] = 1.0f;
}
kernel void add(global const float *a, global const float *b, global float *c) {
  const uint i = get_global_id(0);
  c[i] = a[i] + b[i];
}
kernel void add4(global const float4 *a, global const float4 *b, global float4 *c) {
  const uint i = get_global_id(0);
  c[i] = a[i] + b[i];
}
kernel void add2d(global const float *a, global const float *b, global float *c) {
  const uint i = get_global_id(1) * get_global_size(0) + get_global_id(0);
  c[i] = a[i] + b[i];
}
kernel void stencil(global const float *a, uint w, uint h, global float *c) {
  const uint x = get_global_id(0), y = get_global_id(1), i = y * w + x;
  if (x > 0 && y > 0 && x < w - 1 && y < h - 1)
    c[i] = 0.2f * (a[i] + a[i - 1] + a[i + 1] + a[i - w] + a[i + w]);
}
kernel void stencil_flat(global const float *a, uint w, uint h, global float *c) {
  const uint i = get_global_id(0);
  if (i >= w && i < w * (h - 1)) c[i] = 0.2f * (a[i] + a[i - 1] + a[i + 1] + a[i - w] + a[i + w]);
}
kernel void swap(global const float *a, uint w, uint h, global float *c) {
  c[get_global_id(0) * h + get_global_id(1)] = a[get_global_id(1) * w + get_global_id(0)];
}
kernel void spmv(global const uint *starts, global const uint *columns, global const float *v, global const float *x,
                 global float *y) {
  const uint row = get_global_id(0);
  float sum = 0.0f;
  for (uint k = starts[row]; k < starts[row + 1]; k++) sum += v[k] * x[columns[k]];
  y[row] = sum;
}
"""


def _around(a: Array) -> Array:
    """The stencil of every element, as if rows went on one behind the other."""
    w, flat = a.shape[1], a.ravel()
    left, right, up, down = (np.roll(flat, by) for by in (1, -1, w, -w))
    around: Array = np.float32(0.2) * (flat + left + right + up + down)
    return around.reshape(a.shape)


def _within(a: Array, rows: slice, columns: slice) -> Array:
    wanted = np.zeros_like(a)
    wanted[rows, columns] = _around(a)[rows, columns]
    return wanted


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """What is measured."""
    n = SIDE * SIDE
    a, b = (rng.random((SIDE, SIDE), dtype="f4") for _ in range(2))

    def out() -> Array:
        return np.zeros((SIDE, SIDE), "f4")

    for size in ((n,), (128, 128), (64, 256), (16, 1024), (1024, 16), (17, 963), (16, 16, 64), (4, 4, 1024)):
        items = float(np.prod(size))
        yield f"empty {size}", "empty", size, None, [np.zeros(4, "f4")], lambda: np.zeros(4, "f4"), items
        last = sum(by * (side - 1) for by, side in zip((1, 3, 5), size, strict=False))
        yield f"ids {size}", "corner", size, None, [np.zeros(1, "f4"), last], lambda: np.ones(1, "f4"), items
    yield "add", "add", (n,), None, [a, b, out()], lambda: a + b, n
    yield "add float4, an element", "add4", (n // 4,), None, [a, b, out()], lambda: a + b, n
    for size in ((128, 128), (16, 1024)):
        yield f"add {size}", "add2d", size, None, [a, b, out()], lambda: a + b, n
    inner = slice(1, -1)
    sides = (SIDE, SIDE)
    yield "stencil 2-D", "stencil", sides, None, [a, *sides, out()], lambda: _within(a, inner, inner), n
    yield "stencil 2-D, groups", "stencil", sides, (16, 16), [a, *sides, out()], lambda: _within(a, inner, inner), n
    yield "stencil flat", "stencil_flat", (n,), None, [a, *sides, out()], lambda: _within(a, inner, slice(None)), n
    yield "transpose 2-D", "swap", sides, None, [a, *sides, out()], lambda: np.ascontiguousarray(a.T), n
    yield _sparse(rng)


def _sparse(rng: np.random.Generator) -> Case:
    rows, most = 256, 16
    lengths = rng.integers(0, most, rows)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype("u4")
    columns = rng.integers(0, rows, int(starts[-1])).astype("u4")
    v, x, y = rng.random(columns.size, dtype="f4"), rng.random(rows, dtype="f4"), np.zeros(rows, "f4")
    wanted = np.zeros(rows, "f4")
    for row in range(rows):
        for k in range(starts[row], starts[row + 1]):
            wanted[row] += v[k] * x[columns[k]]
    return "spmv, a nonzero", "spmv", (rows,), None, [starts, columns, v, x, y], lambda: wanted, columns.size


OPTIONS: dict[str, dict[str, Any]] = {
    "--only": {"nargs": "*", "default": [""], "help": "how names of kernels begin"},
    "--latencies": {"nargs": "*", "type": int, "default": [20, 80], "help": "of memory, in cycles"},
    "--warps": {"type": int, "default": 4},
    "--threads": {"type": int, "default": 4},
    "--cores": {"type": int, "default": 1},
}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Cycles an item by latency of memory."""
    program, shape = Compiler().compile(SOURCE), ClusterShape(options.cores, options.warps, options.threads)
    found: dict[str, list[float]] = {}
    for latency in options.latencies:
        executor = RtlExecutor(shape, latency=latency)
        for name, kernel, size, group, arguments, wanted, parts in cases(np.random.default_rng(1)):
            if not name.startswith(tuple(options.only)):
                continue
            done = launch(executor, program, kernel, size, arguments, local_size=group)
            arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
            if not np.array_equal(arrays[-1], wanted()):
                raise SystemExit(f"{name} is wrong")
            found.setdefault(name, []).append(done.cycles / parts)
    return found
