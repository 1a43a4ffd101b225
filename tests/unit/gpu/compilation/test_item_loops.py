# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels whose lanes go from item to item between barriers: which are, and that each item is as if it were alone."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from eddy.gpu.launches.launch import Local, launch
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.programs.sharing import lane_grid
from unit.fiber_programs import random_program
from unit.gpu_kit import SHAPES, cluster, compiled

LOCAL = "barrier(CLK_LOCAL_MEM_FENCE);"
GROUPS: dict[int, list[tuple[int, ...]]] = {
    1: [(1,), (6,), (33,), (96,), (1000,)],
    2: [(5, 3), (16, 16), (40, 3), (3, 40)],
    3: [(4, 3, 5), (17, 2, 3), (2, 2, 64)],
}


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_random_programs_agree_with_the_model(seed: int, dimensions: int) -> None:
    program = random_program(100 * dimensions + seed, early=False, calls=False)
    made = compiled(program.source(dimensions), seed % 2 == 0)
    assert made.kernel("f").loop_stub
    uniform = seed * 5 + 1
    for number, group in enumerate(GROUPS[dimensions]):
        shape = SHAPES[(seed + number) % len(SHAPES)]
        shape = ClusterShape(shape.cores, shape.warps, shape.threads, seed % 2 == 0)
        items = math.prod(group)
        data = np.random.default_rng(seed).integers(0, 1 << 32, items * 4, dtype="u4")
        out, size = np.zeros_like(data), (group[0] * 2, *(n * 2 if k == 0 else n for k, n in enumerate(group[1:])))
        size = size if dimensions > 1 else (group[0] * 4,)
        where = cluster(shape, seed=number % 2 * (seed + 1))
        launch(where, made, "f", size, [data, out, Local(4 * items), uniform], local_size=group)
        wanted = program.expected(data, items, uniform)
        np.testing.assert_array_equal(out, wanted, err_msg=f"{group} on {shape.name}")


def run(source: str, group: tuple[int, ...] = (48,), groups: int = 3, loops: bool = True) -> npt.NDArray[np.uint32]:
    """`f(in, out, t)` on two shapes, whose results are the same; `in` counts from 1, `t` has a word an item."""
    program = compiled(
        f"kernel void f(global const uint *in, global uint *out, local uint *t, uint u) {{\n{source}\n}}"
    )
    assert bool(program.kernel("f").loop_stub) == loops
    items = math.prod(group)
    results = []
    for shape in (ClusterShape(1, 4, 4), ClusterShape(2, 2, 8), ClusterShape(1, 1, 1)):
        data = np.arange(1, items * groups + 1, dtype="u4")
        out = np.zeros_like(data)
        size = (group[0] * groups, *group[1:])
        launch(cluster(shape), program, "f", size, [data, out, Local(4 * items), 5], local_size=group)
        results.append(out)
    assert all(np.array_equal(results[0], other) for other in results[1:])
    return results[0].reshape(groups, items)


IDS = "uint l = get_local_id(0), n = get_local_size(0), i = get_global_id(0), v = in[i];"
X = np.arange(1, 145, dtype="u4").reshape(3, 48)


def test_how_often_a_loop_goes_may_be_read_from_memory() -> None:
    """Also from local memory, where one item wrote it for all."""
    source = f"{IDS} for (uint k = 0; k < in[2]; k++) {{ t[l] = v; {LOCAL} v += t[(l + 1) % n]; {LOCAL} }}"
    wanted = X.copy()
    for _ in range(3):
        wanted = wanted + np.roll(wanted, -1, axis=1)
    np.testing.assert_array_equal(run(f"{source} out[i] = v;"), wanted)
    flag = f"""{IDS} local uint stop; uint turns = 0;
    do {{ {LOCAL} if (l == 7) stop = v > 60 + turns; turns++; {LOCAL} if (stop) break; v += 2; }} while (turns < 20);
    out[i] = v + turns * 1000;"""
    found = run(flag)
    for row, data in zip(found, X, strict=True):
        turns, value = 0, int(data[7])
        while True:
            stop, turns = value > 60 + turns, turns + 1
            if stop:
                break
            value += 2
            if turns >= 20:
                break
        assert row.tolist() == (data + (value - int(data[7])) + turns * 1000).tolist()


def test_ways_that_all_items_take_may_have_barriers_of_their_own() -> None:
    source = f"""{IDS}
    switch (u) {{ case 4: v = 0; break; case 5: t[l] = v; {LOCAL} v = t[n - 1 - l]; {LOCAL} default: v += 3; }}
    if (u & 1) {{ t[l] = v; {LOCAL} v += t[0]; {LOCAL} }} else {{ {LOCAL} v = 1; }}
    out[i] = v;"""
    turned = X[:, ::-1] + 3
    np.testing.assert_array_equal(run(source), turned + turned[:, :1])


