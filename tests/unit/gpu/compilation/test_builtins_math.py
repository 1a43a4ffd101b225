# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Mathematical functions against exact values: errors in units of the last place, on the instruction-set model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from eddy.gpu.launches.launch import launch
from eddy.gpu.programs.shape import ClusterShape
from unit.gpu_kit import cluster, compiled
from unit.opencl_table import (
    DOUBLE,
    DOUBLE_ALLOWED,
    DOUBLE_RANGES,
    MATH,
    SIGNED_ZERO,
    WITH_INTEGER,
    Real,
    mp,
)

Array = npt.NDArray[Any]
SHAPES = {True: ClusterShape(1, 4, 4, fpu=True), False: ClusterShape(1, 4, 4, fpu=False)}
INTEGERS = np.array(
    [0, 1, -1, 2, -2, 3, -3, 5, 127, -126, -149, 149, 250, -280, 16777217, 2147483647, -2147483648], "i4"
)
NAMES = ("x", "y", "z")
SPECIAL = {
    "float": [0, -0.0, 1, -1, 1e-45, -1e-45, 1e-38, -1e-38, 3.4e38, -3.4e38, 0.5, -0.5, 2, -2, 1.5, 2.5, -2.5, 0.25,
              0.75, 3, -3, 8388608.5, -8388609, 16777216, 33, 0.99999994, 1.0000001, -1.0000001,
              1.1754942e-38, 1e-4, 7.5e-5, 88.7, -103.9],
    "double": [0, -0.0, 1, -1, 5e-324, -5e-324, 1e-308, -1e-308, 1.7976931348623157e308, -1.7976931348623157e308, 0.5,
               -0.5, 2, -2, 1.5, 2.5, -2.5, 0.25, 0.75, 3, -3, 2.0**51 + 0.5, 2.0**52 + 1, -(2.0**53), 1 - 2.0**-53,
               1 + 2.0**-52, -1 - 2.0**-52, 2.2250738585072009e-308, 1e-4, 709.7, -745.1, 1e22,
               6381956970095103 * 2.0**797],
}  # fmt: skip
"""The last of double is the number of all that is nearest to a multiple of pi / 2."""


@dataclass(frozen=True)
class Format:
    """A format of numbers, and how functions are tried in it.

    Attributes:
        digits: Bits of a significand.
        most: Greatest exponent.
        most_found, allowed: Greatest error the test allows, and the specification, by function.
        ranges: Where arguments are interesting, by function; `MATH` has those of `float`.
    """

    name: str
    digits: int
    most: int
    most_found: Mapping[str, float]
    allowed: Mapping[str, float]
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def dtype(self) -> str:
        return "f4" if self.name == "float" else "f8"

    @property
    def bits(self) -> str:
        return self.dtype.replace("f", "u")

    @property
    def least(self) -> int:
        return 1 - self.most


ALLOWED = {name: entry.allowed for name, entry in MATH.items()}
ALLOWED |= {name: allowed for name, (_, allowed, _) in WITH_INTEGER.items()}
FOUND = {name: entry.found for name, entry in MATH.items()} | {
    name: found for name, (*_, found) in WITH_INTEGER.items()
}
FORMATS = {
    "float": Format("float", 24, 127, FOUND, ALLOWED),
    "double": Format("double", 53, 1023, DOUBLE, ALLOWED | DOUBLE_ALLOWED, DOUBLE_RANGES),
}


def source(kind: str) -> str:
    bodies = {name: f"{name}({', '.join(NAMES[: entry.arity])})" for name, entry in MATH.items()}
    bodies |= {name: f"{name}(x, n[i])" for name in WITH_INTEGER}
    return "".join(
        f"kernel void k_{name}(global const {kind} *a, global const {kind} *b, global const {kind} *c, "
        f"global const int *n, global {kind} *o) {{ uint i = get_global_id(0); {kind} x = a[i], y = b[i], z = c[i]; "
        f"o[i] = {body}; }}\n"
        for name, body in bodies.items()
    )


SOURCE = {kind: source(kind) for kind in FORMATS}


