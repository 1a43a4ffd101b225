# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Launching kernels on the instruction-set model: who runs where, together, with what, and how it ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from eddy.core.errors import InvalidRequest, ModuleFault, QuotaExceeded
from eddy.gpu.launches.launch import Local, launch
from eddy.gpu.programs.shape import ClusterShape
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.gpu_kit import SHAPES, cluster, compiled

IDS = """
kernel void ids(global uint *out) {
  uint i = get_global_id(0) - get_global_offset(0), j = get_global_id(1) - get_global_offset(1);
  uint k = get_global_id(2) - get_global_offset(2);
  global uint *p = out + 16 * ((k * get_global_size(1) + j) * get_global_size(0) + i);
  for (uint d = 0; d < 3; d++) {
    p[d] = get_global_id(d); p[3 + d] = get_local_id(d); p[6 + d] = get_group_id(d);
    p[9 + d] = get_local_size(d); p[12 + d] = get_num_groups(d);
  }
  p[15] = get_work_dim() * 100 + get_global_id(3) * 10 + get_local_size(3);
}
"""
MIX = """
kernel void mix_up(global const int *x, global int *y) {
  uint i = get_global_id(0);
  int s = 0;
  for (int k = 0; k < x[i] % 7; k++) s += (k & 1) ? x[i] : -k;
  if (s > 3) { s *= 2; } else if (s < 0) { s = -s; for (int k = 0; k < 3; k++) s ^= k << s % 5; }
  switch (x[i] & 3) { case 0: s += 1; break; case 1: s -= 5; case 2: s *= 3; break; default: s = ~s; }
  y[i] = s;
}
"""
TOGETHER = """
kernel void turn(global const int *x, global int *y, local int *t) {
  uint l = get_local_id(0), n = get_local_size(0);
  int sum = 0;
  for (uint r = 1; r <= 3; r++) {
    if (l % 2) t[l] = x[get_global_id(0)] * r; else { t[l] = x[get_global_id(0)] + r; }
    barrier(CLK_LOCAL_MEM_FENCE);
    sum += t[(l + r) % n];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  y[get_global_id(0)] = sum;
}
kernel void turn_fixed(global const int *x, global int *y) {
  local int t[16];
  uint l = get_local_id(0), n = get_local_size(0);
  t[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[get_global_id(0)] = t[n - 1 - l];
}
"""


def expected_ids(size: tuple[int, ...], local: tuple[int, ...], offset: tuple[int, ...]) -> npt.NDArray[np.uint32]:
    size, local, offset = (t + (f,) * (3 - len(t)) for t, f in ((size, 1), (local, 1), (offset, 0)))
    out = np.zeros((size[2], size[1], size[0], 16), "u4")
    grid = np.meshgrid(*(np.arange(n) for n in reversed(size)), indexing="ij")[::-1]
    for d in range(3):
        out[..., d] = grid[d] + offset[d]
        out[..., 3 + d], out[..., 6 + d] = grid[d] % local[d], grid[d] // local[d]
        out[..., 9 + d], out[..., 12 + d] = local[d], -(-size[d] // local[d])
    return out


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.name)
@pytest.mark.parametrize(
    ("size", "local", "offset"),
    [
        ((1,), None, None),
        ((13,), (1,), (7,)),
        ((12, 4), None, (1, 2)),
        ((4, 3, 2), (1, 1, 1), (5, 6, 7)),
        ((3, 2, 5), None, None),
    ],
)
def test_every_item_runs_once_and_knows_where_it_is(shape, size, local, offset) -> None:  # type: ignore[no-untyped-def]
    out = np.zeros((*reversed(size + (1,) * (3 - len(size))), 16), "u4")
    done = launch(cluster(shape), compiled(IDS), "ids", size, [out], local_size=local, offset=offset)
    wanted = expected_ids(size, done.arrangement.local_size, offset or ())
    wanted[..., 15] = len(size) * 100 + 1
    np.testing.assert_array_equal(out, wanted)


