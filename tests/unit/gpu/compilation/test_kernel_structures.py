# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Structures and unions by value: laid out as the compiler lays them out, from numpy records or bytes."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.core.errors import CompilationFailed, InvalidRequest
from eddy.gpu.launches.launch import launch
from eddy.gpu.launches.request import KernelRequest
from eddy.gpu.programs.ir_types import layout
from eddy.gpu.programs.program import Program
from eddy.gpu.programs.shape import ClusterShape
from unit.gpu_kit import cluster, compiled

SOURCE = """
typedef struct { char c; short s[3]; } inner;
typedef struct { short a; float b; inner in[2]; uchar end; } pair;
typedef union { int i; float f; } both;
struct wide { long l; float4 v; char odd; };
typedef struct __attribute__((packed)) { char c; int i; } tight;
kernel void f(global float *o, pair p, both u, char between, struct wide w, const tight t, int k) {
  o[0] = p.a; o[1] = p.b; o[2] = p.in[1].s[2]; o[3] = p.end; o[4] = u.f; o[5] = w.v.z; o[6] = (float)w.l; o[7] = w.odd;
  o[8] = between; o[9] = t.i; o[10] = k; p.a += 1; o[11] = p.a;
}
"""
INNER = np.dtype([("c", "i1"), ("s", "i2", 3)], align=True)
PAIR = np.dtype([("a", "i2"), ("b", "f4"), ("in", INNER, 2), ("end", "u1")], align=True)
WIDE = np.dtype(
    {"names": ["l", "v", "odd"], "formats": ["i8", ("f4", 4), "i1"], "offsets": [0, 16, 32], "itemsize": 48}
)
TIGHT = np.dtype([("c", "i1"), ("i", "i4")])


def arguments() -> list[object]:
    pair = np.array((-7, 2.5, [(1, [1, 2, 3]), (4, [5, 6, 77])], 250), PAIR)[()]
    wide = np.array((1 << 40, [1, 2, 3.5, 4], -3), WIDE)[()]
    tight = np.array((1, -123456), TIGHT)[()]
    return [pair, np.float32(1.25).tobytes(), -9, wide, tight, 42]


@pytest.mark.parametrize("fpu", [True, False])
def test_they_arrive(fpu: bool) -> None:
    program = compiled(SOURCE, fpu)
    assert [a.size for a in program.kernel("f").arguments] == [4, PAIR.itemsize, 4, 1, 48, 5, 4]
    out = np.zeros(12, "f4")
    launch(cluster(ClusterShape(1, 2, 4, fpu=fpu)), program, "f", (1,), [out, *arguments()])
    assert out.tolist() == [-7, 2.5, 77, 250, 1.25, 3.5, float(1 << 40), -3, -9, -123456, 42, -6]


def test_programs_with_structures_survive_json() -> None:
    program = compiled(SOURCE)
    assert Program.from_json(program.to_json()) == program
    assert program.kernel("f").arguments[4].align == 16


@pytest.mark.parametrize("value", [b"123", 5, (1, 2), np.zeros(4, "f4"), None, "text", np.array((1, 2), TIGHT)[()]])
def test_others_are_refused_with_the_size(value: object) -> None:
    with pytest.raises(InvalidRequest, match=rf"'p' \(pair\) takes {PAIR.itemsize} bytes, or a numpy record"):
        launch(cluster(), compiled(SOURCE), "f", (1,), [np.zeros(12, "f4"), value, *arguments()[1:]])


def test_what_holds_a_pointer_or_is_renamed_is_refused() -> None:
    for source in (
        "typedef struct { global int *p; } s; kernel void f(global int *a, s x) { a[0] = x.p[0]; }",
        "typedef struct { int p; } s; kernel void f(global int *a, s x) { a[0] = x.p; }\n#define s long16",
    ):
        with pytest.raises(CompilationFailed):
            compiled(source)


def test_they_travel_in_base_64() -> None:
    request = KernelRequest(SOURCE, "f", (1,), (b"\0\1\2", 1.5))
    assert request.to_json()["arguments"][0] == {"bytes": "AAEC"}
    assert KernelRequest.from_json(request.to_json()) == request
    for wrong in ("?", 5, "A" * 9000, "AAA"):
        with pytest.raises(InvalidRequest, match="base 64"):
            KernelRequest.from_json({**request.to_json(), "arguments": [{"bytes": wrong}]})


@pytest.mark.parametrize(
    ("text", "size", "align"),
    [
        ("{ i16, float, [5 x i8] }", 16, 4),
        ("<{ i8, i32 }>", 5, 1),
        ("{ i8, <3 x float>, i8 }", 48, 16),
        ("[3 x { i8, [2 x i16] }]", 18, 2),
        ("<16 x i64>", 128, 128),
        ("{}", 0, 1),
        ("%a", 24, 8),
    ],
)
def test_sizes_are_those_of_the_target(text: str, size: int, align: int) -> None:
    assert layout(text, {"%a": "{ i64, %b }", "%b": "{ i8, [2 x i32] }"}) == (size, align)
