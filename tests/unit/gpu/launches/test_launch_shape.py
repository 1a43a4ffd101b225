# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How ND-ranges fill lanes, as profiles have it: what is left empty, and how many warps a core keeps."""

from __future__ import annotations

import pytest
from eddy.gpu.programs.ndrange import arrange_ndrange
from eddy.gpu.programs.shape import ClusterShape
from unit.gpu_kit import compiled

PLAIN = "kernel void f(global uint *x) { x[get_global_id(0)] = 1; }"
WAITS = """kernel void f(global uint *x, local uint *t) {
  t[get_local_id(0)] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[get_global_id(0)] = t[0];
}"""


@pytest.mark.parametrize(
    ("source", "whole", "group", "fill", "warps"),
    [
        (PLAIN, (64,), None, 1.0, 4),
        (PLAIN, (1,), None, 0.25, 1),
        (PLAIN, (6,), None, 0.75, 2),
        (WAITS, (8,), (2,), 0.5, 4),
        (WAITS, (16,), (16,), 1.0, 4),
        (WAITS, (12,), (6,), 0.75, 4),
    ],
)
def test_lanes_without_a_work_item(
    source: str, whole: tuple[int, ...], group: tuple[int, ...] | None, fill: float, warps: int
) -> None:
    found = arrange_ndrange(ClusterShape(1, 4, 4), compiled(source), "f", whole, local_size=group).launch_shape(4)
    assert found.global_size == whole
    assert (found.lane_fill, found.core_warps) == (fill, warps)
