# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Work-groups larger than a core: items of a lane in turn, with barriers anywhere all of a group come to."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.core.errors import ModuleFault, QuotaExceeded
from eddy.gpu.launches.launch import Local, launch
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.work_items.fibers import MAX_WAYS, kept_registers, saved_registers_by_kernel
from unit.fiber_programs import random_program
from unit.gpu.launches.test_gpu_launch import IDS, TOGETHER, expected_ids
from unit.gpu_kit import SHAPES, cluster, compiled, compiler

WAITING_IDS = IDS.replace(
    "  for (uint d = 0; d < 3; d++) {", "  barrier(CLK_LOCAL_MEM_FENCE);\n  for (uint d = 0; d < 3; d++) {", 1
)
TALL = ClusterShape(1, 16, 16)
ONE_WAITS = """kernel void f(global uint *out) {
  if (get_local_id(0) == 0) barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = 1;
}"""
RETURNS = """kernel void f(global uint *out, uint n) {
  if (get_global_id(0) >= n) return;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] += 1;
  barrier(CLK_LOCAL_MEM_FENCE);
}"""


def test_a_barrier_that_only_one_comes_to_is_a_fault_at_once() -> None:
    with pytest.raises(ModuleFault, match="barrier_deadlock"):
        launch(cluster(), compiled(ONE_WAITS), "f", (16,), [np.zeros(16, "u4")], local_size=(16,))


SEEDED = """void meet(void) { barrier(CLK_LOCAL_MEM_FENCE); }
kernel void f(global uint *out) {
  local uint seed;
  seed = 0;
  uint mine = 5;
  for (uint round = 0; round < 3; round++) {
    meet();
    out[round * get_local_size(0) + get_local_id(0)] = mine;
    meet();
    if (get_local_id(0) == get_local_size(0) - 1) seed = mine + 7;
    meet();
    mine = seed;
  }
}"""


@pytest.mark.parametrize("group", [4, 64])
def test_a_variable_of_the_group_is_shared_also_where_the_kernel_writes_it_first(group: int) -> None:
    out = np.zeros((3, group), "u4")
    launch(cluster(), compiled(SEEDED), "f", (group,), [out], local_size=(group,))
    assert out.tolist() == [[5] * group, [12] * group, [19] * group]


