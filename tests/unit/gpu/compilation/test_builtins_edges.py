# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Built-in functions at their edges: signed zeros, infinities, no numbers, results in two parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from eddy.gpu.launches.launch import launch
from eddy.gpu.programs.shape import ClusterShape
from unit.gpu_kit import cluster, compiled
from unit.opencl_table import NATIVE, mp

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
DOUBLE_VALUES = """
logb(5e-324) = -1074          logb(2.2250738585072009e-308) = -1023                     nextafter(0.0, -1.0) = -5e-324
nextafter(1.0, 2.0) = 1.0000000000000002                   nextafter(-1.0, -2.0) = -1.0000000000000002
nextafter((double)INFINITY, 0.0) = 1.7976931348623157e308  nextafter(5e-324, -1.0) = 0
nextafter(0x1p-1022, 0.0) = 2.2250738585072009e-308        tgamma(-170.5) = -3.312739521538607e-308
tgamma(-190.5) = -0.0         tgamma(-191.5) = 0           tgamma(171.7) = inf
tgamma(171.0) = 7.257415615307999e306                      tgamma(24.0) = 2.585201673888498e22
sinpi(9007199254740993.0) = 0 cospi(4503599627370497.0) = -1                            sinpi(4503599627370495.5) = -1
cospi(1e300) = 1              tanpi(0.25) = 1              pow(-2.0, 3.0) = -8
pow(-1.0, 4503599627370497.0) = -1                         pow(-1.0, 9007199254740993.0) = 1
pow(-1.0, 4503599627370495.5) = nan                        pow(0x1p-1074, 0.5) = 2.2227587494850775e-162
pow(2.0, -1074.0) = 5e-324    pow(2.0, -1075.5) = 0        pow(2.0, 1024.0) = inf
pown(-2.0, 1023) = -8.98846567431158e307                   pown(-1.0, 2147483647) = -1
pown(0x1.fffffffffffffp-1, -2147483647 - 1) = 1.0000002384186075
exp(709.782712893384) = 1.797693134862273e308              exp(709.79) = inf            exp(-745.1) = 5e-324
exp(-746.0) = 0               exp2(-1074.0) = 5e-324       exp10(3.0) = 1000            exp2(10.0) = 1024
expm1(5e-324) = 5e-324        expm1(-800.0) = -1           log1p(-1.0) = -inf
log(5e-324) = -744.4400719213812                           log2(5e-324) = -1074         log10(1e300) = 300
log(-1.0) = nan               log(-0.0) = -inf             hypot(1.0, 1e-200) = 1
hypot(1e300, 1e300) = 1.4142135623730952e300               hypot(3e-320, 4e-320) = 5e-320
hypot((double)INFINITY, (double)NAN) = inf                 hypot((double)NAN, 1.0) = nan
round(0.49999999999999994) = 0                             round(4503599627370495.5) = 4503599627370496
rint(4503599627370495.5) = 4503599627370496                rint(2.5) = 2                round(-2.5) = -3
rint(0.5) = 0                 ceil(5e-324) = 1             floor(-5e-324) = -1          floor(1e300) = 1e300
fma(0x1p1023, 2.0, -0x1p1023) = 8.98846567431158e307       fma(0x1p-1074, 0.5, 0.0) = 0
fma(1.0, 1.0, (double)NAN) = nan                           ldexp(1.0, -1074) = 5e-324   ldexp(1.0, -1075) = 0
ldexp(1.5, -1074) = 1e-323    ldexp(0x1p-1074, 2097) = 8.98846567431158e307             ldexp(1.0, 2147483647) = inf
ldexp(-1.0, -2147483647 - 1) = -0.0                        fmod(1.7976931348623157e308, 5e-324) = 0
fmod(5.0, (double)INFINITY) = 5                            remainder(1.7976931348623157e308, 3.0) = -1
remainder(5e-324, 5e-324) = 0 fdim(1.0, (double)NAN) = nan fdim((double)INFINITY, 1.0) = inf
atan2(-0.0, -1.0) = -3.141592653589793                     atan2(5e-324, 1e308) = 0
atan2(1e308, 5e-324) = 1.5707963267948966
atan2((double)INFINITY, -(double)INFINITY) = 2.356194490192345
erfc(26.5) = 2.210907664263734e-307                          erfc(27.2) = 2e-323          erfc(28.0) = 0
cbrt(-5e-324) = -1.7031839360032603e-108                   rootn(5e-324, 3) = 1.7031839360032603e-108
rsqrt(0.0) = inf              rsqrt(-0.0) = -inf           sqrt(-1.0) = nan
sin(1e300) = -0.8178819121159085                           cos(6381956970095103.0 * 0x1p797) = -4.687165924254628e-19
tan(1e22) = -1.6287782256068988                             length((double2)(3e200, 4e200)) = 5e200
length((double2)(3e-200, 4e-200)) = 5e-200                 length((double4)(5e-324, 0, 0, 0)) = 5e-324
normalize((double2)(3e300, 4e300)).y = 0.8                 normalize((double3)(5e-324, 0, 0)).x = 1
distance((double3)(1.0), (double3)(3.0)) = 3.4641016151377544
dot((double4)(1.0, 2.0, 3.0, 4.0), (double4)(1e-9)) = 1e-8 maxmag(-3e-320, 2e-320) = -3e-320
minmag((double)NAN, (double)NAN) = nan                     degrees(3.141592653589793) = 180
radians(180.0) = 3.141592653589793                         clamp((double)NAN, 1.0, 2.0) = 1
clamp(3.0, 1.0, 2.0) = 2      smoothstep(0.0, 2.0, 1.1) = 0.57475
copysign((double)NAN, -1.0) = nan                          bitselect(1.0, -2.0, as_double(0x8000000000000000ul)) = -1
as_double(as_long(0.1)) = 0.1 select(1.0, 2.0, 1UL) = 2    select(1.0, 2.0, 0L) = 1
select((double2)(1.0), (double2)(2.0), (long2)(1, LONG_MIN)).y = 2
select((double2)(1.0), (double2)(2.0), (ulong2)(1, 2)).y = 1
"""
_SINGLE_ONLY = re.compile(
    r"1e-45|1677721[67]|1\.00000012|3\.4|tgamma\(-5\d|degrees|radians|native_|half_|fast_|select\(|1e-40|nan\(5u"
)
"""What is of the format, or has other arguments in `double`."""