@settings(max_examples=25, deadline=None)
@given(
    size=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    parts=st.lists(st.integers(1, 2), min_size=3, max_size=3),
    which=st.sampled_from(SHAPES[1:]),
    step=st.none() | st.integers(1, 5),
)
def test_groups_and_slices_change_nothing(
    size: list[int], parts: list[int], which: ClusterShape, step: int | None
) -> None:
    local = tuple(parts[: len(size)])
    whole = tuple(n * p for n, p in zip(size, local, strict=True))
    out = np.zeros((*reversed(whole + (1,) * (3 - len(whole))), 16), "u4")
    done = launch(cluster(which), compiled(IDS), "ids", whole, [out], local_size=local, slice_groups=step)
    wanted = expected_ids(whole, local, ())
    wanted[..., 15] = len(size) * 100 + 1
    np.testing.assert_array_equal(out, wanted)
    assert done.slices == (1 if step is None else -(-done.arrangement.groups // step))


def test_lanes_that_part_come_together_again_with_the_same_result_in_any_order() -> None:
    x = np.random.default_rng(1).integers(-50, 1000, 96).astype("i4")
    results = []
    for shape, seed in ((SHAPES[0], 0), (SHAPES[1], 0), (SHAPES[1], 7), (SHAPES[3], 3)):
        y = np.zeros_like(x)
        launch(cluster(shape, seed=seed), compiled(MIX), "mix_up", x.shape, [x, y])
        results.append(y)
    assert all(np.array_equal(results[0], other) for other in results[1:])
    assert np.unique(results[0]).size > 20


@pytest.mark.parametrize("shape", SHAPES[1:], ids=lambda s: s.name)
@pytest.mark.parametrize("group", [1, 3, 4, 6, 8, 15])
@pytest.mark.parametrize("seed", [0, 5])
def test_barriers_hold_whole_groups(shape: ClusterShape, group: int, seed: int) -> None:
    if group > shape.lanes:
        pytest.skip("larger than the cluster's work-groups")
    x = np.arange(group * 7, dtype="i4")
    y, z = np.zeros_like(x), np.zeros_like(x)
    program = compiled(TOGETHER)
    where = cluster(shape, seed=seed)
    done = launch(where, program, "turn", x.shape, [x, y, Local(4 * group)], local_size=(group,))
    lane = np.arange(group)
    rows = x.reshape(-1, group)
    wanted = sum(np.where(lane % 2, rows * r, rows + r)[:, (lane + r) % group] for r in (1, 2, 3))
    np.testing.assert_array_equal(y.reshape(-1, group), wanted)
    assert done.arrangement.core_groups == shape.warps // done.arrangement.group_warps
    done = launch(where, program, "turn_fixed", x.shape, [x, z], local_size=(group,))
    np.testing.assert_array_equal(z.reshape(-1, group), rows[:, ::-1])
    assert done.arrangement.core_groups == shape.warps // done.arrangement.group_warps


def test_scalars_vectors_constants_and_structures_arrive() -> None:
    source = """
    constant float table[4] = {1.5f, 2.5f, 3.5f, 4.5f};
    typedef struct { short a; float b; } pair;
    kernel void f(global float *out, char c, ushort u, long l, float4 v, int3 w, constant pair *p, global int *null) {
      out[0] = c; out[1] = u; out[2] = (float)(l >> 32); out[3] = v.x + v.w; out[4] = w.z; out[5] = p[1].a + p[1].b;
      out[6] = table[get_global_size(0)]; out[7] = null == 0;
    }
    """
    pairs = np.array([(1, 2.0), (3, 4.5)], np.dtype([("a", "i2"), ("b", "f4")], align=True))
    arguments = [-5, 60000, 7 << 32, (1.0, 0.0, 0.0, 2.25), [1, 2, -3], pairs, None]
    for fpu in (True, False):
        out = np.zeros(8, "f4")
        launch(cluster(ClusterShape(fpu=fpu)), compiled(source, fpu), "f", (1,), [out, *arguments])
        np.testing.assert_array_equal(out, np.array([-5, 60000, 7, 3.25, -3, 7.5, 2.5, 1], "f4"))


def test_printf_is_ordered_by_work_item_whatever_the_cluster() -> None:
    source = r"""
    kernel void f(global const float *x) {
      uint i = get_global_id(0);
      if (i % 3 == 1) printf("item %u of %2d: %.2f %s|%5.1f %x %ld%%\n", i, (int)get_global_size(0), x[i], "text",
                             -x[i], 255, (long)-1 << 40);
      if (i == 4) printf("again\n");
    }
    """
    x = np.arange(8, dtype="f4") / 3
    texts = [launch(cluster(s), compiled(source), "f", (8,), [x]).log for s in SHAPES]
    assert texts[0] == (
        "item 1 of  8: 0.33 text| -0.3 ff -1099511627776%\n"
        "item 4 of  8: 1.33 text| -1.3 ff -1099511627776%\nagain\n"
        "item 7 of  8: 2.33 text| -2.3 ff -1099511627776%\n"
    )
    assert set(texts) == {texts[0]}


@pytest.mark.parametrize("fpu", [True, False])
def test_vectors_are_printed_element_by_element(fpu: bool) -> None:
    source = r"""kernel void f(global const int *a) {
      int k = a[0];
      printf("%v4hld %v2hlf %d\n", (int4)(k, 1, -2, 3), (float2)(0.5f, k), 7);
      printf("%v2hhd %v3hhu %v4hhx %v8hhd|%v16hhu\n", (char2)(-1, k), (uchar3)(255, 1, k), (uchar4)(k, 16, 255, 1),
             (char8)(k), (uchar16)(k));
      printf("%v2hd %v3hd %5.1v3hlf %v2lx %v4ld %s\n", (short2)(-1, k), (short3)(1, 2, k), (float3)(k, 1.25f, -1.0f),
             (ulong2)(1UL << 40, k), (long4)(-1, k, 1L << 33, 0), "end");
    }"""
    log = launch(cluster(ClusterShape(1, 1, 2, fpu=fpu)), compiled(source, fpu), "f", (1,), [np.array([9], "i4")]).log
    assert log.splitlines() == [
        "9,1,-2,3 0.500000,9.000000 7",
        "-1,9 255,1,9 9,10,ff,1 9,9,9,9,9,9,9,9|" + ",".join("9" * 16),
        "-1,9 1,2,9   9.0,  1.2, -1.0 10000000000,9 -1,9,8589934592,0 end",
    ]


def test_a_full_log_says_how_much_is_missing() -> None:
    source = 'kernel void f() { for (int k = 0; k < 1000; k++) printf("%d\\n", k); }'
    log = launch(cluster(), compiled(source), "f", (1,), []).log
    assert log.startswith("0\n1\n2\n")
    assert "printf calls found no room" in log


def test_one_array_given_twice_is_one_buffer() -> None:
    source = "kernel void f(global int *a, global const int *b) { a[get_global_id(0)] = b[get_global_id(0)] + 1; }"
    x = np.arange(9, dtype="i4")
    launch(cluster(), compiled(source), "f", (9,), [x, x])
    np.testing.assert_array_equal(x, np.arange(1, 10))


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ('__asm__ volatile(".word 0"); a[0] = 1;', "illegal"),
        ("*(volatile global int *)((uint)a + 1) = 1;", "store_misaligned"),
        ("a[0] = *(volatile global int *)((uint)a + 2);", "load_misaligned"),
        ("__builtin_trap(); a[0] = 1;", "illegal"),
        ("__builtin_unreachable();", "illegal"),
        ('__asm__ volatile("ecall"); a[0] = 1;', "ecall"),
    ],
)
def test_a_fault_says_why_and_where(body: str, cause: str) -> None:
    program = compiled("kernel void f(global int *a) { " + body + " }")
    with pytest.raises(ModuleFault, match=rf"{cause} in f\+0x") as caught:
        launch(cluster(), program, "f", (4,), [np.zeros(4, "i4")])
    assert caught.value.details["cause"] == cause