@pytest.mark.parametrize("shape", [*SHAPES, TALL], ids=lambda s: s.name)
@pytest.mark.parametrize(("group", "items"), [(8, 21), (16, 1), (96, 100), (256, 0), (512, 1023)])
def test_who_has_returned_has_arrived(shape: ClusterShape, group: int, items: int) -> None:
    """Items past the end return before the barriers of the others: single ones, whole warps, whole groups."""
    out = np.zeros(-(-max(items, 1) // group) * group, "u4")
    launch(cluster(shape), compiled(RETURNS), "f", out.shape, [out, items], local_size=(group,))
    assert out.tolist() == [1] * items + [0] * (len(out) - items)


@pytest.mark.parametrize("shape", [*SHAPES, TALL], ids=lambda s: s.name)
@pytest.mark.parametrize("source", [IDS, WAITING_IDS], ids=["alone", "together"])
@pytest.mark.parametrize(
    ("size", "local", "offset"),
    [
        ((512,), (256,), (3,)),
        ((48, 32), (16, 16), (0, 9)),
        ((14, 6, 20), (7, 3, 10), (1, 2, 3)),
        ((1024,), (1024,), None),
    ],
)
def test_items_of_large_groups_know_where_they_are(shape, source, size, local, offset) -> None:  # type: ignore[no-untyped-def]
    out = np.zeros((*reversed(size + (1,) * (3 - len(size))), 16), "u4")
    launch(cluster(shape), compiled(source), "ids", size, [out], local_size=local, offset=offset)
    wanted = expected_ids(size, local, offset or ())
    wanted[..., 15] = len(size) * 100 + 1
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.name)
@pytest.mark.parametrize("group", [24, 64, 256, 1024])
def test_barriers_hold_large_groups(shape: ClusterShape, group: int) -> None:
    x = np.arange(group * 3, dtype="i4")
    y = np.zeros_like(x)
    launch(
        cluster(shape, seed=group), compiled(TOGETHER), "turn", x.shape, [x, y, Local(4 * group)], local_size=(group,)
    )
    lane, rows = np.arange(group), x.reshape(-1, group)
    wanted = sum(np.where(lane % 2, rows * r, rows + r)[:, (lane + r) % group] for r in (1, 2, 3))
    np.testing.assert_array_equal(y.reshape(-1, group), wanted)


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_agree_with_the_model(seed: int, early: bool) -> None:
    program = random_program(seed, early)
    made = compiled(program.source(), seed % 2 == 0)
    uniform = seed * 5 + 1
    for number, group in enumerate((1, 6, 16, 33, 96)):
        shape = SHAPES[(seed + number) % len(SHAPES)]
        shape = ClusterShape(shape.cores, shape.warps, shape.threads, seed % 2 == 0)
        data = np.random.default_rng(seed).integers(0, 1 << 32, group * 3, dtype="u4")
        out = np.zeros_like(data)
        where = cluster(shape, seed=number % 2 * (seed + 1))
        launch(where, made, "f", data.shape, [data, out, Local(4 * group), uniform], local_size=(group,))
        np.testing.assert_array_equal(out, program.expected(data, group, uniform), err_msg=f"{group} on {shape.name}")


def test_items_that_return_do_not_hold_up_the_others() -> None:
    source = """
    kernel void f(global const int *x, global int *y, local int *t, int n) {
      int i = get_global_id(0), l = get_local_id(0);
      t[l] = -1;
      barrier(CLK_LOCAL_MEM_FENCE);
      if (i >= n) return;
      t[l] = x[i];
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int k = 0; k < 3; k++) {
        int v = t[(l + 1) % (int)get_local_size(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        t[l] = v;
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      y[i] = t[l];
    }
    """
    program = compiled(source)
    assert program.kernels["f"].early
    for shape in SHAPES[1:]:
        for group in (8, shape.lanes, 5 * shape.lanes):
            whole, n = 6 * group, 5 * group - 3
            x, y = np.arange(whole, dtype="i4"), np.zeros(whole, "i4")
            launch(cluster(shape), program, "f", (whole,), [x, y, Local(4 * group), n], local_size=(group,))
            wanted = np.zeros(whole, "i4")
            for g in range(6):
                live = np.clip(n - g * group, 0, group)
                t = np.where(np.arange(group) < live, x[g * group : (g + 1) * group], -1)
                for _ in range(3):
                    t = np.where(np.arange(group) < live, np.roll(t, -1), t)
                wanted[g * group : g * group + live] = t[:live]
            np.testing.assert_array_equal(y, wanted, err_msg=f"{group} on {shape.name}")


def test_each_item_has_a_stack_of_its_own_as_large_as_it_needs() -> None:
    source = """
    kernel void f(global const int *x, global int *y) {
      volatile int mine[WORDS];
      int i = get_global_id(0), s = 0;
      for (int k = 0; k < WORDS; k++) mine[k] = x[i] * k;
      barrier(CLK_GLOBAL_MEM_FENCE);
      for (int k = 0; k < WORDS; k++) s ^= mine[(k * 5) % WORDS] + k;
      y[i] = s;
    }
    """
    program = compiler().compile(source, defines={"WORDS": 300})
    assert 1200 <= program.kernels["f"].frame_bytes < 1400
    x = np.arange(512, dtype="i4")
    y = np.zeros_like(x)
    launch(cluster(SHAPES[2]), program, "f", x.shape, [x, y], local_size=(256,))
    wanted = np.zeros_like(x)
    for k in range(300):
        wanted ^= x * ((k * 5) % 300) + k
    np.testing.assert_array_equal(y, wanted)
    huge = compiler().compile(source, defines={"WORDS": 50_000})
    with pytest.raises(QuotaExceeded, match=r"stacks of \d+ work-items side by side take \d+ of them"):
        launch(cluster(ClusterShape(8, 2, 8)), huge, "f", (1024,), [x, y], local_size=(1024,))


def test_what_is_printed_comes_in_the_order_of_items_also_from_fibers() -> None:
    source = r"""
    kernel void f() {
      uint i = get_global_id(0), j = get_global_id(1);
      if (i % 20 == 3) printf("%u %u\n", i, j);
      barrier(CLK_LOCAL_MEM_FENCE);
      if (i % 20 == 3) printf("again %u\n", i);
    }
    """
    texts = {launch(cluster(shape), compiled(source), "f", (64, 4), [], local_size=(32, 2)).log for shape in SHAPES}
    assert texts == {"".join(f"{i} {j}\nagain {i}\n" for j in range(4) for i in range(3, 64, 20))}


def test_a_fault_in_a_large_group_says_where() -> None:
    source = """
    kernel void f(global int *a) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (get_local_id(0) == 77) __asm__ volatile(".word 0");
      a[get_global_id(0)] = 1;
    }
    """
    with pytest.raises(ModuleFault, match=r"illegal in f\+0x"):
        launch(cluster(), compiled(source), "f", (256,), [np.zeros(256, "i4")], local_size=(256,))


def test_registers_are_found_by_every_name_they_have() -> None:
    text = "\tsw\ts3, 0(a0)\n\tmv\tfp, x27\n\tfadd.s\tfs11, fa0, f8\n\taddi\tx9, t6, 1\n\tlw t0, 4(s0)\n"
    assert kept_registers(text) == ("s0", "s1", "s3", "s11", "fs0", "fs11")


def test_what_a_fiber_keeps_is_what_its_kernel_has_on_its_ways_to_a_barrier() -> None:
    text = """
f:
\tmv\ts5, a0
\tmv\ts6, a0
\tmv\ts7, a0
\tcall\teddy_barrier
\t.section\t.text.leaf,"ax",@progbits
leaf:
\tmv\ts9, a0
eddy_call_a:
\tmv\ts0, a0
\tcall\tf
\tcall\tleaf
\t.section\t.text.eddy_call_b,"ax",@progbits
eddy_call_b:
\tmv\ts1, s2
\tfmv.s\tfs3, fs4
\ttail\teddy_barrier
"""
    ways, chosen = saved_registers_by_kernel(text, ["eddy_call_a", "eddy_call_b"])
    assert [ways[k] for k in chosen] == [("s0", "s5", "s6", "s7"), ("s1", "s2", "fs3", "fs4")]
    many = "".join(f"g{k}:\n\tmv\ts{k}, s{k // 2}\n\tcall\teddy_barrier\n" for k in range(12))
    ways, chosen = saved_registers_by_kernel(many, [f"g{k}" for k in range(12)])
    assert len(ways) == MAX_WAYS
    assert all({f"s{k}", f"s{k // 2}"} <= set(ways[chosen[k]]) for k in range(12))
    assert saved_registers_by_kernel(text, []) == ((), ())


@pytest.mark.parametrize("fpu", [True, False])
def test_kernels_of_one_file_keep_what_each_of_them_needs(fpu: bool) -> None:
    """A small kernel beside large ones is as fast as alone; and each finds its registers again."""
    small = """
    void together(void) { barrier(CLK_LOCAL_MEM_FENCE); }
    kernel void small(global float *a, local float *l) {
      uint t = get_local_id(0), n = get_local_size(0);
      l[t] = a[get_global_id(0)];
      for (uint s = n / 2; s > 0; s /= 2) { together(); if (t < s) l[t] += l[t + s]; }
      together();
      a[get_global_id(0)] = l[0];
    }
    """
    names = "bcdefghk"
    large = "".join(
        f"""
    kernel void large{k}(global float *a, local float *l) {{
      uint t = get_local_id(0), n = get_local_size(0);
      float {", ".join(f"{name} = a[get_global_id(0)] * {j + k}" for j, name in enumerate(names[: 3 + k]))};
      for (uint s = 0; s < 3; s++) {{
        l[t] = {" + ".join(names[: 3 + k])};
        together();
        {" ".join(f"{name} += l[(t + {j + 1}) % n];" for j, name in enumerate(names[: 3 + k]))}
        together();
      }}
      a[get_global_id(0)] = {" + ".join(names[: 3 + k])};
    }}"""
        for k in range(6)
    )
    program = compiled(small + large, fpu)
    assert program.kernel("small").switch_words == compiled(small, fpu).kernel("small").switch_words
    assert program.kernel("small").switch_words < program.kernel("large5").switch_words
    shape = ClusterShape(1, 2, 4, fpu)
    for k in (-1, *range(6)):
        a = np.arange(64, dtype="f4")
        before = a.copy()
        name = "small" if k < 0 else f"large{k}"
        launch(cluster(shape), program, name, (64,), [a, Local(128)], local_size=(32,))
        wanted = []
        for part in before.reshape(2, 32):
            values = [part * (j + k) for j in range(3 + k)]
            for _ in range(3 * (k >= 0)):
                shared = sum(values)
                values = [value + np.roll(shared, -(j + 1)) for j, value in enumerate(values)]
            wanted.append(sum(values) if k >= 0 else np.full(32, part.sum()))
        np.testing.assert_allclose(a, np.concatenate(wanted), rtol=1e-5)
