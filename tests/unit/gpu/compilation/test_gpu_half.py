# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`half` (`cl_khr_fp16`): against numpy, whose float16 rounds once, and exact fractions where it has nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from eddy.gpu.compilation.halves import by_way_of_float, uses_half
from eddy.gpu.launches.launch import launch
from eddy.gpu.programs.shape import ClusterShape
from eddy_sim.gpu.executors import RtlExecutor
from unit.gpu_kit import build_quickly, cluster, compiled

Halves = npt.NDArray[np.float16]
SHAPE = {fpu: ClusterShape(1, 4, 4, fpu=fpu) for fpu in (True, False)}
EDGES = [0, 1, 2, 0x3FE, 0x3FF, 0x400, 0x401, 0x37FF, 0x3800, 0x3BFF, 0x3C00, 0x3C01, 0x3E00, 0x4000, 0x4200, 0x63FF]
EDGES = [sign | bits for bits in (*EDGES, 0x6400, 0x7800, 0x7BFE, 0x7BFF, 0x7C00, 0x7E00) for sign in (0, 0x8000)]
ARITHMETIC = """kernel void f(global half *out, global const half *a, global const half *b, global const half *c) {
  size_t i = get_global_id(0); half x = a[i], y = b[i], z = c[i]; global half *o = out + 7 * i;
  o[0] = x + y; o[1] = x - y; o[2] = x * y; o[3] = x / y; o[4] = sqrt(x); o[5] = fma(x, y, z); o[6] = -x;
}"""
ONE = [n.removeprefix("of_half_") for n, text in by_way_of_float() if "INLINE1" in text]
TWO = [n.removeprefix("of_half_") for n, text in by_way_of_float() if "INLINE2" in text]
FUNCTIONS = "\n".join(
    f"kernel void k_{name}(global half *h, global float *f, global const half *a, global const half *b) {{ "
    f"size_t i = get_global_id(0); h[i] = {name}({given}); f[i] = {name}({wide}); }}"
    for names, given, wide in ((ONE, "a[i]", "(float)a[i]"), (TWO, "a[i], b[i]", "(float)a[i], (float)b[i]"))
    for name in names
)
REST = """kernel void rest(global half *h, global int *n, global const half *a, global const half *b) {
  size_t i = get_global_id(0); half x = a[i], y = b[i], t; int e; h += 14 * i; n += 14 * i;
  h[0] = nextafter(x, y); h[1] = frexp(x, &e); n[0] = e; h[2] = modf(x, &t); h[3] = t; h[4] = fract(x, &t); h[5] = t;
  h[6] = ldexp(x, -5); h[7] = copysign(x, y); h[8] = fabs(x); h[9] = select(x, y, (short)(i & 1)); h[10] = fmin(x, y);
  h[11] = max(x, y); h[12] = as_half((ushort)(as_ushort(x) ^ 1)); h[13] = bitselect(x, y, as_half((ushort)0xff));
  n[1] = isnormal(x); n[2] = isless(x, y); n[3] = signbit(x); n[4] = isnan(x); n[5] = ilogb(x); n[6] = x == y;
  n[7] = any(isgreater((half2)(x, y), (half2)(y, x))); n[8] = as_ushort(nan((ushort)0)); n[9] = isinf(x); n[10] = !x;
}"""
WHOLES = {"char": "i1", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8", "ulong": "u8"}
MODES = ("", "_rte", "_rtz", "_rtp", "_rtn")
FROM = "\n".join(
    f"kernel void from_{t}(global half *h, global const {t} *a) {{ size_t i = get_global_id(0); "
    + " ".join(f"h[5 * i + {k}] = convert_half{mode}(a[i]);" for k, mode in enumerate(MODES))
    + " }"
    for t in (*WHOLES, "float")
)
INTO = "\n".join(
    f"kernel void into_{t}(global {t} *o, global const half *a) {{ size_t i = get_global_id(0); "
    + " ".join(f"o[5 * i + {k}] = convert_{t}_sat{mode}(a[i]);" for k, mode in enumerate(MODES))
    + " }"
    for t in WHOLES
)


def any_halves(count: int, seed: int) -> Halves:
    """Edges, and whatever bits."""
    bits = np.random.default_rng(seed).integers(0, 1 << 16, count).astype("u2")
    bits[: len(EDGES)] = EDGES
    return bits.view("f2")


def same(got: Halves, wanted: Halves) -> None:
    """Equal bit for bit, but that one NaN is as good as another."""
    one, other = (np.where(np.isnan(each), 0x7E00, each.view("u2")) for each in (got, wanted))
    np.testing.assert_array_equal(one, other)


def rounded(value: Fraction, mode: str, zero: int = 0) -> int:
    """Bits of the half next to a number; `zero` is what nothing is."""
    if not value:
        return zero
    sign, size = (0x8000, -value) if value < 0 else (0, value)
    exponent = max(math.floor(math.log2(size.numerator) - math.log2(size.denominator)) - 1, -14)
    while size >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - 10)
    kept, cut = divmod(size, unit)
    up = mode == ("_rtn" if sign else "_rtp") and cut > 0
    if mode in ("", "_rte"):
        up = 2 * cut > unit or (2 * cut == unit and kept % 2 == 1)
    steps = kept + up if exponent == -14 else kept + up + ((exponent + 14) << 10)
    most = 0x7C00 if mode in ("", "_rte") or mode == ("_rtn" if sign else "_rtp") else 0x7BFF
    return sign | min(int(steps), most)


