# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""double by soft float: bit for bit where IEEE 754 says so, within the specification's units elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from eddy.gpu.launches.launch import launch
from eddy.gpu.programs.shape import ClusterShape
from unit.gpu_kit import cluster, compiled
from unit.opencl_table import mp

Doubles = npt.NDArray[np.float64]
ITEMS = 240
EDGES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    5e-324,
    -2.2250738585072014e-308,
    1.7976931348623157e308,
    0.5,
    3.0,
]


def doubles(seed: int) -> Doubles:
    """Of all magnitudes, with what is special among them."""
    rng = np.random.default_rng(seed)
    found = rng.integers(0, 1 << 64, ITEMS, dtype="u8").view("f8")
    near = rng.normal(size=ITEMS) * 2.0 ** rng.integers(-60, 60, ITEMS)
    found = np.where(rng.integers(0, 3, ITEMS) == 0, found, near)
    found[rng.integers(0, ITEMS, 60)] = rng.choice(EDGES, 60)
    tiny = rng.integers(0, 1 << 52, 20, dtype="u8").view("f8")
    found[rng.integers(0, ITEMS, 20)] = tiny
    return found


def same(found: Doubles, wanted: Doubles) -> None:
    """Equal bits, any NaN being as good as another."""
    bits = np.where(np.isnan(wanted), 0, wanted.view("u8"))
    np.testing.assert_array_equal(np.where(np.isnan(found), 0, found.view("u8")), bits)


KINDS = {"f8": "double", "f4": "float", "i4": "int", "u4": "uint", "i8": "long", "u8": "ulong"}
Column = npt.NDArray[Any]


def apply(bodies: Mapping[str, str], *arrays: Column, fpu: bool = True) -> list[Column]:
    """Expressions over arrays a, b, c, each with the type it gives: one program, a kernel each."""
    names = "abc"[: len(arrays)]
    kinds = [KINDS[x.dtype.str[1:]] for x in arrays]
    given = ", ".join(f"global const {kind} *{n}_" for n, kind in zip(names, kinds, strict=True))
    reads = "".join(f"{kind} {n} = {n}_[i]; " for n, kind in zip(names, kinds, strict=True))
    source = "".join(
        f"kernel void f{k}({given}, global {to} *r, double unused) "
        f"{{ int i = get_global_id(0); {reads} r[i] = {body}; }}\n"
        for k, (body, to) in enumerate(bodies.items())
    )
    made, found = compiled(source, fpu), []
    for k, to in enumerate(bodies.values()):
        out = np.zeros(arrays[0].size, next(short for short, kind in KINDS.items() if kind == to))
        launch(cluster(ClusterShape(1, 2, 8, fpu)), made, f"f{k}", out.shape, [*arrays, out, 0.0])
        found.append(out)
    return found


@pytest.mark.parametrize("fpu", [True, False])
def test_arithmetic_is_exact_to_the_last_bit(fpu: bool) -> None:
    a, b, c = doubles(1), doubles(2), doubles(3)
    bodies = ["a + b", "a - b", "a * b", "a / b", "sqrt(a)"]
    found = apply(dict.fromkeys(bodies, "double"), a, b, c, fpu=fpu)
    with np.errstate(all="ignore"):
        for got, wanted in zip(found, (a + b, a - b, a * b, a / b, np.sqrt(a)), strict=True):
            same(got, wanted)


def test_fma_rounds_once() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=ITEMS), rng.normal(size=ITEMS)
    c = -(a * b) * (1 + rng.integers(-2, 3, ITEMS) * 2.0**-52)
    c[::3] = rng.normal(size=80) * 2.0 ** rng.integers(-130, 130, 80)
    with mp.workprec(300):
        wanted = [float(mp.mpf(x) * mp.mpf(y) + mp.mpf(z)) for x, y, z in zip(a, b, c, strict=True)]
    same(apply({"fma(a, b, c)": "double"}, a, b, c)[0], np.array(wanted))


def test_comparisons_and_tests() -> None:
    a = doubles(5)
    b = np.where(np.arange(ITEMS) % 3 == 0, a, doubles(6))
    wanted = {"a < b": a < b, "a <= b": a <= b, "a > b": a > b, "a >= b": a >= b, "a == b": a == b, "a != b": a != b}
    wanted |= {"isnan(a)": np.isnan(a), "isinf(a)": np.isinf(a), "isfinite(a)": np.isfinite(a)}
    wanted |= {"signbit(a)": np.signbit(a), "isunordered(a, b)": np.isnan(a) | np.isnan(b)}
    for body, found in zip(wanted, apply(dict.fromkeys(wanted, "int"), a, b), strict=True):
        np.testing.assert_array_equal(found.astype(bool), wanted[body], err_msg=body)
    least, signed = apply(dict.fromkeys(("fmin(a, b)", "copysign(a, b)"), "double"), a, b)
    same(least + 0.0, np.fmin(a, b) + 0.0)
    same(signed, np.copysign(a, b))