def test_a_kernel_that_spins_is_given_up() -> None:
    program = compiled("kernel void f(global volatile int *a) { while (!a[0]) {} }")
    with pytest.raises(QuotaExceeded, match="did not end"):
        launch(cluster(), program, "f", (1,), [np.zeros(1, "i4")], limit=20_000)


COPY = "kernel void f(global float *a, int n, float4 v, local int *t) { a[0] = n; t[0] = (int)v.x; }"
GOOD = (np.zeros(4, "f4"), 1, (1, 2, 3, 4), Local(16))


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, np.zeros(4, "f8"), "an array of float32, not of float64"),
        (0, [1.0], "a numpy array"),
        (1, 1 << 31, "value 2147483648, which int32 cannot hold"),
        (1, 1.5, "value 1.5, which int32 cannot hold"),
        (1, "one", "takes int"),
        (2, (1, 2, 3), "takes float4"),
        (3, np.zeros(4, "i4"), "Local"),
        (3, Local(20000), "local memory"),
    ],
)
def test_arguments_that_do_not_fit_are_named(place: int, value: object, words: str) -> None:
    arguments = [*GOOD[:place], value, *GOOD[place + 1 :]]
    with pytest.raises(InvalidRequest, match=words):
        launch(cluster(), compiled(COPY), "f", (1,), arguments)


