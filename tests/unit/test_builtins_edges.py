"""Built-in functions at their edges: signed zeros, infinities, no numbers, results in two parts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np
import pytest
from eddy.gpu.launch import launch
from eddy.gpu.shape import ClusterShape
from unit.gpu_kit import cluster, compiled
from unit.opencl_table import NATIVE

INF, NAN = float("inf"), float("nan")
VALUES = """
acospi(1.0f) = 0             asinpi(-0.0f) = -0.0         atanpi(INFINITY) = 0.5        atan2pi(0.0f, -1.0f) = 1
atan2pi(-0.0f, 0.0f) = -0.0  acosh(0.5f) = nan            acosh(INFINITY) = inf         asinh(-INFINITY) = -inf
sin(-0.0f) = -0.0            tan(-0.0f) = -0.0             tanh(-0.0f) = -0.0
expm1(-0.0f) = -0.0          sinh(-0.0f) = -0.0           log1p(-0.0f) = -0.0           asin(-0.0f) = -0.0
atan(-0.0f) = -0.0           cbrt(-0.0f) = -0.0           erf(-0.0f) = -0.0             rint(-0.4f) = -0.0
round(-0.4f) = -0.0          ceil(-0.5f) = -0.0           trunc(-0.5f) = -0.0           sqrt(-0.0f) = -0.0
asinh(-0.0f) = -0.0          atanh(1.0f) = inf            atanh(-1.0f) = -inf           atanh(2.0f) = nan
cospi(0.5f) = 0              cospi(-1.5f) = 0             cospi(1e30f) = 1              cospi(INFINITY) = nan
sinpi(-0.0f) = -0.0          sinpi(3.0f) = 0              sinpi(-3.0f) = -0.0           sinpi(16777217.0f) = 0
tanpi(1.0f) = -0.0           tanpi(2.0f) = 0              tanpi(-1.0f) = 0              tanpi(-2.0f) = -0.0
tanpi(0.5f) = inf            tanpi(1.5f) = -inf           tanpi(-0.5f) = -inf           tanpi(NAN) = nan
erf(INFINITY) = 1            erf(-INFINITY) = -1          erf(-0.0f) = -0.0             erfc(-INFINITY) = 2
erfc(INFINITY) = 0           tgamma(0.0f) = inf           tgamma(-0.0f) = -inf          tgamma(-3.0f) = nan
tgamma(INFINITY) = inf       tgamma(-INFINITY) = nan      tgamma(5.0f) = 24             tgamma(-50.5f) = -0.0
tgamma(-51.5f) = 0           lgamma(1.0f) = 0             lgamma(2.0f) = 0              lgamma(-4.0f) = inf
lgamma(-INFINITY) = inf      lgamma(0.0f) = inf           logb(0.0f) = -inf             logb(-INFINITY) = inf
logb(1e-45f) = -149          logb(-10.0f) = 3             logb(NAN) = nan               nextafter(0.0f, -1.0f) = -1e-45
nextafter(1.0f, 2.0f) = 1.00000012                        nextafter(-1.0f, -2.0f) = -1.00000012
nextafter(INFINITY, 0.0f) = 3.40282347e38                 nextafter(0.0f, -0.0f) = -0.0
nextafter(1.0f, NAN) = nan   nextafter(1e-45f, -1.0f) = 0 fdim(NAN, 1.0f) = nan         fdim(INFINITY, INFINITY) = 0
fmax(NAN, 1.0f) = 1          fmin(1.0f, NAN) = 1          maxmag(-3.0f, 2.0f) = -3      maxmag(-2.0f, 2.0f) = 2
minmag(-2.0f, 2.0f) = -2     minmag(NAN, 2.0f) = 2        pown(-1.0f, 16777217) = -1    pown(-1.0f, 2147483647) = -1
pown(-1.0f, 16777216) = 1    pown(0.0f, 0) = 1            pown(NAN, 0) = 1              pown(-0.0f, -3) = -inf
pown(-0.0f, -2) = inf        pown(-0.0f, 3) = -0.0        pown(-INFINITY, 3) = -inf     pown(-INFINITY, -3) = -0.0
pown(-2.0f, -2147483647 - 1) = 0                          pown(1.0f, -2147483647 - 1) = 1
pow(1.0f, NAN) = 1           pow(NAN, 0.0f) = 1           pow(-1.0f, INFINITY) = 1      pow(-0.0f, -1.0f) = -inf
pow(-8.0f, 0.333f) = nan     powr(-1.0f, 2.0f) = nan      powr(0.0f, 0.0f) = nan        powr(-0.0f, -2.0f) = inf
powr(-0.0f, 3.0f) = 0        powr(INFINITY, 0.0f) = nan   powr(1.0f, INFINITY) = nan    powr(2.0f, NAN) = nan
powr(NAN, 0.0f) = nan        powr(2.0f, -0.0f) = 1        powr(1.0f, 5.0f) = 1          powr(0.5f, INFINITY) = 0
rootn(-8.0f, 3) = -2         rootn(-8.0f, 2) = nan        rootn(2.0f, 0) = nan          rootn(-0.0f, -3) = -inf
rootn(-0.0f, 2) = 0          rootn(-0.0f, 3) = -0.0       rootn(INFINITY, -1) = 0       rootn(5.0f, 1) = 5
remainder(5.0f, 3.0f) = -1   remainder(-3.0f, 2.0f) = 1   remainder(1.0f, 0.0f) = nan   remainder(2.0f, INFINITY) = 2
remainder(-4.0f, 2.0f) = -0.0                             remainder(3.4e38f, 1e-45f) = 0
fmod(-6.0f, 3.0f) = -0.0     native_divide(1.0f, 4.0f) = 0.25                           half_recip(4.0f) = 0.25
half_powr(2.0f, 3.0f) = 8    native_exp10(2.0f) = 100     half_divide(3.0f, 2.0f) = 1.5 native_log10(1000.0f) = 3
length((float2)(3e30f, 4e30f)) = 5e30                     length((float2)(3e-30f, 4e-30f)) = 5e-30
length(-3.0f) = 3            length((float3)(1.0f, INFINITY, 2.0f)) = inf               distance(1.0f, 4.0f) = 3
distance((float4)(1.0f), (float4)(2.0f)) = 2              fast_length((float2)(3.0f, 4.0f)) = 5
normalize((float2)(3e30f, 4e30f)).x = 0.6                 normalize((float2)(0.0f, -0.0f)).y = -0.0
normalize((float2)(INFINITY, 1.0f)).x = 1                 normalize(-3.0f) = -1
fast_distance((float2)(1.0f, 1.0f), (float2)(4.0f, 5.0f)) = 5
fast_normalize((float4)(2.0f, 0.0f, 0.0f, 0.0f)).x = 1    cross((float4)(1, 0, 0, 9), (float4)(0, 1, 0, 9)).z = 1
cross((float4)(1, 0, 0, 9), (float4)(0, 1, 0, 9)).w = 0   cross((float3)(1, 2, 3), (float3)(3, 2, 1)).y = 8
degrees(3.14159274f) = 180   radians(180.0f) = 3.14159274 sign(-0.0f) = -0.0            sign(NAN) = 0
sign(-7.0f) = -1             step(2.0f, 1.0f) = 0         step(2.0f, 2.0f) = 1          mix(2.0f, 4.0f, 0.25f) = 2.5
smoothstep(1.0f, 3.0f, 2.0f) = 0.5                        smoothstep(1.0f, 3.0f, (float2)(0.0f, 9.0f)).y = 1
step(2.0f, (float2)(1.0f, 3.0f)).y = 1                    mix((float2)(1.0f), (float2)(3.0f), 0.5f).x = 2
clamp((float2)(1.0f, 9.0f), 2.0f, 3.0f).y = 3             fmax((float2)(1.0f, 9.0f), 2.0f).x = 2
fmin((float2)(1.0f, 9.0f), 2.0f).y = 2                    ldexp((float2)(1.0f, 3.0f), 2).y = 12
ldexp((float2)(1.0f, 3.0f), (int2)(1, -1)).y = 1.5        pown((float2)(2.0f, 3.0f), (int2)(3, 2)).y = 9
rootn((float2)(8.0f, 9.0f), (int2)(3, 2)).y = 3           erf((float4)(INFINITY)).w = 1
nan(5u) = nan                bitselect(1.0f, -2.0f, as_float(0x80000000)) = -1          select(1.0f, 2.0f, 0) = 1
select((float2)(1.0f), (float2)(2.0f), (int2)(-1, 1)).x = 2
select((float2)(1.0f), (float2)(2.0f), (uint2)(1u, 0x80000000u)).y = 2
"""
LEFT = {
    "fract(x, &r)": ((1.75, 0.75, 1), (-0.25, 0.75, -1), (-0.0, -0.0, -0.0), (INF, 0, INF), (-INF, -0.0, -INF),
                     (-1e-10, 0.99999994, -1), (NAN, NAN, NAN)),
    "modf(x, &r)": ((1.75, 0.75, 1), (-2.5, -0.5, -2), (-INF, -0.0, -INF), (-0.0, -0.0, -0.0), (NAN, NAN, NAN)),
    "sincos(x, &r)": ((0.0, 0, 1), (-0.0, -0.0, 1), (INF, NAN, NAN)),
    "frexp(x, &k)": ((8.0, 0.5, 4), (-0.75, -0.75, 0), (1e-45, 0.5, -148), (0.0, 0, 0), (-0.0, -0.0, 0),
                     (3e38, None, 128), (1.5e-39, None, -128), (1.2e-38, None, -125)),
    "lgamma_r(x, &k)": ((-0.5, None, -1), (-1.5, None, 1), (3.0, None, 1), (0.0, INF, 1), (-0.0, INF, -1),
                        (-7.0, INF, 0)),
    "remquo(x, 3.0f, &k)": ((5.0, -1, 2), (-5.0, 1, -2), (7.0, 1, 2), (1.5, 1.5, 0), (4.5, -1.5, 2), (3e9, None, None),
                            (-6.0, -0.0, -2), (1e-45, 1e-45, 0), (INF, NAN, 0)),
}  # fmt: skip


def cases() -> Iterator[tuple[str, float]]:
    for expression, value in re.findall(r"(\w+\(.*?\)(?:\.\w)?) = (\S+)", VALUES):
        yield expression, float(value)


@pytest.mark.parametrize("fpu", [True, False])
def test_values_at_the_edges(fpu: bool) -> None:
    found = list(cases())
    assert len(found) > 140
    body = "".join(f"case {k}: o[i] = {expression}; break;\n" for k, (expression, _) in enumerate(found))
    source = f"kernel void f(global float *o) {{ uint i = get_global_id(0); switch (i) {{ {body} }} }}"
    got = np.zeros(len(found), "f4")
    launch(cluster(ClusterShape(1, 2, 4, fpu=fpu)), compiled(source, fpu), "f", got.shape, [got])
    wrong = [
        f"{expression} = {result}, not {value}"
        for (expression, value), result in zip(found, got, strict=True)
        if not same(result, np.float32(value))
    ]
    assert not wrong


def same(got: np.float32, value: np.float32) -> bool:
    """Equal, the sign of zero included, within two units in the last place; the one NaN is the positive quiet one."""
    if np.isnan(value) or np.isinf(value) or value == 0:
        return bool(
            np.array_equal(got, value, equal_nan=True) and (np.isnan(value) or np.signbit(got) == np.signbit(value))
        )
    return bool(abs(float(got) - float(value)) <= 2 * math.ulp(1) * 2.0**29 * max(abs(float(value)), 2.0**-126))


@pytest.mark.parametrize("call", LEFT)
@pytest.mark.parametrize("space", ["private", "global", "local"])
def test_results_in_two_parts(call: str, space: str) -> None:
    whole = "&k" in call
    kind = "int" if whole else "float"
    name = "k" if whole else "r"
    place = {
        "private": f"{kind} t; {kind} *p = &t;",
        "local": f"local {kind} t[64]; local {kind} *p = t + get_local_id(0);",
    }
    setup = place.get(space, f"global {kind} *p = q + i;")
    source = f"""kernel void f(global const float *a, global float *o, global {kind} *q) {{
      uint i = get_global_id(0); float x = a[i]; {setup} o[i] = {call.replace(f"&{name}", "p")}; q[i] = *p; }}
    kernel void v(global const float *a, global float *o, global {kind} *q) {{
      float2 x = vload2(0, a); {kind}2 t; float2 r = {call.replace(f"&{name}", "&t").replace("3.0f", "(float2)(3.0f)")};
      vstore2(r, 0, o); vstore2(t, 0, q); }}"""
    rows = LEFT[call]
    x = np.array([row[0] for row in rows], "f4")
    got, rest = np.zeros_like(x), np.zeros(x.size, "i4" if whole else "f4")
    launch(cluster(), compiled(source), "f", x.shape, [x, got, rest], local_size=(1,))
    for (value, first, second), result, left in zip(rows, got, rest, strict=True):
        assert first is None or same(result, np.float32(first)), (value, result)
        assert second is None or same(np.float32(left), np.float32(second)), (value, left)
    pair, left2 = np.zeros(2, "f4"), np.zeros(2, rest.dtype)
    launch(cluster(), compiled(source), "v", (1,), [x[:2].copy(), pair, left2])
    np.testing.assert_array_equal(pair, got[:2])
    np.testing.assert_array_equal(left2, rest[:2])


def test_half_and_native_functions_are_the_full_ones() -> None:
    full = {"recip": "1.0f / x", "divide": "x / y", "powr": "powr(x, y)"}
    calls = [(kind, name) for kind in ("half", "native") for name in NATIVE]
    body = "".join(
        f"o[{2 * k}] = {kind}_{name}({'x, y' if name in ('divide', 'powr') else 'x'}); o[{2 * k + 1}] = "
        f"{full.get(name, f'{name}(x)')};\n"
        for k, (kind, name) in enumerate(calls)
    )
    source = f"kernel void f(global const float *a, global float *o) {{ float x = a[0], y = a[1]; {body} }}"
    got = np.zeros(2 * len(calls), "f4")
    launch(cluster(), compiled(source), "f", (1,), [np.array([0.7, 1.3], "f4"), got])
    np.testing.assert_array_equal(got[::2], got[1::2])
    assert np.isfinite(got).all()
    assert np.unique(got).size >= len(NATIVE) - 1


def test_whole_exponents() -> None:
    source = "kernel void f(global const float *a, global int *o) { uint i = get_global_id(0); o[i] = ilogb(a[i]); }"
    x = np.array([1, 0.75, -8, 1e-45, 1.1754942e-38, 0, -0.0, INF, -INF, NAN], "f4")
    got = np.zeros(x.size, "i4")
    launch(cluster(), compiled(source), "f", x.shape, [x, got])
    low, high = -(1 << 31), (1 << 31) - 1
    assert got.tolist() == [0, -1, 3, -149, -127, low, low, high, high, high]


def test_logarithms_of_gamma_are_near() -> None:
    source = "kernel void f(global const float *a, global float *o) { uint i = get_global_id(0); o[i] = lgamma(a[i]); }"
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(0, 20, 300), rng.uniform(-15, 0, 200), np.exp2(rng.uniform(-60, 100, 100))]).astype(
        "f4"
    )
    got = np.zeros_like(x)
    launch(cluster(), compiled(source), "f", x.shape, [x, got])
    wanted = np.array([math.lgamma(value) for value in x.tolist()])
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=3e-6)


def test_nan_keeps_its_code() -> None:
    source = "kernel void f(global uint *o) { o[0] = as_uint(nan(5u)); o[1] = as_uint2(nan((uint2)(7u, 0u))).x; }"
    got = np.zeros(2, "u4")
    launch(cluster(), compiled(source), "f", (1,), [got])
    assert got.tolist() == [0x7FC00005, 0x7FC00007]
