# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels whose lanes do a tile of a group's items at once: which are, and that each item is as if it were alone."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from eddy.gpu.compilation import compiler as compilation
from eddy.gpu.launches.launch import Local, launch
from eddy.gpu.programs.item_tile import ItemTile
from eddy.gpu.programs.program import Program
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.programs.sharing import tile_grid
from unit.fiber_programs import random_program
from unit.gpu_kit import cluster, compiled

LOCAL = "barrier(CLK_LOCAL_MEM_FENCE);"
GROUPS: dict[int, list[tuple[int, ...]]] = {
    1: [(16,), (64,), (240,)],
    2: [(16, 4), (32, 8), (16, 12)],
    3: [(16, 4, 3), (32, 4, 2)],
}
SHAPES = (ClusterShape(1, 4, 4), ClusterShape(2, 2, 8), ClusterShape(1, 3, 5), ClusterShape(1, 1, 4))


def tiled(source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """A program that has tiles however many values they need."""
    monkeypatch.setattr(compilation, "is_crowded", lambda *_: False)
    return compilation.Compiler(folder).compile(source, later=True)


@pytest.mark.parametrize(("dimensions", "seed"), [(1, 1), (1, 2), (2, 0), (2, 5), (3, 0), (3, 3)])
def test_random_programs_agree_with_the_model(
    dimensions: int, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where items part behind the last barrier, and where a group has rows that do not share out evenly."""
    drawn = random_program(1000 * dimensions + seed, early=False, calls=False, parts=False)
    made = tiled(drawn.source(dimensions), tmp_path, monkeypatch)
    done = 0
    for number, group in enumerate(GROUPS[dimensions]):
        items, uniform = math.prod(group), seed * 5 + 1
        data = np.random.default_rng(seed).integers(0, 1 << 32, items * 4, dtype="u4")
        out, size = np.zeros_like(data), (group[0] * 4, *group[1:])
        where = cluster(SHAPES[(seed + number) % len(SHAPES)], seed=number % 2 * (seed + 1))
        launched = launch(where, made, "f", size, [data, out, Local(4 * items), uniform], local_size=group)
        done += launched.arrangement.tile > 1
        np.testing.assert_array_equal(out, drawn.expected(data, items, uniform), err_msg=f"{group} on {where.shape}")
    assert done


def run(program: Program, kernel: str = "f") -> npt.NDArray[np.uint32]:
    """`f(in, out, t)` in tiles, four groups of 16 x 4; `in` counts from 1, `t` has a word an item."""
    data, out = np.arange(1, 257, dtype="u4"), np.zeros(256, "u4")
    done = launch(cluster(SHAPES[0]), program, kernel, (64, 4), [data, out, Local(256)], local_size=(16, 4))
    assert done.arrangement.tile > 1
    return out.reshape(4, 64)


HEAD = "kernel void f(global uint *in, global uint *out, local uint *t) {"
IDS = """uint x = get_local_id(0), y = get_local_id(1), n = get_local_size(0), l = y * n + x;
  uint i = get_group_id(0) * n * get_local_size(1) + l, v = in[i];"""
X = np.arange(1, 257, dtype="u4").reshape(4, 64)
PUT = "void put(uint *at, uint v) { *at = v; *at += 1; }"


EITHER = "v & 1 ? (uint *)(t + l) : (uint *)(in + i)"
WAYS = (
    ("t[l] = v; in[i] = t[l] + 1; out[i] = in[i] + t[l];", 2 * X + 1),
    ("volatile local uint *a = t + l; *a = v; v = *a; *a = v + v; in[i] = *a; out[i] = in[i] + *a;", 4 * X),
    ("local uint *a = t + (l ^ 5); *a = v; a[0] += in[i]; in[i] = a[0] + 1; out[i] = in[i];", 2 * X + 1),
    ("global uint *a = in + i; *a += 3; v = *a; *a = v * 2; t[l] = *a; out[i] = t[l] - v;", X + 3),
    ("put(in + i, v + v); put(t + l, in[i]); put(in + i, t[l] + in[i]); out[i] = in[i] + t[l];", 6 * X + 6),
    (f"uint *p = {EITHER}; *p = v + 1; in[i] += 1; out[i] = *p - (p == in + i);", X + 1),
    ("uint own[2] = {v, v}; put(own + (l & 1), 5); out[i] = own[0] + own[1];", X + 6),
)


def test_an_item_reads_what_it_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Local, global and private memory in turn, through pointers that may point to any of them."""
    kernels = (f"{HEAD.replace('f(', f'f{k}(')} {IDS} {LOCAL} {way} }}" for k, (way, _) in enumerate(WAYS))
    program = tiled(PUT + "\n".join(kernels), tmp_path, monkeypatch)
    for k, (way, wanted) in enumerate(WAYS):
        np.testing.assert_array_equal(run(program, f"f{k}"), wanted, err_msg=way)


def test_each_item_counts() -> None:
    """What writes to one word for all is done by each, though its address and its operand are the same."""
    way = "if (l == 0) t[0] = t[1] = 0; LOCAL atomic_add(t, 3); atomic_inc(t + 1); LOCAL out[i] = t[0] + 1000 * t[1];"
    program = compiled(f"{HEAD} {IDS} {LOCAL} v++; {LOCAL} {way.replace('LOCAL', LOCAL)} }}")
    np.testing.assert_array_equal(run(program), np.full((4, 64), 3 * 64 + 64000))


CONSTANTS = """constant uint TABLE[4] = {1, 2, 3, 5};
constant uint spare = 7;
const constant uint2 pair = (uint2)(11, 13);
constant sampler_t unused = CLK_FILTER_NEAREST;
"""


def test_constants_of_the_program_are_there_in_tiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The object with tiles has them for itself; what no kernel reads is no matter either."""
    text = f"{CONSTANTS}{HEAD} {IDS} t[l] = v; {LOCAL} out[i] = t[l ^ 1] + TABLE[v & 3] + pair.y; }}"
    other = "kernel void g(global uint *out) { out[0] = TABLE[3] + spare; }"
    found = run(tiled(f"{text}\n{other}", tmp_path, monkeypatch))
    swapped = X.reshape(4, -1, 2)[:, :, ::-1].reshape(4, 64)
    np.testing.assert_array_equal(found, swapped + np.array([1, 2, 3, 5])[X & 3] + 13)


@pytest.mark.parametrize("count", [1, 3])
def test_local_variables_are_one_for_both_ways(count: int) -> None:
    """However the compiler puts them together: a small one and an array, two arrays."""
    names = "local uint flag; local uint big[64];" if count == 1 else f"local uint a[64 * {count}], b[64];"
    big = "big" if count == 1 else "b"
    use = f"if (l == 0) {'flag' if count == 1 else 'a[0]'} = v; {big}[l] = v;"
    body = f"{use} {LOCAL} out[i] = {big}[l ^ 1] + {'flag' if count == 1 else 'a[0]'};"
    program = compiled("".join(f"{HEAD.replace('f(', f'f{k}(')} {IDS} {names} {body} }}\n" for k in range(2)))
    kernels = [f"f{k}" for k in range(2)]
    assert all(program.kernel(name).tile_stub for name in kernels)
    each = 4 * (1 + 64 if count == 1 else 64 * count + 64)
    assert 2 * each <= program.local_bytes < 2 * each + 64
    swapped = X.reshape(4, -1, 2)[:, :, ::-1].reshape(4, 64)
    for name in kernels:
        np.testing.assert_array_equal(run(program, name), swapped + X[:, :1])


def test_items_that_part_in_a_round_are_no_tile() -> None:
    """A word that a branch gave one of them is not that of all."""
    part = f"for (uint k = 0; k < 3; k++) {{ t[l] = v; {LOCAL} if (x & 1) v += t[l ^ 1]; {LOCAL} }} out[i] = v;"
    program = compiled(f"{HEAD} {IDS} {part} }}")
    assert program.kernel("f").loop_stub
    assert not program.kernel("f").tile_stub
    once = f"uint w = 1; t[l] = v; {LOCAL} if (x == 3) w = 7; {LOCAL} out[i] = w + t[l ^ 1] + (y == 2 ? x : 0);"
    x, y = np.arange(64, dtype="u4") % 16, np.arange(64, dtype="u4") // 16
    swapped = X.reshape(4, -1, 2)[:, :, ::-1].reshape(4, 64)
    wanted = np.where(x == 3, 7, 1) + swapped + np.where(y == 2, x, 0)
    np.testing.assert_array_equal(run(compiled(f"{HEAD} {IDS} {once} }}")), wanted)


def test_more_values_than_registers_are_no_tile() -> None:
    many = "".join(f"uint w{k} = in[i + {k}];" for k in range(8))
    mixed = "for (uint k = 0; k < in[2]; k++) {" + "".join(f"w{k} = w{k} * w{(k + 1) % 8} + k;" for k in range(8)) + "}"
    program = compiled(f"{HEAD} {IDS} {many} {LOCAL} {mixed} out[i] = {' + '.join(f'w{k}' for k in range(8))}; }}")
    assert program.kernel("f").loop_stub
    assert not program.kernel("f").tile_stub


def test_tiles_need_groups_that_they_fill() -> None:
    tile = ItemTile(4, 4)
    assert tile_grid((16, 16, 1), 16, tile) == (4, 4, 1)
    assert tile_grid((16, 16, 1), 4, tile) == (4, 1, 1)
    assert tile_grid((64, 8, 1), 16, tile) == (16, 1, 1)
    assert tile_grid((16, 12, 1), 8, tile) == (4, 2, 1)
    for group, lanes in (((8, 16, 1), 16), ((16, 6, 1), 16), ((16, 16, 1), 3), ((48, 4, 1), 8)):
        assert tile_grid(group, lanes, tile) is None


def test_groups_of_other_sizes_take_items_one_by_one() -> None:
    program = compiled(f"{HEAD} {IDS} t[l] = v; {LOCAL} out[i] = t[l ^ 1]; }}")
    data = np.arange(1, 49, dtype="u4")
    for group in ((16, 3), (12, 4), (48, 1), (4, 12)):
        out, size = np.zeros_like(data), (group[0], group[1])
        done = launch(cluster(SHAPES[3]), program, "f", size, [data, out, Local(192)], local_size=group)
        assert done.arrangement.tile == 1
        np.testing.assert_array_equal(out, data.reshape(-1, 2)[:, ::-1].ravel())