def doubled(expression: str) -> str:
    """An expression of `float` with `double` in its place."""
    expression = re.sub(r"(\d)f\b", r"\1", expression).replace("float", "double")
    return re.sub(r"\b(NAN|INFINITY)\b", r"(double)\1", expression)


def cases(kind: str) -> Iterator[tuple[str, float]]:
    single = re.findall(r"(\w+\(.*?\)(?:\.\w)?) = (\S+)", VALUES)
    if kind == "double":
        single = [(doubled(text), value) for text, value in single if not _SINGLE_ONLY.search(f"{text} = {value}")]
        single += re.findall(r"(\w+\(.*?\)(?:\.\w)?) = (\S+)", DOUBLE_VALUES)
    for expression, value in single:
        yield expression, float(value)


DTYPES = {"float": "f4", "double": "f8"}


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("fpu", [True, False])
def test_values_at_the_edges(fpu: bool, kind: str) -> None:
    found = list(cases(kind))
    assert len(found) > 140
    body = "".join(f"case {k}: o[i] = {expression}; break;\n" for k, (expression, _) in enumerate(found))
    source = f"kernel void f(global {kind} *o) {{ uint i = get_global_id(0); switch (i) {{ {body} }} }}"
    got = np.zeros(len(found), DTYPES[kind])
    launch(cluster(ClusterShape(1, 2, 4, fpu=fpu)), compiled(source, fpu), "f", got.shape, [got])
    wrong = [
        f"{expression} = {result!r}, not {value}"
        for (expression, value), result in zip(found, got, strict=True)
        if not same(result, got.dtype.type(value))
    ]
    assert not wrong


