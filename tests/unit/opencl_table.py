# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every built-in function of OpenCL C 1.2 and what it is here: one table for tests and page."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

mp: Any = importlib.import_module("mpmath")
mp.mp.prec = 120
Real = Any


@dataclass(frozen=True)
class Math:
    """A function of one, two or three `float`s, with its exact value.

    Attributes:
        exact: In as many digits as are asked; may raise where there is no value.
        allowed: Units in the last place the specification allows.
        found: What the test allows: the greatest error found, rounded up to halves.
        low, high: Where its arguments are interesting, besides everywhere.
        arity: How many arguments.
    """

    exact: Callable[..., Real]
    allowed: float
    found: float
    low: float = -10.0
    high: float = 10.0
    arity: int = 1
    second: tuple[float, float] = field(default=(-10.0, 10.0))


def _atan2pi(y: Real, x: Real) -> Real:
    return mp.atan2(y, x) / mp.pi


def _rounded(x: Real) -> Real:
    return mp.sign(x) * mp.floor(abs(x) + mp.mpf("0.5"))


def _rint(x: Real) -> Real:
    return mp.nint(x)


def _maxmag(x: Real, y: Real) -> Real:
    return x if abs(x) > abs(y) else y if abs(y) > abs(x) else max(x, y)


def _minmag(x: Real, y: Real) -> Real:
    return x if abs(x) < abs(y) else y if abs(y) < abs(x) else min(x, y)


def _fmod(x: Real, y: Real) -> Real:
    with mp.workprec(2400):
        return mp.sign(x) * (abs(x) - abs(y) * mp.floor(abs(x) / abs(y)))


def _remainder(x: Real, y: Real) -> Real:
    with mp.workprec(2400):
        return x - y * mp.nint(x / y)


def _real_pow(x: Real, y: Real) -> Real:
    if x < 0 and y != mp.floor(y):
        raise ValueError
    return mp.power(x, y)


def _powr(x: Real, y: Real) -> Real:
    if x < 0 or x == y == 0:
        raise ValueError
    return mp.power(x, y)


MATH: dict[str, Math] = {
    "acos": Math(mp.acos, 4, 1.5, -1, 1),
    "acosh": Math(mp.acosh, 4, 1.5, 1, 20),
    "acospi": Math(lambda x: mp.acos(x) / mp.pi, 5, 1.5, -1, 1),
    "asin": Math(mp.asin, 4, 2, -1, 1),
    "asinh": Math(mp.asinh, 4, 1, -20, 20),
    "asinpi": Math(lambda x: mp.asin(x) / mp.pi, 5, 2.5, -1, 1),
    "atan": Math(mp.atan, 5, 1.5),
    "atan2": Math(mp.atan2, 6, 2, arity=2),
    "atanh": Math(mp.atanh, 5, 1.5, -1, 1),
    "atanpi": Math(lambda x: mp.atan(x) / mp.pi, 5, 1.5),
    "atan2pi": Math(_atan2pi, 6, 2.5, arity=2),
    "cbrt": Math(lambda x: mp.sign(x) * mp.cbrt(abs(x)), 2, 1),
    "ceil": Math(mp.ceil, 0, 0),
    "copysign": Math(lambda x, y: abs(x) * (mp.sign(y) or 1), 0, 0, arity=2),
    "cos": Math(mp.cos, 4, 1),
    "cosh": Math(mp.cosh, 4, 1.5, -95, 95),
    "cospi": Math(mp.cospi, 4, 1, -4, 4),
    "erfc": Math(lambda x: mp.erfc(min(x, 1000)), 16, 5, -5, 11),
    "erf": Math(mp.erf, 16, 1.5, -5, 5),
    "exp": Math(mp.exp, 3, 1, -105, 90),
    "exp2": Math(lambda x: mp.power(2, x), 3, 1, -151, 129),
    "exp10": Math(lambda x: mp.power(10, x), 3, 1.5, -46, 39),
    "expm1": Math(mp.expm1, 3, 1, -20, 90),
    "fabs": Math(abs, 0, 0),
    "fdim": Math(lambda x, y: x - y if x > y else mp.mpf(0), 0.5, 0.5, arity=2),
    "floor": Math(mp.floor, 0, 0),
    "fma": Math(lambda x, y, z: x * y + z, 0.5, 0.5, arity=3),
    "fmax": Math(max, 0, 0, arity=2),
    "fmin": Math(min, 0, 0, arity=2),
    "fmod": Math(_fmod, 0, 0, arity=2),
    "hypot": Math(mp.hypot, 4, 1, arity=2),
    "log": Math(lambda x: _real(mp.log, x), 3, 1, 0, 4),
    "log2": Math(lambda x: _real(lambda v: mp.log(v, 2), x), 3, 1.5, 0, 4),
    "log10": Math(lambda x: _real(mp.log10, x), 3, 2, 0, 4),
    "log1p": Math(lambda x: _real(mp.log1p, x, -1), 2, 1.5, -1, 4),
    "mad": Math(lambda x, y, z: x * y + z, float("inf"), float("inf"), arity=3),
    "maxmag": Math(_maxmag, 0, 0, arity=2),
    "minmag": Math(_minmag, 0, 0, arity=2),
    "pow": Math(_real_pow, 16, 1, 0, 8, 2, (-40, 40)),
    "powr": Math(_powr, 16, 1, 0, 8, 2, (-40, 40)),
    "remainder": Math(_remainder, 0, 0, arity=2),
    "rint": Math(_rint, 0, 0),
    "round": Math(_rounded, 0, 0),
    "rsqrt": Math(lambda x: 1 / _real(mp.sqrt, x), 2, 1.5, 0, 10),
    "sin": Math(mp.sin, 4, 1.5),
    "sinh": Math(mp.sinh, 4, 1.5, -95, 95),
    "sinpi": Math(mp.sinpi, 4, 1, -4, 4),
    "sqrt": Math(lambda x: _real(mp.sqrt, x), 3, 0.5, 0, 10),
    "tan": Math(mp.tan, 5, 3),
    "tanh": Math(mp.tanh, 5, 1),
    "tanpi": Math(lambda x: mp.sinpi(x) / mp.cospi(x), 6, 1.5, -4, 4),
    "tgamma": Math(mp.gamma, 16, 3, -10, 36),
    "trunc": Math(lambda x: mp.sign(x) * mp.floor(abs(x)), 0, 0),
}