def test_a_read_only_array_is_not_written() -> None:
    array = np.zeros(4, "f4")
    array.flags.writeable = False
    with pytest.raises(InvalidRequest, match="writeable"):
        launch(cluster(), compiled(COPY), "f", (1,), [array, *GOOD[1:]])


def test_sizes_are_checked() -> None:
    program = compiled(TOGETHER)
    x = np.zeros(64, "i4")
    with pytest.raises(InvalidRequest, match="at most 1024 work-items") as caught:
        launch(cluster(), program, "turn", (2048,), [x, x, Local(256)], local_size=(2048,))
    assert caught.value.details["allowed"] == 1024
    with pytest.raises(InvalidRequest, match="256 in the third dimension"):
        launch(cluster(), program, "turn", (1, 1, 512), [x, x, Local(256)], local_size=(1, 1, 512))
    with pytest.raises(InvalidRequest, match="not a multiple"):
        launch(cluster(), program, "turn", (64,), [x, x, Local(256)], local_size=(7,))
    with pytest.raises(InvalidRequest, match="takes 3 arguments"):
        launch(cluster(), program, "turn", (64,), [x, x])
    for size in ((), (0,), (1, 1, 1, 1), (1 << 20, 1 << 20)):
        with pytest.raises(InvalidRequest, match="global size"):
            launch(cluster(), program, "turn", size, [x, x, Local(256)])
    ragged: list[dict[str, Any]] = [
        {"global_size": (64.5,)},
        {"global_size": ("64",)},
        {"global_size": (64,), "local_size": (16.0,)},
        {"global_size": (64,), "offset": (0.5,)},
        {"global_size": (float("nan"),)},
    ]
    for sizes in ragged:
        with pytest.raises(InvalidRequest, match="whole numbers"):
            launch(cluster(), program, "turn", arguments=[x, x, Local(256)], **sizes)
    numpy_sizes: dict[str, Any] = {"global_size": (np.int64(64),), "local_size": (np.int64(16),)}
    launch(cluster(), program, "turn", arguments=[x, x, Local(256)], **numpy_sizes)
    required = compiled("__attribute__((reqd_work_group_size(4, 1, 1))) kernel void f(global int *a) { a[0] = 1; }")
    assert launch(cluster(), required, "f", (8,), [x]).arrangement.local_size == (4, 1, 1)
    with pytest.raises(InvalidRequest, match="requires work-groups"):
        launch(cluster(), required, "f", (8,), [x], local_size=(8,))


def test_a_program_for_an_fpu_does_not_run_without_one() -> None:
    with pytest.raises(InvalidRequest, match="fpu=False"):
        launch(cluster(ClusterShape(fpu=False)), compiled(COPY), "f", (1,), list(GOOD))


def test_counters_add_up() -> None:
    x = np.arange(64, dtype="i4")
    done = launch(cluster(), compiled(MIX), "mix_up", x.shape, [x, np.zeros_like(x)], slice_groups=3)
    assert len(done.counters) == 2
    for core in done.counters:
        assert core.total_active_cycles == sum(core.cycle_thread) == core.instructions
        assert len(core.cycle_thread) == 4