def same(got: Any, value: Any) -> bool:
    """Equal, the sign of zero included, within two units in the last place; the one NaN is the positive quiet one."""
    if np.isnan(value) or np.isinf(value) or value == 0:
        return bool(
            np.array_equal(got, value, equal_nan=True) and (np.isnan(value) or np.signbit(got) == np.signbit(value))
        )
    with np.errstate(over="ignore"):
        return bool(np.isfinite(got) and abs(float(got) - float(value)) <= 2 * float(np.spacing(abs(value))))


LEFT: dict[str, tuple[tuple[float | None, ...], ...]] = {
    "fract(x, &r)": ((1.75, 0.75, 1), (-0.25, 0.75, -1), (-0.0, -0.0, -0.0), (INF, 0, INF), (-INF, -0.0, -INF),
                     (NAN, NAN, NAN)),
    "modf(x, &r)": ((1.75, 0.75, 1), (-2.5, -0.5, -2), (-INF, -0.0, -INF), (-0.0, -0.0, -0.0), (NAN, NAN, NAN)),
    "sincos(x, &r)": ((0.0, 0, 1), (-0.0, -0.0, 1), (INF, NAN, NAN)),
    "frexp(x, &k)": ((8.0, 0.5, 4), (-0.75, -0.75, 0), (0.0, 0, 0), (-0.0, -0.0, 0), (-INF, -INF, None),
                     (NAN, NAN, None)),
    "lgamma_r(x, &k)": ((-0.5, None, -1), (-1.5, None, 1), (3.0, None, 1), (0.0, INF, 1), (-0.0, INF, -1),
                        (-7.0, INF, 0), (-2.5, None, -1), (2.0, 0, 1)),
    "remquo(x, 3.0f, &k)": ((5.0, -1, 2), (-5.0, 1, -2), (7.0, 1, 2), (1.5, 1.5, 0), (4.5, -1.5, 2), (3e9, None, None),
                            (-6.0, -0.0, -2), (INF, NAN, 0)),
}  # fmt: skip
LEFT_OF: dict[str, dict[str, tuple[tuple[float | None, ...], ...]]] = {
    "float": {
        "fract(x, &r)": ((-1e-10, 0.99999994, -1),),
        "frexp(x, &k)": ((1e-45, 0.5, -148), (3e38, None, 128), (1.5e-39, None, -128), (1.2e-38, None, -125)),
        "remquo(x, 3.0f, &k)": ((1e-45, 1e-45, 0),),
    },
    "double": {
        "fract(x, &r)": ((-1e-300, 1 - 2.0**-53, -1), (2.0**52 + 1, 0, 2.0**52 + 1), (-5e-324, 1 - 2.0**-53, -1)),
        "modf(x, &r)": ((2.0**51 + 0.5, 0.5, 2.0**51), (-1e300, -0.0, -1e300), (5e-324, 5e-324, 0)),
        "frexp(x, &k)": ((5e-324, 0.5, -1073), (1.7e308, None, 1024), (-2.2250738585072009e-308, None, -1022)),
        "lgamma_r(x, &k)": ((-(2.0**52) - 1, INF, 0), (1e-300, None, 1), (-1e-300, None, -1)),
        "remquo(x, 3.0f, &k)": ((5e-324, 5e-324, 0), (2.0**60, 1, 85), (-(2.0**61), 1, -43)),
    },
}
"""What is of a format."""


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("call", LEFT)
@pytest.mark.parametrize("space", ["private", "global", "local"])
def test_results_in_two_parts(call: str, space: str, kind: str) -> None:
    whole = "&k" in call
    rest_kind = "int" if whole else kind
    name = "k" if whole else "r"
    rows = LEFT[call] + LEFT_OF[kind].get(call, ())
    dtype = DTYPES[kind]
    call = call if kind == "float" else doubled(call)
    place = {
        "private": f"{rest_kind} t; {rest_kind} *p = &t;",
        "local": f"local {rest_kind} t[64]; local {rest_kind} *p = t + get_local_id(0);",
    }
    setup = place.get(space, f"global {rest_kind} *p = q + i;")
    three = ("3.0", "3.0f")[kind == "float"]
    source = f"""kernel void f(global const {kind} *a, global {kind} *o, global {rest_kind} *q) {{
      uint i = get_global_id(0); {kind} x = a[i]; {setup} o[i] = {call.replace(f"&{name}", "p")}; q[i] = *p; }}
    kernel void v(global const {kind} *a, global {kind} *o, global {rest_kind} *q) {{
      {kind}2 x = vload2(0, a); {rest_kind}2 t;
      {kind}2 r = {call.replace(f"&{name}", "&t").replace(three, f"({kind}2)({three})")};
      vstore2(r, 0, o); vstore2(t, 0, q); }}"""
    x = np.array([row[0] for row in rows], dtype)
    got, rest = np.zeros_like(x), np.zeros(x.size, "i4" if whole else dtype)
    launch(cluster(), compiled(source), "f", x.shape, [x, got, rest], local_size=(1,))
    for (value, first, second), result, left in zip(rows, got, rest, strict=True):
        assert first is None or same(result, got.dtype.type(first)), (value, result)
        assert second is None or same(got.dtype.type(left), got.dtype.type(second)), (value, left)
    pair, left2 = np.zeros(2, dtype), np.zeros(2, rest.dtype)
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