def _real(function: Callable[[Real], Real], x: Real, least: int = 0) -> Real:
    if x < least:
        raise ValueError
    return function(x)


SIGNED_ZERO = frozenset({"atan2", "atan2pi", "copysign"})
"""Functions whose value at zero depends on the zero's sign."""
WITH_INTEGER: dict[str, tuple[Callable[[Real, int], Real], float, float]] = {
    "ldexp": (lambda x, n: x * mp.power(2, max(min(n, 4000), -4000)), 0.5, 0.5),
    "pown": (mp.power, 16, 1.0),
    "rootn": (lambda x, n: _rootn(x, n), 16, 1.0),
}
"""`float` and `int`: exact value, allowed, found."""


def _rootn(x: Real, n: int) -> Real:
    if n == 0 or (x < 0 and n % 2 == 0):
        raise ValueError
    return mp.sign(x) * mp.power(abs(x), mp.mpf(1) / n)


NATIVE = (
    "cos",
    "divide",
    "exp",
    "exp2",
    "exp10",
    "log",
    "log2",
    "log10",
    "powr",
    "recip",
    "rsqrt",
    "sin",
    "sqrt",
    "tan",
)
DOUBLE: dict[str, float] = {
    name: found
    for found, names in (
        (0, "ceil copysign fabs floor fmax fmin fmod maxmag minmag remainder rint round trunc"),
        (0.5, "fdim fma sqrt ldexp"),
        (1, "asinh atan atanh cbrt cos cospi exp exp2 exp10 hypot log log2 log10 log1p pow powr sin sinpi pown rootn"),
        (1.5, "acos acosh atan2 atanpi cosh erf expm1 rsqrt"),
        (2, "acospi asin asinpi atan2pi sinh tan tanh tanpi"),
        (3.5, "erfc"),
        (4, "tgamma"),
        (float("inf"), "mad"),
    )
    for name in names.split()
}
"""What the test allows of each function in `double`: the greatest error found, rounded up to halves."""
DOUBLE_ALLOWED = {"sqrt": 0.5}
"""What the specification allows in `double` where it is not the same as in `float`."""
DOUBLE_RANGES: dict[str, tuple[float, float]] = {
    **{"exp": (-750, 715), "exp2": (-1080, 1030), "exp10": (-326, 310), "expm1": (-50, 715)},
    **{"sinh": (-715, 715), "cosh": (-715, 715), "erfc": (-7, 28), "erf": (-7, 7), "tgamma": (-185, 172)},
}
"""Where its arguments are interesting in `double`, where that is elsewhere than in `float`."""