def inputs(form: Format, low: float, high: float, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    word: Any = np.uint32 if form.bits == "u4" else np.uint64
    any_bits: Array = rng.integers(0, 1 << 8 * np.dtype(word).itemsize, 120, dtype=word)
    parts = np.concatenate(
        [
            np.array(SPECIAL[form.name], form.dtype),
            any_bits.view(form.dtype),
            rng.uniform(low, high, 300).astype(form.dtype),
            (np.exp2(rng.uniform(-12, 4, 120)) * rng.choice([-1, 1], 120)).astype(form.dtype),
            rng.integers(-40, 40, 40).astype(form.dtype) / 4,
        ]
    )
    found: Array = parts.astype(form.dtype)
    return found


def run(form: Format, name: str, arrays: Sequence[Array], whole: Array, fpu: bool) -> Array:
    out = np.zeros_like(arrays[0])
    made = compiled(SOURCE[form.name], fpu)
    launch(cluster(SHAPES[fpu]), made, f"k_{name}", out.shape, [*arrays, whole, out])
    return out


def both(form: Format, name: str, arrays: Sequence[Array], whole: Array) -> Array:
    """The result, the same with and without an FPU."""
    hard, soft = run(form, name, arrays, whole, True), run(form, name, arrays, whole, False)
    np.testing.assert_array_equal(hard.view(form.bits), soft.view(form.bits))
    return hard


def wanted(name: str, exact: Callable[..., Real], values: Sequence[float | int]) -> Real | None:
    """The exact value; None where there is no real one, or no finite one."""
    if not all(math.isfinite(value) for value in values):
        return None
    # Exact numbers have no zero with a sign: where it counts, the least of numbers stands for it.
    minus = -(mp.mpf(2) ** -20000) if name in SIGNED_ZERO else mp.mpf(0)
    try:
        value = exact(*(v if isinstance(v, int) else mp.mpf(v) or minus * (math.copysign(1, v) < 0) for v in values))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return None if isinstance(value, mp.mpc) or not mp.isfinite(value) else mp.mpf(value)


def ulps(form: Format, got: float, value: Real) -> float:
    """How far off, in units of the last place of the exact value."""
    exponent = max(int(mp.floor(mp.log(abs(value), 2))) if value else form.least, form.least)
    unit, largest = mp.mpf(2) ** (min(exponent, form.most) - form.digits + 1), mp.mpf(2) ** (form.most + 1)
    near = mp.mpf(got) if math.isfinite(got) else mp.sign(got) * largest if not math.isnan(got) else mp.inf
    if math.isinf(got) and value * mp.sign(got) >= largest - unit / 2:
        return 0.0
    return float(abs(near - value) / unit)


def greatest(
    form: Format, name: str, got: Array, exact: Callable[..., Real], columns: Sequence[Array]
) -> tuple[float, str]:
    """The greatest error, and where; where there is no value the result is no number or endless."""
    worst, where = 0.0, ""
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for result, row in zip(got.tolist(), rows, strict=True):
        value = wanted(name, exact, row)
        if value is None:
            assert not math.isfinite(result) or not all(map(math.isfinite, row)), (name, row, result)
            continue
        off = ulps(form, result, value)
        if off > worst:
            worst, where = off, f"{name}{tuple(row)} = {result}, not {mp.nstr(value, 20)}: {off}"
    return worst, where


def test_every_function_has_its_errors_in_double() -> None:
    assert DOUBLE.keys() == {*MATH, *WITH_INTEGER}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", MATH)
def test_errors_stay_within_the_page(name: str, kind: str) -> None:
    function, form = MATH[name], FORMATS[kind]
    x = inputs(form, *form.ranges.get(name, (function.low, function.high)), 1)
    rng = np.random.default_rng(2)
    y, z = rng.permutation(inputs(form, *function.second, 3)), rng.permutation(inputs(form, -10, 10, 4))
    if name in ("pow", "powr"):
        x = np.concatenate([x, x])
        y, z = np.concatenate([y, np.round(y)]), np.concatenate([z, z])
    got = both(form, name, (x, y, z), np.zeros(x.size, "i4"))
    worst, where = greatest(form, name, got, function.exact, (x, y, z)[: function.arity])
    assert form.most_found[name] <= form.allowed[name]
    assert worst <= form.most_found[name], where


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", WITH_INTEGER)
def test_errors_of_functions_of_integers_stay_within_the_page(name: str, kind: str) -> None:
    form, exact = FORMATS[kind], WITH_INTEGER[name][0]
    rng = np.random.default_rng(5)
    ones = np.nextafter(np.ones(100, form.dtype), rng.choice([0, 2], 100).astype(form.dtype))
    x = np.concatenate([inputs(form, -4, 4, 6), ones, -np.array(SPECIAL[kind], form.dtype)])
    n = np.concatenate([INTEGERS, rng.integers(-20, 20, x.size).astype("i4")])[: x.size]
    n = rng.permutation(np.where(rng.random(x.size) < 0.2, rng.choice(INTEGERS, x.size), n).astype("i4"))
    got = both(form, name, (x, x, x), n)
    worst, where = greatest(form, name, got, exact, (x, n))
    assert form.most_found[name] <= form.allowed[name]
    assert worst <= form.most_found[name], where
