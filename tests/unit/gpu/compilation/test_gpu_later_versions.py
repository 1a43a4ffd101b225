# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""OpenCL C 2.0 and 3.0, as far as it costs little: generic pointers, atomic types with their orders."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.core.errors import CompilationFailed
from eddy.gpu.compilation.build import build
from eddy.gpu.compilation.build_options import parse
from eddy.gpu.launches.launch import launch
from unit.gpu_kit import SHAPES, cluster, compiler

GENERIC = """int twice(const int *p) { return 2 * *p; }
kernel void k(global int *out, global const int *in, float x) {
  local int kept[8]; int own = 3, *any; size_t i = get_global_id(0), me = get_local_id(0);
  kept[me] = 10 * in[i];
  work_group_barrier(CLK_LOCAL_MEM_FENCE);
  if (me & 1) any = &own; else any = &kept[7 - me];
  float whole, *at = &whole; modf(x, at);
  out[i] = twice(any) + twice(&in[i]) + (int)whole;
}"""
ATOMIC = """kernel void k(global atomic_int *sum, global atomic_uint *more, global atomic_float *last,
              global atomic_flag *taken, global uint *winners, global float *seen) {
  local atomic_int all; uint i = get_global_id(0);
  if (get_local_id(0) == 0) atomic_init(&all, 5);
  work_group_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_work_group);
  atomic_fetch_add_explicit(&all, (int)i, memory_order_relaxed, memory_scope_work_group);
  work_group_barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) atomic_fetch_add(sum, atomic_load_explicit(&all, memory_order_acquire));
  atomic_fetch_max(more, i); atomic_fetch_min_explicit(more + 1, i, memory_order_acq_rel);
  atomic_fetch_xor(more + 2, 1u << i % 32); atomic_fetch_or(more + 3, 1u << i % 32); atomic_fetch_sub(more + 4, 2u);
  if (!atomic_flag_test_and_set(taken)) atomic_store(last, 1.5f);
  uint old = atomic_load(more + 5); while (!atomic_compare_exchange_weak(more + 5, &old, old * 3 + 1)) {}
  uint wanted = 7; winners[i] = atomic_compare_exchange_strong_explicit(more + 6, &wanted, i, memory_order_seq_cst,
      memory_order_relaxed) ? 1 : wanted == atomic_load(more + 6) ? 2 : 0;
  atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, memory_scope_device);
  seen[i] = atomic_exchange(last + 1, (float)i);
}"""


@pytest.mark.parametrize("version", ["CL2.0", "CL3.0"])
def test_pointers_may_point_anywhere(version: str) -> None:
    program = build(compiler(), GENERIC, options=f"-cl-std={version}")
    x, out = np.arange(16, dtype="i4"), np.zeros(16, "i4")
    launch(cluster(), program, "k", (16,), [out, x, 4.75], local_size=(8,))
    at = np.arange(16)
    other = x[at // 8 * 8 + 7 - at % 8] * 20
    assert out.tolist() == (np.where(at % 2 == 1, 6, other) + 2 * x + 4).tolist()


def test_atomic_types_with_their_orders() -> None:
    program = build(compiler(), ATOMIC, options="-cl-std=CL3.0")
    count = 64
    total, more = np.zeros(1, "i4"), np.array([0, 99, 0, 0, 500, 0, 7], "u4")
    last, taken = np.zeros(2, "f4"), np.zeros(1, "i4")
    winners, seen = np.zeros(count, "u4"), np.zeros(count, "f4")
    launch(cluster(SHAPES[1]), program, "k", (count,), [total, more, last, taken, winners, seen], local_size=(16,))
    chain = 0
    for _ in range(count):
        chain = (chain * 3 + 1) % (1 << 32)
    assert total[0] == sum(range(count)) + 4 * 5
    assert more[:6].tolist() == [63, 0, 0, 0xFFFFFFFF, 500 - 128, chain]
    winner = int(more[6])
    assert sorted(winners.tolist()) == [1, *[2] * (count - 1)]
    assert winners[winner] == 1
    assert (last[0], taken[0]) == (1.5, 1)
    assert sorted([*seen.tolist(), float(last[1])]) == [0.0, *map(float, range(count))]


def test_names_of_later_versions_are_free_in_1_2() -> None:
    source = """int atomic_load(global int *p) { return 3 * *p; }
    #define NAME(x) atomic_##x
    kernel void k(global int *out) { out[0] = NAME(load)(out); }"""
    out = np.full(1, 7, "i4")
    launch(cluster(), build(compiler(), source), "k", (1,), [out])
    assert out[0] == 21


def test_what_there_is_not_is_refused() -> None:
    assert not parse("-cl-std=CL1.2").later
    source = "int g = 3; kernel void k(global int *out) { out[0] = g++; }"
    with pytest.raises(CompilationFailed, match="program scope variable must reside in constant address space"):
        build(compiler(), source, options="-cl-std=CL2.0")
    with pytest.raises(CompilationFailed, match="atomic_int"):
        build(compiler(), "kernel void k(global atomic_int *x) { }", options="-cl-std=CL1.2")