@pytest.mark.parametrize("fpu", [True, False], ids=["fpu", "soft"])
def test_arithmetic_rounds_once(fpu: bool) -> None:
    count = 2048
    a, b, c = any_halves(count, 1), np.roll(any_halves(count, 1), 7), any_halves(count, 3)
    with np.errstate(all="ignore"):
        c[::2] = -(a[::2].astype("f4") * b[::2].astype("f4")).astype("f2")  # where what is left of the product counts
    out = np.zeros((count, 7), "f2")
    launch(cluster(SHAPE[fpu]), compiled(ARITHMETIC, fpu), "f", (count,), [out, a, b, c])
    with np.errstate(all="ignore"):
        for k, wanted in enumerate((a + b, a - b, a * b, a / b, np.sqrt(a))):
            same(out[:, k].copy(), wanted)
        loose = a.astype("f8") * b.astype("f8") + c.astype("f8")
    for x, y, z, whole, got in zip(a, b, c, loose, out[:, 5].copy().view("u2"), strict=True):
        if not np.isfinite([x, y, z]).all():
            bits = 0x7E00 if np.isnan(whole) else 0xFC00 if whole < 0 else 0x7C00
        else:
            exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
            bits = rounded(exact, "", 0x8000 if np.signbit(whole) else 0)
        assert got == bits, (x, y, z)
    np.testing.assert_array_equal(out[:, 6].copy().view("u2"), a.view("u2") ^ 0x8000)


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_functions_are_those_of_float_rounded(name: str) -> None:
    count = 256
    a, b = any_halves(count, 5), any_halves(count, 6)
    a[128:] = np.random.default_rng(7).uniform(-9, 9, 128).astype("f2")
    h, f = np.zeros(count, "f2"), np.zeros(count, "f4")
    launch(cluster(SHAPE[True]), compiled(FUNCTIONS), f"k_{name}", (count,), [h, f, a, b])
    with np.errstate(all="ignore"):
        same(h, f.astype("f2"))
        exact: dict[str, Callable[[Halves], Halves]] = {"exp": np.exp, "sin": np.sin, "log2": np.log2, "tanh": np.tanh}
        if name in exact:  # numpy's, computed in double and rounded: they differ where that is near the middle alone
            wanted = exact[name](a.astype("f8")).astype("f2")
            assert (np.isnan(wanted) == np.isnan(h)).all()
            near = np.abs(h.view("i2").astype(int) - wanted.view("i2")) <= 1
            assert (near | np.isnan(wanted)).all()


