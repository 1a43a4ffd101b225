# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels that do two neighbours of the first dimension at once: which do, when, and that each item is as if alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from eddy.gpu.compilation.toolchain import LIBRARY
from eddy.gpu.launches.launch import LaunchResult, launch
from eddy.gpu.programs.shape import ClusterShape
from unit.gpu_kit import cluster, compiled

Words = npt.NDArray[np.uint32]
HEAD = "kernel void f(global const uint *in, global uint *out, uint w, uint h, uint n) {"
IDS = "uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2), at = (z * h + y) * w + x;"
SIZES = ((6, 7), (5, 8), (16, 33), (64, 64), (64, 1), (4, 2, 9), (40, 3, 2))
SHAPES = (ClusterShape(1, 4, 4), ClusterShape(3, 2, 8), ClusterShape(1, 1, 1), ClusterShape(1, 3, 5))
LOOP = "uint s = x * 3 + y; for (uint k = 0; k < n; k++) s = s * 7 + in[k] * y + in[x + k];"
ADD = "out[get_global_id(0)] = in[get_global_id(0)] + 5;"


def looped(x: Words, y: Words, data: Words) -> Words:
    """What `LOOP` makes of ids."""
    s = (x * 3 + y).astype("u4")
    for k in range(4):
        s = (s * 7 + data[k] * y + data[x + k]).astype("u4")
    return s


def run(body: str, size: tuple[int, ...], shape: ClusterShape, **options: object) -> tuple[Words, LaunchResult]:
    """What a kernel leaves of a 3-D array of ones, and how it ran."""
    w, h, d = (*size, 1, 1)[:3]
    out, program = np.ones((d, h, w), "u4"), compiled(f"{HEAD} {IDS} {body} }}")
    done = launch(cluster(shape), program, "f", size, [np.arange(997, dtype="u4"), out, w, h, 4], **options)  # type: ignore[arg-type]
    return out, done


@pytest.mark.parametrize(
    ("body", "inside"),
    [
        (f"{LOOP} out[at] = s;", lambda x, y: x >= 0),
        (f"if (x == 3 || y > 5 || x > w - 3) return; {LOOP} out[at] = s;", lambda x, y: (x != 3) & (y < 6)),
        (f"{LOOP} if (x % 3) out[at] = s;", lambda x, y: x % 3 > 0),
    ],
)
def test_four_items_are_each_as_if_alone(body: str, inside: object) -> None:
    """In loops, at edges where neighbours part, and where only some write."""
    assert callable(inside)
    used = set()
    for size in SIZES:
        w, h, d = (*size, 1, 1)[:3]
        _, y, x = np.meshgrid(*(np.arange(k, dtype="u4") for k in (d, h, w)), indexing="ij")
        there = inside(x, y) & ((x <= w - 3) if "w - 3" in body else True)
        for shape in SHAPES:
            out, done = run(body, size, shape)
            assert done.arrangement.join <= (size[0] % 2 == 0)
            used.add((done.arrangement.join, done.arrangement.fold > 0))
            np.testing.assert_array_equal(out, np.where(there, looped(x, y, np.arange(997, dtype="u4")), 1))
    assert {(True, True), (False, True), (False, False)} == used


@pytest.mark.parametrize("size", [(64,), (66,), (67,), (64, 5), (2, 90), (32, 4, 3)])
def test_neighbours_of_one_row(size: tuple[int, ...]) -> None:
    """A kernel without a loop."""
    body = "uint s = x * 100 + y * 10 + z; out[at] = s ^ in[x] ^ in[x + 1];"
    w, h, d = (*size, 1, 1)[:3]
    z, y, x = np.meshgrid(*(np.arange(k, dtype="u4") for k in (d, h, w)), indexing="ij")
    for shape in SHAPES:
        out, done = run(body, size, shape)
        assert done.arrangement.fold == 0
        np.testing.assert_array_equal(out, (x * 100 + y * 10 + z) ^ x ^ (x + 1))


@pytest.mark.parametrize("offset", [(2, 0), (3, 1), (0, 5)])
def test_offsets_count_from_where_the_launch_begins(offset: tuple[int, int]) -> None:
    program = compiled(f"{HEAD} {IDS} {LOOP} out[at] = s; }}")
    y, x = np.meshgrid(*(np.arange(k, dtype="u4") for k in (20, 40)), indexing="ij")
    there = (x >= offset[0]) & (x < offset[0] + 34) & (y >= offset[1]) & (y < offset[1] + 12)
    data, out = np.arange(997, dtype="u4"), np.zeros((20, 40), "u4")
    done = launch(cluster(SHAPES[0]), program, "f", (34, 12), [data, out, 40, 20, 4], offset=offset)
    assert done.arrangement.join
    np.testing.assert_array_equal(out, np.where(there, looped(x, y, data), 0))


@pytest.mark.parametrize("slice_groups", [1, 3, 7])
def test_slices_have_all_neighbours(slice_groups: int) -> None:
    body = f"{LOOP} out[at] = s + get_global_size(0);"
    whole, _ = run(body, (26, 29), SHAPES[0])
    cut, done = run(body, (26, 29), SHAPES[0], slice_groups=slice_groups)
    assert done.slices > 1
    assert done.arrangement.join
    np.testing.assert_array_equal(whole, cut)


def test_atomics_count_every_item() -> None:
    out, done = run("atomic_add((volatile global uint *)out + (x & 1), y);", (32, 9), SHAPES[0])
    assert done.arrangement.join
    assert out.ravel()[:2].tolist() == [16 * 36 + 1, 16 * 36 + 1]