def test_what_an_item_keeps_is_of_any_kind() -> None:
    """64-bit numbers, vectors, bytes, pointers, small arrays and structures, over a barrier and around a loop."""
    source = f"""{IDS}
    ulong wide = (ulong)v << 32 | l; uchar small = v; short less = -(short)l; float4 four = (float4)(v, l, 2, 3);
    uint list[3] = {{v, l, 7}}; struct {{ uint a; ulong b; }} both = {{v, 1}}; global const uint *at = in + i;
    bool odd = v & 1;
    for (uint k = 0; k < 3; k++) {{
      t[l] = list[k]; {LOCAL}
      list[(k + 1) % 3] += t[(l + 1) % n]; wide += (ulong)list[k] << 31; small += k; less--;
      four += (float4)(1, 2, 3, k);
      both.b += both.a + k; at += k; odd = !odd; {LOCAL}
    }}
    out[i] = (uint)(wide >> 32) ^ (uint)wide ^ small ^ (uint)(int)less
      ^ (uint)(four.x + four.y * 16 + four.z * 256 + four.w * 4096) ^ list[0] * 3 ^ list[1] * 5
      ^ list[2] * 7 ^ (uint)both.b ^ (uint)(at - in) ^ odd << 9;"""
    found = run(source)
    own = np.arange(48, dtype="u8")
    for row, data in zip(found, X.astype("u8"), strict=True):
        lists, wide, b, bits = (
            [data.copy(), own.copy(), own * 0 + 7],
            data << np.uint64(32) | own,
            own * 0 + 1,
            (1 << 32) - 1,
        )
        for k in range(3):
            t = lists[k] & bits
            lists[(k + 1) % 3] = (lists[(k + 1) % 3] + np.roll(t, -1)) & bits
            wide = wide + (lists[k] << np.uint64(31))
            b = b + data + k
        small, half = (data + 3) & 255, (-(own.astype("i8")) - 3) & bits
        four = (data + 3) + (own + 6) * 16 + 11 * 256 + 6 * 4096
        wanted = (wide >> np.uint64(32)) ^ (wide & bits) ^ small ^ half.astype("u8") ^ four
        wanted ^= (lists[0] * 3 & bits) ^ (lists[1] * 5 & bits) ^ (lists[2] * 7 & bits) ^ (b & bits) ^ (data - 1 + 3)
        wanted ^= ((data & 1) ^ 1) << 9
        np.testing.assert_array_equal(row, wanted.astype("u4"))


def test_what_an_item_keeps_may_be_written_through_a_pointer() -> None:
    """Behind a barrier the variable itself is not named."""
    through = f"""{IDS} uint a = 5, b = 7; uint *p = l & 1 ? &a : &b; *p += l; t[l] = a * 100 + b; {LOCAL}
    uint other = t[(l + 1) % n]; *p -= 1; {LOCAL} out[i] = other + a * 10000 + b;"""
    items = np.arange(48, dtype="u4")
    a, b = np.where(items & 1, 5 + items, 5), np.where(items & 1, 7, 7 + items)
    other = np.roll(a * 100 + b, -1)
    a, b = np.where(items & 1, a - 1, a), np.where(items & 1, b, b - 1)
    np.testing.assert_array_equal(run(through), np.tile(other + a * 10000 + b, (3, 1)))
    swapped = f"""{IDS} uint A[4], B[4], *from = A, *to = B; for (uint k = 0; k < 4; k++) {{ A[k] = v + k; B[k] = 9; }}
    for (uint r = 0; r < 3; r++) {{
      t[l] = from[r]; {LOCAL} for (uint k = 0; k < 4; k++) to[k] = from[3 - k] + t[(l + k) % n]; {LOCAL}
      uint *last = from; from = to; to = last;
    }}
    out[i] = from[0] + 3 * from[1] + 5 * from[2] + 7 * from[3] + to[1];"""
    one, two = np.stack([X + k for k in range(4)]).astype("u4"), np.full((4, 3, 48), 9, "u4")
    for r in range(3):
        one, two = np.stack([one[3 - k] + np.roll(one[r], -k, axis=1) for k in range(4)]), one
    np.testing.assert_array_equal(run(swapped), one[0] + 3 * one[1] + 5 * one[2] + 7 * one[3] + two[1])


