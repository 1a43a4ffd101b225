# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Functions of OpenCL C 2.0 and 3.0 over the items of a work-group, whose items read each other's stacks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from eddy.core.errors import CompilationFailed
from eddy.gpu.compilation.build import build
from eddy.gpu.launches.launch import launch
from eddy.gpu.programs.shape import ClusterShape
from eddy_sim.gpu.executors import IsaExecutor, RtlExecutor
from unit.gpu_kit import build_quickly, cluster, compiler

LATER = "-cl-std=CL3.0"
TYPES = {"int": "i4", "uint": "u4", "long": "i8", "ulong": "u8", "float": "f4", "double": "f8", "half": "f2"}
KERNEL = """kernel void over_{t}(global {t} *out, global const {t} *in) {{
  size_t at = get_global_linear_id(), last = get_local_size(0) - 1; {t} x = in[at]; out += 13 * at;
  out[0] = work_group_reduce_add(x); out[1] = work_group_reduce_min(x); out[2] = work_group_reduce_max(x);
  out[3] = work_group_scan_inclusive_add(x); out[4] = work_group_scan_inclusive_min(x);
  out[5] = work_group_scan_inclusive_max(x); out[6] = work_group_scan_exclusive_add(x);
  out[7] = work_group_scan_exclusive_min(x); out[8] = work_group_scan_exclusive_max(x);
  if (get_work_dim() == 1) out[9] = work_group_broadcast(x, last);
  else if (get_work_dim() == 2) out[9] = work_group_broadcast(x, last, 1);
  else out[9] = work_group_broadcast(x, last, 1, 1);
  out[10] = work_group_all(x != 3); out[11] = work_group_any(x == 5); out[12] = get_local_linear_id();
}}"""
SHAPES = [(ClusterShape(1, 4, 4), (8,)), (ClusterShape(1, 2, 16), (61,)), (ClusterShape(1, 3, 5), (17, 3))]
SHAPES += [(ClusterShape(2, 1, 1), (33,)), (ClusterShape(1, 2, 4), (5, 2, 2))]


def folded(values: npt.NDArray[Any], apply: np.ufunc, identity: Any, begin: int, end: int) -> Any:
    """Over the items up to `begin`, sixteen at a time, and one by one from there up to `end`."""
    parts = [apply.accumulate(values[at : at + 16])[-1] for at in range(0, begin, 16)] + [*values[begin:end]]
    return apply.accumulate(np.array(parts, values.dtype))[-1] if parts else identity


def wanted(x: npt.NDArray[Any], group: tuple[int, ...]) -> npt.NDArray[Any]:
    """What the items of one group find."""
    count, kind = len(x), x.dtype
    least, most = (-np.inf, np.inf) if kind.kind == "f" else (np.iinfo(kind).min, np.iinfo(kind).max)
    ways: list[tuple[np.ufunc, Any]] = [(np.add, 0), (np.minimum, most), (np.maximum, least)]
    told = [[folded(x, *way, count, count)] * count for way in ways]
    told += [[folded(x, *way, k // 16 * 16, k + itself) for k in range(count)] for itself in (1, 0) for way in ways]
    at = group[0] - 1 + (group[0] if len(group) > 1 else 0) + (math.prod(group[:2]) if len(group) > 2 else 0)
    told += [[x[at]] * count, [(x != 3).all()] * count, [(x == 5).any()] * count, [*range(count)]]
    return np.array([np.array(row, kind) for row in told]).T


@pytest.mark.parametrize("name", TYPES)
def test_every_type_as_numpy_has_it_in_one_order_on_every_cluster(name: str) -> None:
    program = build(compiler(), KERNEL.format(t=name), options=LATER)
    kind = np.dtype(TYPES[name])
    for seed, (shape, group) in enumerate(SHAPES):
        items = math.prod(group)
        draw = np.random.default_rng(seed)
        x = draw.normal(size=2 * items) if kind.kind == "f" else draw.integers(0, 1 << 40, 2 * items) >> 33
        x = x.astype(kind)
        out = np.zeros((2 * items, 13), kind)
        size = (*group[:-1], 2 * group[-1])
        launch(cluster(shape, seed=seed), program, f"over_{name}", size, [out, x], local_size=group)
        told = [wanted(part, group) for part in (x[:items], x[items:])]
        np.testing.assert_array_equal(out, np.concatenate(told), err_msg=f"{shape.name} {group}")


WIDE = """kernel void wide(global long *out, global const long16 *in) {
  size_t i = get_global_linear_id(); long16 kept[2] = {in[i], in[i] * 2}; long *at = (long *)kept; long sums = 0;
  for (int k = 0; k < 3; k++) sums = 10 * sums + work_group_reduce_max(at[(i + k) & 31]);
  at[i * 7 & 31] = sums;
  out[i] = at[i & 15] + work_group_scan_exclusive_add(sums & 7);
}"""


@pytest.mark.parametrize("stack", [0, 4096])
def test_variables_aligned_beyond_the_stack_lie_at_equal_distances_too(stack: int) -> None:
    """In local memory and in the region; one call several times in a loop."""
    program = build(compiler(), WIDE, options=LATER)
    for shape, group in ((ClusterShape(1, 4, 4), 33), (ClusterShape(1, 2, 16), 8)):
        x, out = np.random.default_rng(1).integers(0, 99, (2 * group, 16)), np.zeros(2 * group, "i8")
        launch(cluster(shape), program, "wide", (2 * group,), [out, x], local_size=(group,), stack_bytes=stack)
        kept, i = np.concatenate([x, 2 * x], 1), np.arange(2 * group)
        most = [kept[i, (i + k) & 31].reshape(2, group).max(1) for k in range(3)]
        sums = np.repeat(most[0] * 100 + most[1] * 10 + most[2], group)
        kept[i, i * 7 & 31] = sums
        scan = np.cumsum((sums & 7).reshape(2, group), 1).ravel() - (sums & 7)
        np.testing.assert_array_equal(out, kept[i, i & 15] + scan)


def test_they_are_of_the_later_versions() -> None:
    feature = "#ifndef __opencl_c_work_group_collective_functions\n#error no\n#endif\nkernel void k() { }"
    build(compiler(), feature, options="-cl-std=CL2.0")
    with pytest.raises(CompilationFailed, match="no"):
        build(compiler(), feature)
    own = "int work_group_all(int x) { return 3 * x; } kernel void k(global int *out) { out[0] = work_group_all(2); }"
    out = np.zeros(1, "i4")
    launch(cluster(), build(compiler(), own), "k", (1,), [out])
    assert out[0] == 6


@pytest.mark.rtl
def test_the_cores_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    build_quickly(monkeypatch)
    shape = ClusterShape(1, 2, 2, fpu=False)
    program = build(compiler(), KERNEL.format(t="int"), fpu=False, options=LATER)
    x = np.arange(18, dtype="i4")[::-1].copy()
    found = []
    for executor in (IsaExecutor(shape), RtlExecutor(shape)):
        out = np.zeros((18, 13), "i4")
        launch(executor, program, "over_int", (18,), [out, x], local_size=(9,))
        found.append(out)
    np.testing.assert_array_equal(found[1], np.concatenate([wanted(x[:9], (9,)), wanted(x[9:], (9,))]))
    np.testing.assert_array_equal(found[0], found[1])