@pytest.mark.parametrize("fpu", [True, False], ids=["fpu", "soft"])
def test_parts_neighbours_tests_and_bits(fpu: bool) -> None:
    count = 1024
    a, b = any_halves(count, 8), np.roll(any_halves(count, 8), 3)
    a[::9] = b[::9]
    h, n = np.zeros((count, 14), "f2"), np.zeros((count, 14), "i4")
    launch(cluster(SHAPE[fpu]), compiled(REST, fpu), "rest", (count,), [h, n, a, b])
    with np.errstate(all="ignore"):
        mantissa, exponent = np.frexp(a)
        part, whole = (v.astype("f2") for v in np.modf(a.astype("f4")))
        floor = np.floor(a)
        fract = np.minimum((a.astype("f4") - floor.astype("f4")).astype("f2"), np.float16(1 - 2.0**-11))
        fract = np.where(np.isinf(a) | (a == 0), np.copysign(np.float16(0), a), fract)
        odd = np.arange(count) % 2 == 1
        mixed = ((a.view("u2") & 0xFF00) | (b.view("u2") & 0xFF)).view("f2")
        told = [np.nextafter(a, b), mantissa, part, whole, fract, floor, np.ldexp(a, -5)]
        told += [np.copysign(a, b), np.abs(a), np.where(odd, b, a), np.fmin(a, b), np.where(a < b, b, a)]
    for k, wanted in enumerate(told):
        got = h[:, k].copy()
        zeros = (wanted == 0) & (got == 0) & (k == 10)  # of two zeros either is the least
        if k in (7, 8, 9):
            np.testing.assert_array_equal(got.view("u2"), np.asarray(wanted, "f2").view("u2"))
        else:
            same(np.where(zeros, wanted, got).astype("f2"), np.asarray(wanted, "f2"))
    np.testing.assert_array_equal(h[:, 12].copy().view("u2"), a.view("u2") ^ 1)
    np.testing.assert_array_equal(h[:, 13].copy().view("u2"), mixed.view("u2"))
    finite = np.isfinite(a)
    np.testing.assert_array_equal(n[finite, 0], exponent[finite])
    normal = finite & (np.abs(a) >= np.float16(2.0**-14))
    tests = [normal, a < b, np.signbit(a), np.isnan(a), None, a == b, (a > b) | (b > a), None, np.isinf(a), a == 0]
    for k, holds in enumerate(tests, start=1):
        if holds is not None:
            np.testing.assert_array_equal(n[:, k], holds)
    real = finite & (a != 0)
    np.testing.assert_array_equal(n[real, 5], exponent[real] - 1)
    assert (n[:, 8] == 0x7E00).all()


@pytest.mark.parametrize("name", [*WHOLES, "float"])
def test_conversions_to_half_round_as_they_say(name: str) -> None:
    random = np.random.default_rng(9)
    if name == "float":
        with np.errstate(all="ignore"):
            near = (
                any_halves(200, 2).astype("f4") * np.float32(1.0004),
                any_halves(44, 4).astype("f4") + np.float32(2.0**-26),
            )
            x = np.concatenate([random.integers(0, 1 << 32, 200, "u4").view("f4"), *near])
        x = x[~np.isnan(x)]
    else:
        bounds = np.iinfo(WHOLES[name])
        most = (bounds.min, bounds.max, 0, 65504, 65519, 65520, 131073, 2049, -2051, 1 << 40)
        near = random.integers(max(bounds.min, -70000), min(bounds.max, 70000), 200).tolist()
        x = np.array([v for v in (*most, *near) if bounds.min <= v <= bounds.max], WHOLES[name])
    out = np.zeros((len(x), 5), "f2")
    launch(cluster(SHAPE[True]), compiled(FROM), f"from_{name}", x.shape, [out, x])
    for value, got in zip(x.tolist(), out.view("u2").tolist(), strict=True):
        sign = 0x8000 if math.copysign(1, value) < 0 else 0
        wanted = [sign | 0x7C00] * 5 if math.isinf(value) else [rounded(Fraction(value), mode, sign) for mode in MODES]
        assert got == wanted, value