LANES = ("add", "min", "max")
"""What is reduced and scanned over the items of a subgroup."""
SPECIFICATION: dict[str, tuple[str, ...]] = {
    "Work-items (6.12.1)": (
        *("get_work_dim", "get_global_size", "get_global_id", "get_local_size", "get_local_id"),
        *("get_num_groups", "get_group_id", "get_global_offset"),
    ),
    "Mathematics (6.12.2)": (
        *sorted({*MATH, *WITH_INTEGER}),
        *("fract", "frexp", "ilogb", "lgamma", "lgamma_r", "logb", "modf", "nan", "nextafter", "remquo", "sincos"),
        *(f"half_{name}" for name in NATIVE),
        *(f"native_{name}" for name in NATIVE),
    ),
    "Integers (6.12.3)": (
        *("abs", "abs_diff", "add_sat", "hadd", "rhadd", "clamp", "clz", "mad_hi", "mad_sat", "max", "min", "mul_hi"),
        *("rotate", "sub_sat", "upsample", "popcount", "mad24", "mul24"),
    ),
    "Common (6.12.4)": ("clamp", "degrees", "max", "min", "mix", "radians", "step", "smoothstep", "sign"),
    "Geometry (6.12.5)": (
        *("cross", "dot", "distance", "length", "normalize", "fast_distance", "fast_length", "fast_normalize"),
    ),
    "Relations (6.12.6)": (
        *("isequal", "isnotequal", "isgreater", "isgreaterequal", "isless", "islessequal", "islessgreater", "isfinite"),
        *("isinf", "isnan", "isnormal", "isordered", "isunordered", "signbit", "any", "all", "bitselect", "select"),
    ),
    "Vectors and arrays (6.12.7)": (
        *(f"v{way}{n}" for way in ("load", "store") for n in (2, 3, 4, 8, 16)),
        *("vload_half", *(f"vload{a}_half{n}" for a in ("", "a") for n in (2, 3, 4, 8, 16))),
        *(f"vstore_half{how}" for how in ("", "_rte", "_rtz", "_rtp", "_rtn")),
        *(
            f"vstore{a}_half{n}{how}"
            for a in ("", "a")
            for n in (2, 3, 4, 8, 16)
            for how in ("", "_rte", "_rtz", "_rtp", "_rtn")
        ),
    ),
    "Together (6.12.8, 6.12.9)": ("barrier", "mem_fence", "read_mem_fence", "write_mem_fence"),
    "Copies (6.12.10)": (*("async_work_group_copy", "async_work_group_strided_copy", "wait_group_events", "prefetch"),),
    "Atomics (6.12.11)": tuple(
        f"atomic_{name}" for name in ("add", "sub", "xchg", "inc", "dec", "cmpxchg", "min", "max", "and", "or", "xor")
    ),
    "Permutations (6.12.12)": ("vec_step", "shuffle", "shuffle2"),
    "Printing (6.12.13)": ("printf",),
    "Images (6.12.14)": (
        *(f"{way}_image{kind}" for way in ("read", "write") for kind in ("f", "i", "ui")),
        *("get_image_width", "get_image_height", "get_image_depth", "get_image_channel_data_type"),
        *("get_image_channel_order", "get_image_dim", "get_image_array_size"),
    ),
    "Integer dot products (`cl_khr_integer_dot_product`)": (
        *("dot", "dot_acc_sat"),
        *(
            f"dot{sum}_4x8packed_{form}"
            for sum in ("", "_acc_sat")
            for form in ("uu_uint", "ss_int", "us_int", "su_int")
        ),
    ),
    "Subgroups (`cl_khr_subgroups`)": (
        *("get_sub_group_size", "get_max_sub_group_size", "get_num_sub_groups", "get_enqueued_num_sub_groups"),
        *("get_sub_group_id", "get_sub_group_local_id"),
        *("sub_group_barrier", "sub_group_all", "sub_group_any", "sub_group_broadcast"),
        *(f"sub_group_{what}_{of}" for what in ("reduce", "scan_inclusive", "scan_exclusive") for of in LANES),
    ),
    "Subgroups that part (`cl_khr_subgroup_ballot`, `_non_uniform_vote`, `_shuffle`, `_shuffle_relative`)": (
        *("sub_group_elect", "sub_group_non_uniform_all", "sub_group_non_uniform_any"),
        *("sub_group_non_uniform_all_equal", "sub_group_non_uniform_broadcast", "sub_group_broadcast_first"),
        *("sub_group_ballot", "sub_group_inverse_ballot", "sub_group_ballot_bit_extract"),
        *("sub_group_ballot_bit_count", "sub_group_ballot_inclusive_scan", "sub_group_ballot_exclusive_scan"),
        *("sub_group_ballot_find_lsb", "sub_group_ballot_find_msb"),
        *(f"get_sub_group_{which}_mask" for which in ("eq", "ge", "gt", "le", "lt")),
        *("sub_group_shuffle", "sub_group_shuffle_xor", "sub_group_shuffle_up", "sub_group_shuffle_down"),
        *("intel_sub_group_shuffle", "intel_sub_group_shuffle_xor"),
        *("intel_sub_group_shuffle_up", "intel_sub_group_shuffle_down"),
    ),
    "Conversions (6.2.3, 6.2.4)": (
        *("convert_T", "convert_T_sat", "as_T"),
        *(f"convert_T{saturates}_{mode}" for saturates in ("", "_sat") for mode in ("rte", "rtz", "rtp", "rtn")),
    ),
}