def test_conversions() -> None:
    a, whole = doubles(7), np.random.default_rng(8).integers(0, 1 << 64, ITEMS, dtype="u8")
    near = np.where(np.abs(a) < 2.0**31 - 1, a, 2.5)
    bodies = {"(float)a": "float", "(int)b": "int", "convert_int_rte(b)": "int", "(long)b": "long"}
    bodies |= {"(uint)fabs(b)": "uint", "(ulong)fabs(b)": "ulong"}
    narrow, *rest = apply(bodies, a, near)
    with np.errstate(all="ignore"):
        wide = a.astype("f4")
        np.testing.assert_array_equal(narrow[~np.isnan(wide)], wide[~np.isnan(wide)])
        assert np.isnan(narrow[np.isnan(wide)]).all()
        wanted = [near.astype("i4"), np.rint(near).astype("i4"), near.astype("i8")]
        wanted += [np.abs(near).astype("u4"), np.abs(near).astype("u8")]
        for got, exact in zip(rest, wanted, strict=True):
            np.testing.assert_array_equal(got, exact)
        shifted = whole >> np.arange(ITEMS, dtype="u8") % np.uint64(64)
        signed, small = shifted.view("i8"), shifted.astype("i4")
        bodies = dict.fromkeys(("(double)(ulong)a", "(double)a", "(double)b", "(double)(uint)b"), "double")
        given = shifted.astype("f8"), signed.astype("f8"), small.astype("f8"), small.view("u4").astype("f8")
        for got, exact in zip(apply(bodies, signed, small), given, strict=True):
            same(got, exact)
        same(apply({"convert_double(a)": "double"}, wide)[0], wide.astype("f8"))


def test_special_values() -> None:
    a, b = np.array([0.0, -0.0, np.inf, -np.inf, np.nan]), np.array([-0.0, 3.0, -1.0, 0.5, 0.0])
    bodies = ["exp(a)", "log(a)", "sin(a)", "atan(a)", "pow(a, b)", "atan2(a, b)"]
    found = apply(dict.fromkeys(bodies, "double"), a, b)
    with np.errstate(all="ignore"):
        wanted = np.exp(a), np.log(a), np.sin(a), np.arctan(a), np.power(a, b), np.arctan2(a, b)
    for got, exact in zip(found, wanted, strict=True):
        same(got, exact)


def test_vectors_structures_and_printing() -> None:
    source = r"""
    #pragma OPENCL EXTENSION cl_khr_fp64 : enable
    typedef struct { double a; float b; } pair;
    kernel void f(global double *x, double4 v, pair p) {
      double4 w = vload4(0, x) * v + (double4)(0.1);
      vstore4(clamp(w, (double4)(0.0), (double4)(2.0)), 1, x);
      int e; double whole;
      x[8] = dot(v, v); x[9] = length(v.xyz); x[10] = frexp(v.x, &e) + e; x[11] = modf(v.w, &whole) + 10 * whole;
      x[12] = p.a * p.b; x[13] = convert_float(v.y); x[14] = ldexp(v.x, -3) + pown(v.y, 3) + mad(v.x, v.y, v.z);
      printf("%f %d %5.2f\n", v.x, 7, 2.5f);
    }
    """
    x, v = np.zeros(15), np.array([1.25, -2.1, 3.0, 4.75])
    x[:4] = [1, -1, 0.25, 9]
    pair = np.array([(0.3, 2.0)], np.dtype([("a", "f8"), ("b", "f4")], align=True))[0]
    log = launch(cluster(), compiled(source), "f", (1,), [x, tuple(v), pair]).log
    np.testing.assert_array_equal(x[4:8], np.clip(x[:4] * v + 0.1, 0, 2))
    wanted = [(v * v).sum(), np.sqrt((v[:3] ** 2).sum()), 0.625 + 1, 40.75, 0.6, np.float32(-2.1)]
    np.testing.assert_allclose(x[8:14], wanted, rtol=1e-15)
    np.testing.assert_allclose(x[14], 1.25 / 8 + (-2.1) ** 3 + 1.25 * -2.1 + 3, rtol=1e-15)
    assert log == "1.250000 7  2.50\n"


def test_a_source_that_could_do_without_has_literals_of_single_precision() -> None:
    source = """
    #ifdef cl_khr_fp64
    typedef double real; // double where there is
    #else
    typedef float real;
    #endif
    kernel void f(global real *x) { x[0] = 0.1 + x[0] * 3; }
    """
    x = np.array([0.2], "f4")
    launch(cluster(), compiled(source), "f", (1,), [x])
    assert x[0] == np.float32(0.1) + x_times_three()


def x_times_three() -> np.float32:
    return np.float32(np.float32(0.2) * np.float32(3))