@pytest.mark.parametrize("name", WHOLES)
def test_conversions_to_integers_saturate(name: str) -> None:
    x = np.concatenate([any_halves(300, 10), np.arange(-20, 20).astype("f2") / np.float16(4)])
    bounds, out = np.iinfo(WHOLES[name]), np.zeros((len(x), 5), WHOLES[name])
    launch(cluster(SHAPE[True]), compiled(INTO), f"into_{name}", x.shape, [out, x])
    ways: list[Callable[[float], float]] = [math.trunc, round, math.trunc, math.ceil, math.floor]
    for value, got in zip(x.tolist(), out.tolist(), strict=True):
        if math.isinf(value):
            wanted = [bounds.max if value > 0 else bounds.min] * 5
        else:
            wanted = [0 if math.isnan(value) else min(max(int(way(value)), bounds.min), bounds.max) for way in ways]
        assert got == wanted, value


MIXED = """typedef struct { half a; short b; half2 c; } pair;
half twice(half x) { return x + x; }
kernel void k(global half4 *out, global const half4 *in, half by, half3 v, pair p, global float *f, local half *t) {
  size_t i = get_global_id(0); half4 x = vload4(i, (global const half *)in);
  t[get_local_id(0)] = x.y; barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = fmax(x * by, (half)0) + (half4)(v, p.c.y) - convert_half4((float4)(0.5f)) + twice(p.a);
  f[i] = dot(x, x) + sqrt(4) + pow(2, 3) + p.b + sub_group_reduce_add(t[get_local_id(0)]) * 0.0f;
  if (i == 0) printf("%.2f %g %d\\n", x.x, (float)HALF_MAX, (int)sizeof(half3));
}"""


def test_vectors_structures_arguments_and_printing() -> None:
    """Integers given to functions that have a form for float and one for half are float, as without half."""
    x = (np.arange(32) / 8 - 2).astype("f2").reshape(8, 4)
    out, f = np.zeros((8, 4), "f2"), np.zeros(8, "f4")
    pair = np.zeros((), np.dtype([("a", "f2"), ("b", "i2"), ("c", "f2", 2)], align=True))
    pair["a"], pair["b"], pair["c"] = 0.25, -7, (3, 1.5)
    from eddy.gpu.launches.launch import Local

    arguments = [out, x, 3.0, (1.0, -2.0, 0.5), pair[()], f, Local(64)]
    result = launch(cluster(SHAPE[True]), compiled(MIXED), "k", (8,), arguments)
    wanted = np.maximum(x * np.float16(3), 0) + np.array([1, -2, 0.5, 1.5], "f2") - np.float16(0.5) + np.float16(0.5)
    np.testing.assert_array_equal(out, wanted)
    squares = (x.astype("f4") ** 2).sum(1).astype("f2")
    np.testing.assert_array_equal(f, squares.astype("f4") + 2 + 8 - 7)
    assert result.log == "-2.00 65504 8\n"


def test_a_source_without_half_has_no_functions_of_it() -> None:
    assert not uses_half("// half of it\nkernel void f() { /* half */ half_sqrt(2.0f); }")
    assert uses_half("half4 x;")
    assert uses_half("int x = convert_half_rtz(y);")


@pytest.mark.rtl
def test_the_cores_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    build_quickly(monkeypatch)
    shape, count = ClusterShape(1, 2, 2, fpu=False), 48
    a, b, c = any_halves(count, 1), np.roll(any_halves(count, 1), 7), any_halves(count, 3)
    found = []
    for executor in (cluster(shape), RtlExecutor(shape)):
        out = np.zeros((count, 7), "f2")
        launch(executor, compiled(ARITHMETIC, False), "f", (count,), [out, a, b, c])
        found.append(out.view("u2"))
    np.testing.assert_array_equal(found[0], found[1])
