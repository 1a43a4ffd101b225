# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Walks: whatever the ND-range's shape, the cluster, the slices and the way, every item runs once and has its ids."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from eddy.gpu.launches.launch import extent
from eddy.gpu.launches.packing import Packing
from eddy.gpu.programs.layout import REGION_BASE
from eddy.gpu.programs.ndrange import Arrangement, arrange_ndrange, slices
from eddy.gpu.programs.program import Program
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.programs.walk import Walk, choose_walk
from eddy_sim.gpu.executors import IsaExecutor
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.gpu_kit import compiler

SOURCE = """
#define AT uint w = get_global_size(0), h = get_global_size(1); \\
  uint x = get_global_id(0), i = x - get_global_offset(0), y = get_global_id(1), j = y - get_global_offset(1)
#define COUNT(n, z) global uint *p = out + 4 * (n); p[0]++; p[1] = x; p[2] = y; p[3] = z
kernel void flat(global uint *out) { uint x = get_global_id(0), y = 0; COUNT(x - get_global_offset(0), 0); }
kernel void plane(global uint *out) { AT; COUNT(j * w + i, 0); }
kernel void deep(global uint *out) {
  AT; uint z = get_global_id(2), k = z - get_global_offset(2);
  COUNT((k * h + j) * w + i, z);
}
kernel void long_plane(global uint *out) {
  AT; for (uint k = 0; k < x % 3; k++) out[4 * (j * w + i)] ^= 0; COUNT(j * w + i, 0);
}
kernel void long_deep(global uint *out) {
  AT; uint z = 0, k = get_global_id(2) - get_global_offset(2);
  for (uint r = 0; r < 3; r++) if (r == 2) z = get_global_id(r);
  COUNT((k * h + j) * w + i, z);
}
"""
IDS = {"flat": 1, "plane": 2, "deep": 3, "long_plane": 2, "long_deep": 3}
SHAPES = (ClusterShape(1, 4, 4), ClusterShape(3, 2, 8), ClusterShape(2, 1, 1), ClusterShape(2, 3, 5))


def program() -> Program:
    return compiler().compile(SOURCE)


def ways(shape: ClusterShape, kernel: str, sizes: tuple[int, int, int]) -> list[Walk]:
    """Every walk that the kernel's stub knows."""
    x, y, z = sizes
    known = [
        Walk(0, side, x, y, z, shape.lanes, shape.threads)
        for side in range(1, shape.lanes + 1)
        if y % side == 0 and shape.warps % side == 0
    ]
    if kernel == "flat":
        return [dataclasses.replace(known[0], threads=1)]
    others = [Walk(axis, side, y if axis == 1 else z, x, z if axis == 1 else y, shape.lanes, shape.threads)
              for axis in range(1, IDS[kernel]) for side in range(1, shape.lanes + 1)]  # fmt: skip
    allowed = [*([] if kernel.startswith("long") else known), *others]
    found = [walk for walk in allowed if shape.lanes % walk.side == 0]
    return [*found, *(dataclasses.replace(walk, threads=1) for walk in found)]


def run(shape: ClusterShape, packing: Packing, parts: Iterator[tuple[int, int]], core: bool) -> npt.NDArray[np.uint32]:
    """What slices leave, run one after the other: on the cluster, or each on a core of its own."""
    memory = bytearray(packing.bytes)
    for at, data in packing.fixed():
        memory[at : at + len(data)] = data
    for number, (first, count) in enumerate(parts):
        at, block = packing.core_block(number % shape.cores, first, count) if core else packing.block(first, count)
        memory[at : at + len(block)] = block
        one = dataclasses.replace(shape, cores=1) if core else shape
        assert IsaExecutor(one).execute(memory, REGION_BASE, REGION_BASE + at, 10_000_000).finished
    (placed,) = packing.arrays
    return np.frombuffer(bytes(memory[placed.offset : placed.offset + placed.bytes]), "u4")


def expected(kernel: str, sizes: tuple[int, int, int], offset: tuple[int, ...]) -> npt.NDArray[np.uint32]:
    grid = np.meshgrid(*(np.arange(n) for n in reversed(sizes)), indexing="ij")[::-1]
    ids = [
        (axis + first if k < IDS[kernel] else 0 * axis)
        for k, (axis, first) in enumerate(zip(grid, offset, strict=True))
    ]
    found: npt.NDArray[np.uint32] = np.stack([np.ones_like(grid[0]), *ids], axis=-1).astype("u4").reshape(-1)
    return found


@settings(max_examples=150, deadline=None)
@given(
    kernel=st.sampled_from(sorted(IDS)),
    shape=st.sampled_from(SHAPES),
    sizes=st.tuples(*(st.sampled_from([1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 33]) for _ in range(3))),
    offset=st.tuples(*(st.sampled_from([0, 0, 5]) for _ in range(3))),
    way=st.integers(0, 99),
    step=st.none() | st.integers(1, 40),
    core=st.booleans(),
)
def test_every_item_runs_once_whatever_the_way(kernel, shape, sizes, offset, way, step, core) -> None:  # type: ignore[no-untyped-def]
    sizes = (*sizes[: IDS[kernel]], *(1,) * (3 - IDS[kernel]))
    made, out = program(), np.zeros(4 * math.prod(sizes), "u4")
    plain = arrange_ndrange(shape, made, kernel, sizes, [extent(out)], offset=offset)
    known = ways(shape, kernel, plain.cut_size)
    walk = plain.walk if way % 4 == 0 else known[way % len(known)]
    assert walk is not None
    groups = -(-walk.items // shape.threads)
    arrangement: Arrangement = dataclasses.replace(plain, walk=walk, num_groups=(groups, 1, 1))
    packing = Packing(shape, made, kernel, arrangement, [extent(out)], sliced_on=int(core))
    least = None if step is None else max(step, -(-groups // 12))
    found = run(shape, packing, slices(arrangement, least), core)
    np.testing.assert_array_equal(found, expected(kernel, sizes, offset))


@pytest.mark.parametrize(("kernel", "ids", "short"), [("flat", 1, True), ("plane", 2, True), ("deep", 3, True),
                                                      ("long_plane", 2, False), ("long_deep", 3, False)])  # fmt: skip
def test_what_a_kernel_asks_for_is_found(kernel: str, ids: int, short: bool) -> None:
    found = program().kernel(kernel)
    assert (found.ids, found.short, found.iterates_items) == (ids, short, True)


@pytest.mark.parametrize(
    "sizes", [(16384, 1, 1), (128, 128, 1), (16, 1024, 1), (17, 963, 1), (3, 5, 999), (1, 1, 4096)]
)
def test_no_shape_leaves_many_lanes_without_items(sizes: tuple[int, int, int]) -> None:
    for shape in SHAPES:
        for kernel in ("plane", "deep", "long_deep"):
            walk = choose_walk(shape, sizes, program().kernel(kernel))
            assert walk.items < 1.7 * math.prod(sizes) + shape.lanes