EXPONENTS = {
    "float": ([1, 0.75, -8, 1e-45, 1.1754942e-38], [0, -1, 3, -149, -127]),
    "double": ([1, 0.75, -8, 5e-324, 2.2250738585072009e-308], [0, -1, 3, -1074, -1023]),
}


@pytest.mark.parametrize("kind", DTYPES)
def test_whole_exponents(kind: str) -> None:
    source = (
        f"kernel void f(global const {kind} *a, global int *o) {{ uint i = get_global_id(0); o[i] = ilogb(a[i]); }}"
    )
    finite, wanted = EXPONENTS[kind]
    x = np.array([*finite, 0, -0.0, INF, -INF, NAN], DTYPES[kind])
    got = np.zeros(x.size, "i4")
    launch(cluster(), compiled(source), "f", x.shape, [x, got])
    low, high = -(1 << 31), (1 << 31) - 1
    assert got.tolist() == [*wanted, low, low, high, high, high]


@pytest.mark.parametrize(("kind", "near"), [("float", 1e-6), ("double", 2e-15)])
def test_logarithms_of_gamma_are_near(kind: str, near: float) -> None:
    source = (
        f"kernel void f(global const {kind} *a, global {kind} *o) {{ uint i = get_global_id(0); o[i] = lgamma(a[i]); }}"
    )
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(0, 20, 300), rng.uniform(-15, 0, 200), np.exp2(rng.uniform(-60, 100, 100))])
    x = x.astype(DTYPES[kind])
    got = np.zeros_like(x)
    launch(cluster(), compiled(source), "f", x.shape, [x, got])
    wanted = np.array([float(mp.loggamma(mp.mpf(value)).real) for value in x.tolist()])
    np.testing.assert_allclose(got, wanted, rtol=near, atol=3 * near)


def test_nan_keeps_its_code() -> None:
    source = "kernel void f(global uint *o) { o[0] = as_uint(nan(5u)); o[1] = as_uint2(nan((uint2)(7u, 0u))).x; }"
    got = np.zeros(2, "u4")
    launch(cluster(), compiled(source), "f", (1,), [got])
    assert got.tolist() == [0x7FC00005, 0x7FC00007]
    source = """kernel void f(global ulong *o) {
      double x = nan(5ul); o[0] = as_ulong(x); o[1] = as_ulong2(nan((ulong2)(7ul, 0ul))).x; }"""
    wide = np.zeros(2, "u8")
    launch(cluster(), compiled(source), "f", (1,), [wide])
    assert wide.tolist() == [0x7FF8000000000005, 0x7FF8000000000007]
