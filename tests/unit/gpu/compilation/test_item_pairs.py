# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels that do items of two rows at once: which do, and that each item is as if it were alone."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.gpu.launches.launch import launch
from eddy.gpu.programs.shape import ClusterShape
from unit.gpu_kit import cluster, compiled

HEAD = "kernel void f(global const uint *in, global uint *out, uint w, uint h, uint n) {"
IDS = (
    "uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2); "
    "uint at = (z * h + y) * w + x, s = x * 3 + y * 5;"
)
SIZES = ((5, 7), (16, 33), (64, 64), (3, 2, 9), (1, 40), (40, 1), (7, 11, 3))
SHAPES = (ClusterShape(1, 4, 4), ClusterShape(3, 2, 8), ClusterShape(1, 1, 1), ClusterShape(1, 3, 5))


def check(body: str, wanted: str, *, folds: bool = True, offset: int = 0) -> None:
    """`body` gives `out[at]` from `s`, ids and `n` (4); `wanted` is the same in numpy, for arrays x, y, z, s."""
    program = compiled(f"{HEAD} {IDS} {body} }}")
    assert program.kernel("f").folds == folds
    used = set()
    for size in SIZES:
        w, h, d = (*size, 1, 1)[:3]
        for shape in SHAPES:
            data, out = np.arange(997, dtype="u4"), np.zeros((d, h + offset, w), "u4")
            starts = (0, offset, 0)[: len(size)] if offset else None
            done = launch(cluster(shape), program, "f", size, [data, out, w, h + offset, 4], offset=starts)
            used.add(done.arrangement.fold > 0)
            z, y, x = np.meshgrid(*(np.arange(k, dtype="u4") for k in (d, h + offset, w)), indexing="ij")
            s = x * 3 + y * 5
            with np.errstate(over="ignore"):
                values = {"x": x, "y": y, "z": z, "s": s, "np": np, "data": data, "w": w, "h": h, "d": d}
                expected = np.broadcast_to(eval(wanted, values), out.shape).astype("u4")
            expected = np.where(y >= offset, expected, 0)
            np.testing.assert_array_equal(out, expected, err_msg=f"{size} on {shape.name}")
    assert used == ({True, False} if folds else {False})


LOOP = "for (uint k = 0; k < n; k++) s = s * 7 + in[k * 3] + in[x + k] * y;"
LOOPED = "__import__('functools').reduce(lambda s, k: s * 7 + data[k * 3] + data[x + k] * y, range(4), s)"


def test_both_rows_are_done_and_odd_ones_alone() -> None:
    check(f"{LOOP} out[at] = s + z;", f"{LOOPED} + z")


def test_offsets_count_from_where_the_launch_begins() -> None:
    check(f"{LOOP} out[at] = s;", LOOPED, offset=3)


def test_rows_that_part_before_anything_is_written_are_done_one_by_one() -> None:
    check(f"if (y > h / 3 || x == 2) {{ {LOOP} out[at] = s; }}", f"np.where((y > h // 3) | (x == 2), {LOOPED}, 0)")
    wanted = f"np.where(y == 1, 0, np.where({LOOPED} & 1, {LOOPED}, y))"
    check(f"if (y == 1) return; {LOOP} if (s & 1) out[at] = s; else out[at] = y;", wanted)


def test_what_an_item_has_for_itself_is_its_own() -> None:
    """Vectors, 64-bit numbers, small arrays with an index of their own, functions, values chosen without a branch."""
    body = """uint own[2] = {s, x}; ulong wide = (ulong)y << 32 | x; uint2 two = (uint2)(x, y);
    for (uint k = 0; k < n; k++) { s += in[k] * y; wide += wide >> 3; two += two.yx; }
    own[x & 1] += two.x; out[at] = own[y & 1] ^ (uint)(wide >> 32) ^ max(two.x, two.y) ^ rotate(s, 5u);"""
    program = compiled(f"{HEAD} {IDS} {body} }}")
    assert program.kernel("f").folds
    results = []
    for shape in SHAPES:
        out = np.zeros((30, 11), "u4")
        launch(cluster(shape), program, "f", (11, 30), [np.arange(997, dtype="u4"), out, 11, 30, 4])
        single = np.zeros_like(out)
        for row in range(30):
            arguments = [np.arange(997, dtype="u4"), single, 11, 30, 4]
            launch(cluster(shape), program, "f", (11, 1), arguments, offset=(0, row))
        results += [out, single]
    assert all(np.array_equal(results[0], other) for other in results)


@pytest.mark.parametrize("slice_groups", [1, 3, 7])
def test_slices_have_both_rows(slice_groups: int) -> None:
    program = compiled(f"{HEAD} {IDS} {LOOP} out[at] = s; }}")
    data, one, other = np.arange(997, dtype="u4"), np.zeros((29, 13), "u4"), np.zeros((29, 13), "u4")
    launch(cluster(SHAPES[0]), program, "f", (13, 29), [data, one, 13, 29, 4])
    done = launch(cluster(SHAPES[0]), program, "f", (13, 29), [data, other, 13, 29, 4], slice_groups=slice_groups)
    assert done.slices > 1
    assert done.arrangement.fold == 15
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("out[at] = s;", "s"),
        ("for (uint k = 0; k < y; k++) s += in[k]; out[at] = s;", "s + (y * (y - 1)) // 2 * (y > 0)"),
        ("out[at] = 1; if (y & 1) for (uint k = 0; k < n; k++) out[at] += in[k];", "np.where(y & 1, 7, 1)"),
        (
            "for (uint k = 0; k < n; k++) if (s & 1) s = s * 3 + 1; else s /= 2; out[at] = s;",
            "__import__('functools').reduce(lambda s, k: np.where(s & 1, s * 3 + 1, s // 2), range(4), s)",
        ),
    ],
)
def test_what_items_do_not_do_alike_is_done_one_by_one(body: str, wanted: str) -> None:
    """No loop; loops of different length; ways that part after something is written, or within a loop."""
    check(body, wanted, folds=False)


def test_atomics_count_every_item_of_both_rows() -> None:
    counted = "atomic_inc((volatile global uint *)out + (get_global_id(1) & 1));"
    program = compiled(f"{HEAD} for (uint k = 0; k < n; k++) {counted} }}")
    assert program.kernel("f").folds
    out = np.zeros(2, "u4")
    launch(cluster(SHAPES[0]), program, "f", (8, 25), [np.zeros(4, "u4"), out, 8, 25, 4])
    assert out.tolist() == [8 * 13 * 4, 8 * 12 * 4]
