# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Atomic functions of OpenCL C: every one, on both kinds of memory, against Python; and many items on few words."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from eddy.core.errors import CompilationFailed
from eddy.gpu.launches.launch import Local, launch
from eddy.gpu.programs.shape import ClusterShape
from unit.gpu_kit import SHAPES, cluster, compiled

MASK = 0xFFFFFFFF
Make = Callable[[int, int], int]
OPERATIONS: dict[str, Make] = {
    "atomic_add": lambda old, x: old + x,
    "atomic_sub": lambda old, x: old - x,
    "atomic_xchg": lambda _, x: x,
    "atomic_inc": lambda old, _: old + 1,
    "atomic_dec": lambda old, _: old - 1,
    "atomic_cmpxchg": lambda old, x: x if old == 3 else old,
    "atomic_min": min,
    "atomic_max": max,
    "atomic_and": lambda old, x: old & x,
    "atomic_or": lambda old, x: old | x,
    "atomic_xor": lambda old, x: old ^ x,
}
VALUES = (0, 1, 3, 7, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678)
CASES = list(itertools.product(VALUES, VALUES))
NAMES = [*OPERATIONS, *(name.replace("atomic", "atom") for name in OPERATIONS)]


def call(name: str, place: str) -> str:
    """A call on a word that an item has for itself."""
    operands = {"inc": "", "dec": "", "cmpxchg": ", 3, x[i]"}.get(name.split("_")[1], ", x[i]")
    return f"{name}({place}{operands})"


def every(kind: str) -> str:
    """Each function on global and on local memory: what it returned, what it left."""
    lines = []
    for k, name in enumerate(NAMES):
        at = f"{4 * k} * n + i"
        lines.append(f"g[i] = w[i]; out[{at}] = {call(name, 'g + i')}; out[{at} + n] = g[i];")
        lines.append(f"l[j] = w[i]; out[{at} + 2 * n] = {call(name, 'l + j')}; out[{at} + 3 * n] = l[j];")
    return f"""kernel void f(global {kind} *out, global {kind} *g, local {kind} *l, global const {kind} *w,
                  global const {kind} *x) {{
  const int i = get_global_id(0), j = get_local_id(0), n = get_global_size(0);
  {"".join(lines)}
}}"""


@pytest.mark.parametrize("kind", ["int", "uint"])
def test_each_returns_the_old_value_and_leaves_the_new_one(kind: str) -> None:
    letter = "i4" if kind == "int" else "u4"
    w, x = (np.array(column, np.uint32).view(letter) for column in zip(*CASES, strict=True))
    out, scratch = np.zeros((len(NAMES), 4, len(CASES)), letter), np.zeros(len(CASES), letter)
    launch(cluster(), compiled(every(kind)), "f", (len(CASES),), [out, scratch, Local(64), w, x], local_size=(16,))
    for k, name in enumerate(NAMES):
        make = OPERATIONS[name.replace("atom_", "atomic_")]
        made = [make(int(a), int(b)) & MASK for a, b in zip(w, x, strict=True)]
        for there in (0, 2):
            assert out[k, there].tolist() == w.tolist(), name
            assert out[k, there + 1].view("u4").tolist() == made, name


def test_an_exchange_of_floats_keeps_every_bit() -> None:
    source = """kernel void f(global float *g, global const float *x, global float *out, local float *l) {
      const int i = get_global_id(0);
      l[get_local_id(0)] = g[i];
      out[2 * i] = atomic_xchg(g + i, x[i]);
      out[2 * i + 1] = atomic_xchg(l + get_local_id(0), x[i]) + l[get_local_id(0)];
    }"""
    bits = np.array([0x7FC00001, 0x80000000, 1, 0x3F800000], "u4")
    g, x, out = np.arange(4, dtype="f4"), bits.view("f4").copy(), np.zeros(8, "f4")
    launch(cluster(), compiled(source), "f", (4,), [g, x, out, Local(16)], local_size=(4,))
    assert g.view("u4").tolist() == bits.tolist()
    assert out[::2].tolist() == [0, 1, 2, 3]
    assert out[3::2].tolist() == [1.0, 2.0, 4.0]


HISTOGRAM = """
#ifndef cl_khr_global_int32_base_atomics
#error no atomics
#endif
#pragma OPENCL EXTENSION cl_khr_local_int32_base_atomics : enable
kernel void f(global const uchar *data, global uint *bins, global uint *ticket, global uint *order, local uint *mine) {
  const uint i = get_global_id(0), j = get_local_id(0);
  for (uint k = j; k < 16; k += get_local_size(0)) mine[k] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (data[i] & 1) atomic_inc(mine + (data[i] & 15));
  else for (uint k = 0; k < (data[i] & 3); k++) atomic_add(mine + (data[i] & 15), 1u);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = j; k < 16; k += get_local_size(0)) if (mine[k]) atomic_add(bins + k, mine[k]);
  order[i] = atomic_inc(ticket);
}"""


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
@pytest.mark.parametrize(("items", "local", "slices"), [(96, 8, None), (192, 96, 1)])
def test_histograms(shape: ClusterShape, items: int, local: int, slices: int | None) -> None:
    """Of small groups, and of groups whose lanes take several items, in slices."""
    data = np.random.default_rng(items).integers(0, 256, items, dtype="u1")
    bins, ticket, order = np.zeros(16, "u4"), np.zeros(1, "u4"), np.zeros(items, "u4")
    arguments = [data, bins, ticket, order, Local(64)]
    launch(
        cluster(shape, seed=5), compiled(HISTOGRAM), "f", (items,), arguments, local_size=(local,), slice_groups=slices
    )
    counts = np.where(data & 1, 1, data & 3)
    assert bins.tolist() == np.bincount(data & 15, counts, 16).astype(int).tolist()
    assert sorted(order.tolist()) == list(range(items))
    assert ticket[0] == items


LAST_ONE_SUMS = """
kernel void f(global uint *parts, global uint *count, global uint *sum) {
  const uint group = get_group_id(0);
  if (get_local_id(0) == 0) {
    parts[group] = group + 1;
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    if (atomic_inc(count) == get_num_groups(0) - 1) {
      mem_fence(CLK_GLOBAL_MEM_FENCE);
      uint total = 0;
      for (uint k = 0; k < get_num_groups(0); k++) total += parts[k];
      *sum = total;
    }
  }
}"""


def test_the_group_that_comes_last_sees_what_the_others_stored() -> None:
    parts, count, total = np.zeros(40, "u4"), np.zeros(1, "u4"), np.zeros(1, "u4")
    program = compiled(LAST_ONE_SUMS)
    launch(cluster(), program, "f", (160,), [parts, count, total], local_size=(4,))
    assert total[0] == 40 * 41 // 2
    assert program.elf.count((0x0FF0000F).to_bytes(4, "little")) == 2, "a fence of global memory is one in hardware"


def test_what_needs_reservations_is_refused_with_its_place() -> None:
    source = "kernel void f(volatile global char *p) {\n  __atomic_fetch_add(p, 1, 0);\n}"
    with pytest.raises(
        CompilationFailed, match=r"lr and sc, which the cores do not have; use the atomic functions"
    ) as caught:
        compiled(source)
    assert "kernel.cl:1" in caught.value.message
