"""Mathematical functions against exact values: errors in units of the last place, on the instruction-set model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from eddy.gpu.launch import launch
from eddy.gpu.shape import ClusterShape
from unit.gpu_kit import cluster, compiled
from unit.opencl_table import MATH, SIGNED_ZERO, WITH_INTEGER, Real, mp

Array = npt.NDArray[Any]
SHAPES = {True: ClusterShape(1, 4, 4, fpu=True), False: ClusterShape(1, 4, 4, fpu=False)}
SPECIAL = np.array(
    [0, -0.0, 1, -1, 1e-45, -1e-45, 1e-38, -1e-38, 3.4e38, -3.4e38, 0.5, -0.5, 2, -2, 1.5, 2.5, -2.5, 0.25, 0.75, 3, -3,
     8388608.5, -8388609, 16777216, 33, 0.99999994, 1.0000001, -1.0000001, 1.1754942e-38, 1e-4, 7.5e-5, 88.7, -103.9],
    "f4",
)  # fmt: skip
INTEGERS = np.array(
    [0, 1, -1, 2, -2, 3, -3, 5, 127, -126, -149, 149, 250, -280, 16777217, 2147483647, -2147483648], "i4"
)
LARGEST = mp.mpf(2) ** 128
NAMES = ("x", "y", "z")


def source(names: Sequence[str], body: Callable[[str], str]) -> str:
    return "".join(
        f"kernel void k_{name}(global const float *a, global const float *b, global const float *c, "
        f"global const int *n, global float *o) {{ uint i = get_global_id(0); float x = a[i], y = b[i], z = c[i]; "
        f"o[i] = {body(name)}; }}\n"
        for name in names
    )


SOURCE = source(list(MATH), lambda name: f"{name}({', '.join(NAMES[: MATH[name].arity])})")
SOURCE += source(list(WITH_INTEGER), lambda name: f"{name}(x, n[i])")


def inputs(low: float, high: float, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return np.concatenate(
        [
            SPECIAL,
            rng.integers(0, 1 << 32, 120, dtype="u4").view("f4"),
            rng.uniform(low, high, 300).astype("f4"),
            (np.exp2(rng.uniform(-12, 4, 120)) * rng.choice([-1, 1], 120)).astype("f4"),
            rng.integers(-40, 40, 40).astype("f4") / 4,
        ]
    )


def run(name: str, arrays: Sequence[Array], whole: Array, fpu: bool) -> Array:
    out = np.zeros_like(arrays[0])
    launch(cluster(SHAPES[fpu]), compiled(SOURCE, fpu), f"k_{name}", out.shape, [*arrays, whole, out])
    return out


def both(name: str, arrays: Sequence[Array], whole: Array) -> Array:
    """The result, the same with and without an FPU."""
    hard, soft = run(name, arrays, whole, True), run(name, arrays, whole, False)
    np.testing.assert_array_equal(hard.view("u4"), soft.view("u4"))
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


def ulps(got: float, value: Real) -> float:
    """How far off, in units of the last place of the exact value."""
    exponent = max(int(mp.floor(mp.log(abs(value), 2))) if value else -149, -126)
    unit = mp.mpf(2) ** (min(exponent, 127) - 23)
    near = mp.mpf(got) if math.isfinite(got) else mp.sign(got) * LARGEST if not math.isnan(got) else mp.inf
    if math.isinf(got) and value * mp.sign(got) >= LARGEST - unit / 2:
        return 0.0
    return float(abs(near - value) / unit)


def greatest(name: str, got: Array, exact: Callable[..., Real], columns: Sequence[Array]) -> tuple[float, str]:
    """The greatest error, and where; where there is no value the result is no number or endless."""
    worst, where = 0.0, ""
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for result, row in zip(got.tolist(), rows, strict=True):
        value = wanted(name, exact, row)
        if value is None:
            assert not math.isfinite(result) or not all(map(math.isfinite, row)), (name, row, result)
            continue
        off = ulps(result, value)
        if off > worst:
            worst, where = off, f"{name}{tuple(row)} = {result}, not {mp.nstr(value, 12)}"
    return worst, where


@pytest.mark.parametrize("name", MATH)
def test_errors_stay_within_the_page(name: str) -> None:
    function = MATH[name]
    x = inputs(function.low, function.high, 1)
    rng = np.random.default_rng(2)
    y, z = rng.permutation(inputs(*function.second, 3)), rng.permutation(inputs(-10, 10, 4))
    if name in ("pow", "powr"):
        x = np.concatenate([x, x])
        y, z = np.concatenate([y, np.round(y)]), np.concatenate([z, z])
    got = both(name, (x, y, z), np.zeros(x.size, "i4"))
    worst, where = greatest(name, got, function.exact, (x, y, z)[: function.arity])
    assert function.found <= function.allowed
    assert worst <= function.found, where


@pytest.mark.parametrize("name", WITH_INTEGER)
def test_errors_of_functions_of_integers_stay_within_the_page(name: str) -> None:
    exact, allowed, found = WITH_INTEGER[name]
    rng = np.random.default_rng(5)
    x = np.concatenate(
        [inputs(-4, 4, 6), np.nextafter(np.ones(100, "f4"), rng.choice([0, 2], 100).astype("f4")), -SPECIAL]
    )
    n = np.concatenate([INTEGERS, rng.integers(-20, 20, x.size).astype("i4")])[: x.size]
    n = rng.permutation(np.where(rng.random(x.size) < 0.2, rng.choice(INTEGERS, x.size), n).astype("i4"))
    got = both(name, (x, x, x), n)
    worst, where = greatest(name, got, exact, (x, n))
    assert found <= allowed
    assert worst <= found, where
