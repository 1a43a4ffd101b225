# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Slices of one kernel on single cores, side by side in one region, give what a launch on the whole cluster gives."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.gpu.launches.launch import extent
from eddy.gpu.launches.packing import Packing
from eddy.gpu.programs.layout import REGION_BASE
from eddy.gpu.programs.ndrange import Local, arrange_ndrange, slices
from eddy.gpu.programs.shape import ClusterShape
from eddy_sim.gpu.executors import IsaExecutor
from unit.gpu_kit import compiler

SHAPE = ClusterShape(3, 2, 4)
ONE = ClusterShape(1, 2, 4)
SOURCE = """
kernel void plain(global uint *y) {
  uint i = get_global_id(0);
  volatile uint kept[8];
  for (uint k = 0; k < 8; k++) kept[k] = i * k;
  for (uint k = 0; k < 8; k++) y[i] += kept[k];
  if (i % 16 == 3) printf("%u\\n", i);
}
kernel void grid(global uint *y) { y[get_global_id(1) * get_global_size(0) + get_global_id(0)] += get_group_id(1) + 1; }
kernel void turned(global uint *y, local uint *t) {
  uint l = get_local_id(0), n = get_local_size(0);
  t[l] = get_global_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  y[get_global_id(0)] += t[n - 1 - l];
}
"""


@pytest.mark.parametrize(
    ("kernel", "size", "local"),
    [("plain", (200,), None), ("grid", (24, 9), (4, 3)), ("turned", (128,), (8,)), ("turned", (64,), (16,))],
)
def test_slices_on_single_cores_do_what_the_whole_launch_does(
    kernel: str, size: tuple[int, ...], local: tuple[int, ...] | None
) -> None:
    program = compiler().compile(SOURCE, fpu=True)
    y = np.zeros(int(np.prod(size)), "u4")
    arguments = [extent(y), *([Local(64)] if kernel == "turned" else [])]
    arrangement = arrange_ndrange(SHAPE, program, kernel, size, arguments, local_size=local)
    packing = Packing(SHAPE, program, kernel, arrangement, arguments, sliced_on=1)

    def region() -> bytearray:
        memory = bytearray(packing.bytes)
        for at, data in packing.fixed():
            memory[at : at + len(data)] = data
        return memory

    whole, parts = region(), region()
    at, block = packing.block(0, arrangement.groups)
    whole[at : at + len(block)] = block
    assert IsaExecutor(SHAPE).execute(whole, REGION_BASE, packing.block_address, 10_000_000).finished
    for number, (first, count) in enumerate(slices(arrangement, 3)):
        at, block = packing.core_block(number % SHAPE.cores, first, count)
        parts[at : at + len(block)] = block
        assert IsaExecutor(ONE).execute(parts, REGION_BASE, REGION_BASE + at, 10_000_000).finished
    (placed,) = packing.arrays
    found, wanted = (np.frombuffer(m[placed.offset : placed.offset + placed.bytes], "u4") for m in (parts, whole))
    np.testing.assert_array_equal(found, wanted)
    assert wanted.any()
    logs = [packing.log(lambda at, n, m=m: bytes(m[at : at + n])) for m in (parts, whole)]  # type: ignore[misc]
    assert sorted(logs[0].split()) == sorted(logs[1].split())
    assert bool(logs[1]) == (kernel == "plain")


def test_cores_share_neither_stacks_nor_blocks() -> None:
    program = compiler().compile(SOURCE, fpu=True)
    arguments = [extent(np.zeros(64, "u4"))]
    arrangement = arrange_ndrange(SHAPE, program, "plain", (64,), arguments)
    packing = Packing(SHAPE, program, "plain", arrangement, arguments, sliced_on=1)
    blocks = [packing.core_block(core, 0, 1) for core in range(SHAPE.cores)]
    ends = [at + len(data) for at, data in blocks]
    assert all(end <= at for end, (at, _) in zip(ends, blocks[1:], strict=False))
    assert ends[-1] <= packing.bytes
    assert len({data for _, data in blocks}) == SHAPE.cores
