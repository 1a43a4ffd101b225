# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The device library's mathematics: errors in units of the last place, and the same bits with and without an FPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from eddy.gpu.launches.launch import launch
from eddy.gpu.programs.shape import ClusterShape
from unit.gpu_kit import cluster, compiled

Array = npt.NDArray[Any]
HARD, SOFT = ClusterShape(1, 4, 16, True), ClusterShape(1, 4, 16, False)

UNARY: dict[str, tuple[Callable[[Array], Array], float]] = {
    "exp": (np.exp, 1.0),
    "exp2": (np.exp2, 1.0),
    "exp10": (lambda x: np.power(10.0, x), 1.0),
    "expm1": (np.expm1, 3.0),
    "log": (np.log, 1.0),
    "log2": (np.log2, 2.0),
    "log10": (np.log10, 2.0),
    "log1p": (np.log1p, 2.0),
    "sin": (np.sin, 1.5),
    "cos": (np.cos, 1.5),
    "tan": (np.tan, 3.0),
    "asin": (np.arcsin, 2.0),
    "acos": (np.arccos, 1.5),
    "atan": (np.arctan, 2.0),
    "sinh": (np.sinh, 2.5),
    "cosh": (np.cosh, 2.5),
    "tanh": (np.tanh, 1.5),
    "cbrt": (np.cbrt, 1.0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1.5),
    "sqrt": (np.sqrt, 0.5),
    "fabs": (np.abs, 0.0),
    "floor": (np.floor, 0.0),
    "ceil": (np.ceil, 0.0),
    "trunc": (np.trunc, 0.0),
    "round": (lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), 0.0),
    "rint": (np.rint, 0.0),
}
"""Function, reference in binary64, greatest error allowed in units of the last place (docs/reference/opencl.md)."""

BINARY: dict[str, tuple[str, Callable[[Array, Array], Array], float]] = {
    "pow": ("pow(x, y)", np.power, 1.0),
    "atan2": ("atan2(x, y)", np.arctan2, 2.0),
    "hypot": ("hypot(x, y)", np.hypot, 1.5),
    "fmod": ("fmod(x, y)", np.fmod, 0.0),
    "fmin": ("fmin(x, y)", np.fmin, 0.0),
    "fmax": ("fmax(x, y)", np.fmax, 0.0),
    "add": ("x + y", np.add, 0.5),
    "sub": ("x - y", np.subtract, 0.5),
    "mul": ("x * y", np.multiply, 0.5),
    "div": ("x / y", np.divide, 0.5),
}

SOURCE = (
    "".join(
        f"kernel void k_{f}(global const float *x, global const float *y, global float *o) "
        f"{{ uint i = get_global_id(0); o[i] = {f}(x[i]); }}\n"
        for f in UNARY
    )
    + "".join(
        f"kernel void k_{f}(global const float *a, global const float *b, global float *o) "
        f"{{ uint i = get_global_id(0); float x = a[i], y = b[i]; o[i] = {text}; }}\n"
        for f, (text, _, _) in BINARY.items()
    )
    + """
kernel void k_fma(global const float *x, global const float *y, global float *o) {
  uint i = get_global_id(0); o[i] = fma(x[i], y[i], o[i]);
}
kernel void k_convert(global const float *x, global int *o) {
  uint i = get_global_id(0); float f = x[i];
  o[6 * i] = (int)f; o[6 * i + 1] = (int)(uint)f; o[6 * i + 2] = as_int((float)as_int(f));
  o[6 * i + 3] = as_int((float)as_uint(f)); o[6 * i + 4] = convert_uchar_sat(f); o[6 * i + 5] = (int)((long)f >> 16);
}
kernel void k_compare(global const float *x, global const float *y, global int *o) {
  uint i = get_global_id(0); float a = x[i], b = y[i];
  o[i] = (a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a > b) << 4 | (a >= b) << 5 | isnan(a) << 6 |
         isinf(a) << 7 | signbit(a) << 8 | isfinite(b) << 9;
}
"""
)
SPECIAL = np.array(
    [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-38, 3.4e38, 0.5, 2, 1.5, 2.5, -0.5, -2.5, 8388608.5,
     -8388609, 0.25, 2147483648, -2147483648, 4294967296, 88.73, -103.98, 255.5, 0.99999994, 1.0000001],
    "f4",
)  # fmt: skip