def test_few_items_stay_apart() -> None:
    """Lanes without an item are worse than items apart."""
    assert not run(ADD, (16,), SHAPES[0])[1].arrangement.join
    assert not run(ADD, (48,), SHAPES[0])[1].arrangement.join, "two turns of two are longer than three of one"
    assert run(ADD, (64,), SHAPES[0])[1].arrangement.join


@pytest.mark.parametrize(
    ("body", "joins"),
    [
        (ADD, True),
        ("out[x] = in[x];", True),
        ("global const uint *p = in + x; for (uint k = 0; k < n; k++) { out[at] += *p; p += w; }", True),
        ("((global uchar *)out)[x] = 1;", True),
        ("out[x * h + y] = in[x];", True),
        ("vstore4(vload4(x, in), x, out);", False),
        ("((global uint4 *)out)[x] = 1;", False),
        ("out[4 * x] = 1;", False),
        ("out[x << 1] = in[x];", False),
        ("struct { uint a, b; } s = {x, y}; ((global ulong *)out)[x] = s.a;", False),
        ("if (x < n) out[x] = in[x];", False),
        ("for (uint k = 0; k < x; k++) out[at] += in[k];", False),
        ("out[x] = get_local_id(0);", False),
    ],
)
def test_which_kernels_have_neighbours(body: str, joins: bool) -> None:
    """None whose neighbours lie further apart in memory than a word, that may part, or that look at their group."""
    assert bool(compiled(f"{HEAD} {IDS} {body} }}").kernel("f").join_stub) == joins


def test_mathematics_that_fills_the_registers_is_done_apart() -> None:
    source = (LIBRARY.parent / "kernels" / "black_scholes.cl").read_text()
    assert not compiled(source).kernel("black_scholes").join_stub


def test_neighbours_take_fewer_instructions() -> None:
    """Of a warp for an item of each of its lanes: 9 for the sum of two arrays, 6.5 joined; sgemm the same."""
    source = """kernel void add(global const float *a, global const float *b, global float *c) {
      const uint i = get_global_id(0);
      c[i] = a[i] + b[i];
    }
    kernel void product(global const float *a, global const float *b, global float *c, uint n) {
      const uint x = get_global_id(0), y = get_global_id(1);
      float sum = 0.0f;
      for (uint k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
      c[y * n + x] = sum;
    }"""
    program, shape = compiled(source), ClusterShape(1, 4, 4)

    def instructions(kernel: str, size: tuple[int, ...], arguments: list[object]) -> float:
        done = launch(cluster(shape), program, kernel, size, arguments)
        return sum(core.instructions for core in done.counters) * shape.threads

    a, b, c = (np.ones(8192, "f4") for _ in range(3))
    assert instructions("add", (8192,), [a, b, c]) / 8192 < 7.0
    assert instructions("add", (8191,), [a, b, c]) / 8191 > 9.0
    assert instructions("product", (32, 32), [a, b, c, 32]) / 32**3 < 4.1
    assert instructions("product", (33, 32), [a, b, c, 32]) / (33 * 32**2) > 5.0


PLACES = "global struct S *p, global struct S *q"
SWAP = "struct S t = p[at]; p[at] = q[at]; q[at] = t;"


@pytest.mark.parametrize(
    ("helper", "swap", "leave"),
    [
        ("", SWAP, "x == 3 || y == 2"),
        ("", SWAP, "y == 3"),
        (
            f"static void swap(global struct S *p, global struct S *q, uint at) {{ {SWAP} }}",
            "swap(p, q, at);",
            "x == 3",
        ),
    ],
)
@pytest.mark.parametrize("words", [1, 3])
def test_a_copy_of_a_structure_is_a_write(helper: str, swap: str, leave: str, words: int) -> None:
    """Where items part they begin again: what was swapped before would be swapped back."""
    text = (
        f"struct S {{ uint a[{words}]; }}; {helper}"
        f"kernel void f({PLACES}, global uint *out, uint w, uint n) {{"
        f"uint x = get_global_id(0), y = get_global_id(1), at = y * w + x; {swap} if ({leave}) return;"
        "uint s = 0; for (uint k = 0; k < n; k++) s = s * 7 + k * y + x; out[at] = s; }"
    )
    p = np.arange(16 * 16 * words, dtype="u4")
    q, out = p + 1000, np.zeros(16 * 16, "u4")
    launch(cluster(SHAPES[0]), compiled(text), "f", (16, 16), [p, q, out, 16, 4])
    np.testing.assert_array_equal(p, q + 1000)
    assert p[0] == 1000


@pytest.mark.parametrize(
    "swap", ["__sync_val_compare_and_swap(c, 0u, 1u)", "!__sync_bool_compare_and_swap(c, 0u, 1u)", "atomic_inc(c)"]
)
def test_an_exchange_in_a_helper_is_done_by_each_item(swap: str) -> None:
    loop = "uint s = 0; for (uint k = 0; k < n; k++) s += k * x;"
    text = (
        f"uint take(volatile global uint *c) {{ return {swap}; }}"
        "kernel void f(volatile global uint *c, global uint *out, uint w, uint n) {"
        f"uint x = get_global_id(0), y = get_global_id(1); {loop} out[y * w + x] = take(c) + (s & 0); }}"
    )
    for size in ((256, 1), (16, 16)):
        lock, out = np.zeros(1, "u4"), np.zeros(256, "u4")
        launch(cluster(SHAPES[0]), compiled(text), "f", size, [lock, out, size[0], 4])
        assert np.count_nonzero(out == 0) == 1