def test_each_group_of_a_core_has_local_variables_of_its_own() -> None:
    source = f"""{IDS} local uint own[48], first; local struct {{ uint a[2]; }} pair[48];
    if (l == 0) {{ first = v; own[0] = 1000; }} else own[l] = v;
    pair[l].a[1] = l; pair[l].a[0] = v; {LOCAL}
    if (l == 5) atomic_add(&own[3], 100u); {LOCAL}
    out[i] = own[n - 1 - l] + first * 1000 + pair[47 - l].a[0] + pair[3].a[1];"""
    program = compiled(f"kernel void f(global const uint *in, global uint *out, local uint *t, uint u) {{ {source} }}")
    assert program.kernel("f").local_each
    own = X.copy()
    own[:, 0] = 1000
    own[:, 3] += 100
    np.testing.assert_array_equal(run(source), own[:, ::-1] + X[:, :1] * 1000 + X[:, ::-1] + 3)
    many, out = np.tile(X.reshape(-1), 8), np.zeros(144 * 8, "u4")
    done = launch(cluster(ClusterShape(1, 4, 4)), program, "f", (1152,), [many, out, Local(192), 5], local_size=(48,))
    assert done.arrangement.core_groups == 4
    np.testing.assert_array_equal(out.reshape(8, 3, 48), [run(source)] * 8)


def test_items_may_end_early_behind_the_last_barrier() -> None:
    source = (
        f"{IDS} t[l] = v; {LOCAL} if (l % 3 == 1) return; out[i] = t[(l + 1) % n]; if (v > 70) return; out[i] += 7;"
    )
    wanted = np.roll(X, -1, axis=1) + np.where(X > 70, 0, 7).astype("u4")
    np.testing.assert_array_equal(run(source), np.where(np.arange(48) % 3 == 1, 0, wanted))


@pytest.mark.parametrize(
    "source",
    [
        f"{IDS} if (l % 2) return; {LOCAL} out[i] = v;",
        f"{IDS} for (uint k = 0; k < v / 1000 + 1; k++) {{ t[l] = v; {LOCAL} }} out[i] = t[l] * (l % 2 == 0);",
        f"{IDS} uint d; for (uint k = 0; k < 2; k++) {{ {LOCAL} d = get_local_id(k); }} out[i] = (l % 2 == 0) * v + d;",
        f"{IDS} volatile uint a[40]; a[l % 40] = v; {LOCAL} out[i] = (l % 2 == 0) * a[l % 40];",
        f'{IDS} {LOCAL} if (l > 1000) printf("%u", l); out[i] = (l % 2 == 0) * v;',
        f"{IDS} event_t e = async_work_group_copy(t, in + (i - l), n, 0); wait_group_events(1, &e); "
        "out[i] = (l % 2 == 0) * t[l];",
        f"{IDS} if (l < 100) {{ {LOCAL} }} out[i] = (l % 2 == 0) * v;",
    ],
)
def test_what_is_not_regular_stays_with_fibers(source: str) -> None:
    """Items that end before barriers, ways that differ, much private memory, functions that ask who they are."""
    np.testing.assert_array_equal(run(source, loops=False), np.where(np.arange(48) % 2 == 0, X, 0))


def test_rows_that_do_not_fit_into_local_memory_lie_in_the_region() -> None:
    names = [f"a{k}" for k in range(12)]
    added = " ".join(f"{name} += t[(l + {k}) % n];" for k, name in enumerate(names))
    source = f"""{IDS} uint {", ".join(f"{name} = v * {k + 1}" for k, name in enumerate(names))};
    for (uint k = 0; k < 2; k++) {{ t[l] = a0; {LOCAL} {added} {LOCAL} }}
    out[i] = {" ^ ".join(names)};"""
    found = run(source, (1024,), 2)
    for row, data in zip(found, np.arange(1, 2049, dtype="u4").reshape(2, 1024), strict=True):
        values = [data * np.uint32(k + 1) for k in range(12)]
        for _ in range(2):
            t = values[0]
            values = [value + np.roll(t, -k) for k, value in enumerate(values)]
        np.testing.assert_array_equal(row, np.bitwise_xor.reduce(values))


@pytest.mark.parametrize("lanes", [1, 4, 15, 16, 32, 256])
def test_lanes_share_a_group_so_that_each_has_some(lanes: int) -> None:
    for group in ((1, 1, 1), (12, 1, 1), (24, 3, 1), (8, 8, 1), (16, 16, 4), (3, 5, 64), (1024, 1, 1)):
        grid = lane_grid(group, lanes)
        assert 1 <= math.prod(grid) <= lanes
        assert all(1 <= step <= size for step, size in zip(grid, group, strict=True))
    assert lane_grid((8, 8, 1), 16) == (8, 2, 1)
    assert lane_grid((24, 4, 1), 16) == (8, 2, 1)