def inputs(seed: int) -> tuple[Array, Array]:
    """Corner cases against each other, all magnitudes, and the ranges where functions have their shape."""
    rng = np.random.default_rng(seed)
    parts = [
        rng.integers(0, 1 << 32, 500, dtype="u4").view("f4"),
        *(rng.uniform(-a, a, 250).astype("f4") for a in (1, 4, 100)),
        np.exp2(rng.uniform(-20, 40, 250)).astype("f4"),
    ]
    mixed = np.concatenate(parts)
    x = np.concatenate([np.repeat(SPECIAL, SPECIAL.size), mixed])
    y = np.concatenate([np.tile(SPECIAL, SPECIAL.size), rng.permutation(mixed)])
    return x, y


def run(kernel: str, fpu: bool, x: Array, y: Array, out: Array) -> Array:
    result = out.copy()
    arguments = [x, result] if kernel == "k_convert" else [x, y, result]
    launch(cluster(HARD if fpu else SOFT), compiled(SOURCE, fpu), kernel, x.shape, arguments)
    return result


def both(kernel: str, x: Array, y: Array, out: Array) -> Array:
    """The result, after seeing that both variants agree in every bit."""
    hard, soft = run(kernel, True, x, y, out), run(kernel, False, x, y, out)
    different = np.flatnonzero(hard.view("u4") != soft.view("u4"))
    assert not different.size, [(x[i % x.size], y[i % x.size], hard[i], soft[i]) for i in different[:5]]
    return hard


def ulps(got: Array, wanted: Array) -> Array:
    """How far off, in units of the last place of the right value; zero where both are the same special value."""
    with np.errstate(all="ignore"):
        near = wanted.astype("f4")
        unit = np.spacing(np.abs(np.clip(wanted, -3.4e38, 3.4e38)).astype("f4")).astype("f8")
        off = np.abs(got.astype("f8") - wanted) / unit
    same = (np.isnan(got) & np.isnan(wanted)) | (got == near)
    return np.where(same, 0.0, np.nan_to_num(off, nan=np.inf))


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_argument(name: str) -> None:
    x, y = inputs(1)
    reference, bound = UNARY[name]
    with np.errstate(all="ignore"):
        wanted = reference(x.astype("f8"))
    off = ulps(both(f"k_{name}", x, y, np.zeros_like(x)), wanted)
    assert off.max() <= bound, (off.max(), x[off.argmax()])


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arguments(name: str) -> None:
    x, y = inputs(2)
    _, reference, bound = BINARY[name]
    with np.errstate(all="ignore"):
        wanted = reference(x.astype("f8"), y.astype("f8"))
    off = ulps(both(f"k_{name}", x, y, np.zeros_like(x)), wanted)
    assert off.max() <= bound, (off.max(), x[off.argmax()], y[off.argmax()])


def test_fma_rounds_once() -> None:
    x, y = inputs(3)
    z = np.random.default_rng(4).permutation(x)
    # Where the product nearly cancels, two roundings would show.
    with np.errstate(all="ignore"):
        z[::3] = -(x[::3] * y[::3])
        wanted = (x.astype("longdouble") * y.astype("longdouble") + z).astype("f8")
    off = ulps(both("k_fma", x, y, z), wanted)
    assert off.max() <= 0.5, (off.max(), off.argmax())


def test_conversions_saturate_alike() -> None:
    x, y = inputs(5)
    got = both("k_convert", x, y, np.zeros(6 * x.size, "i4")).reshape(-1, 6)
    with np.errstate(all="ignore"):
        wide = np.nan_to_num(x.astype("f8"), nan=np.inf)
        signed = np.trunc(np.clip(wide, -(2.0**31), 2.0**31 - 1)).astype("i8").astype("i4")
        unsigned = np.trunc(np.clip(wide, 0, 2.0**32 - 1)).astype("u8").astype("u4").view("i4")
    np.testing.assert_array_equal(got[:, 0], signed)
    np.testing.assert_array_equal(got[:, 1], unsigned)
    np.testing.assert_array_equal(got[:, 2], x.view("i4").astype("f4").view("i4"))
    np.testing.assert_array_equal(got[:, 3], x.view("u4").astype("f4").view("i4"))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got[:, 4], np.clip(np.nan_to_num(x, nan=0.0), 0, 255).astype("i4"))


def test_comparisons() -> None:
    x, y = inputs(6)
    with np.errstate(all="ignore"):
        terms = (x < y, x <= y, x == y, x != y, x > y, x >= y, np.isnan(x), np.isinf(x), np.signbit(x), np.isfinite(y))
    wanted = sum(term.astype("i4") << k for k, term in enumerate(terms))
    np.testing.assert_array_equal(both("k_compare", x, y, np.zeros(x.size, "i4")), wanted)
