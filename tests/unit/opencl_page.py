# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/opencl-builtins.md from the table: `python tests/unit/opencl_page.py`."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "opencl-builtins.md"
HEAD = """# Built-in functions of OpenCL C 1.2

Every built-in function of the specification, by its sections, and what it is here. The page is written from the table
that the tests run over (`tests/unit/opencl_table.py`); `python tests/unit/opencl_page.py` refreshes it, and a test
fails where it is not what the table says.

*Scalar and vector forms* of the specification are there wherever the function is. A source gets the functions it names,
so those it does not name cost nothing. `double` is there by soft float, hundreds of
instructions an operation, and `half` by way of `float`, some 50.

## Errors of mathematical functions

Units in the last place of the exact value, over corner cases, all magnitudes and the ranges where functions have their
shape; subnormal numbers count like any. *Greatest found* is what the test allows: rounded up to halves. With and
without an FPU the bits are the same, of both types.

| function | allowed by the specification | greatest found | allowed in `double` | greatest found in `double` |
|---|---|---|---|---|
"""
EXACT = """
`fract`, `frexp`, `ilogb`, `logb`, `modf`, `nan`, `nextafter` and `remquo` are exact; `sincos` has the errors of `sin`
and `cos`; `lgamma` and `lgamma_r`, for which the specification sets no bound, are within 1e-6 of the value, and
3e-6 near its zeros; within 2e-15 and 6e-15 in `double`. `half_` and `native_` functions are the full ones.

## double

Every function below that takes `float` takes `double` and computes in it, scalars and vectors of every width: the
mathematical, common, geometric and relational functions, `select`, `bitselect`, `vloadn`, `vstoren`, `vstore_half`
and its fellows (which round once), `shuffle`, `async_work_group_copy`, `printf`, and the conversions from and to it
with `_sat` and every rounding. Addition, subtraction, multiplication, division, `sqrt`, `fma` and comparisons are IEEE
754 binary64, rounded to nearest even. A source that uses `double` has literals of double precision, unless it is built
with `-cl-single-precision-constant`.

What the standard has for `float` only is refused with `double`: `half_` and `native_` functions, `fast_length`,
`fast_distance` and `fast_normalize` (*it takes float only; for double use the function without that beginning, or cast
to float*). So are functions of integers, and what fits several forms of a function as well: `float` and `double` in
one call (*call to 'pow' is ambiguous*: cast them to one type), integers alone where a function has both types
(`sqrt(2)`), `select` of `double` by an `int` (a `long` is right), `nan(0)`. Other compilers refuse the same.

An integer next to a `double` becomes one, and so does a scalar of `float` next to a vector of `double`. A scalar of
`double` next to a vector of *float* becomes `float`, as the language converts an argument. `vstoren`, `shuffle2` and
the copies refuse arguments whose elements have different types; integers of one size are alike.

## half

A source that names `half` outside comments (`cl_khr_fp16`) has its arithmetic, and a form in it of every function
below that takes `float`, scalars and vectors, but `half_`, `native_` and `fast_` functions. An operation is that of
`float` on the numbers converted, rounded once more to nearest even, which for `+ - * /` and `sqrt` is IEEE 754
binary16, as binary32 has more than twice the digits; `fma` rounds the exact sum once. Other functions have the value of
the table in `float`, rounded: half a unit of the last place of `half` and a thousandth. `nextafter`, `frexp`, `modf`,
`ldexp` and what looks at bits are exact. `convert_` has every rounding and, from `half`, `_sat`; `read_imageh` and
`write_imageh` are there; `printf` prints a `half`, vectors of it only as `float`. A product and a sum of `half` are
never fused.

An integer next to a `half` becomes one. Integers alone where a function has `half` and `float` are `float`, as in
sources without `half`; `half` and `float` in one call are ambiguous.

## All of them

Every function of the specification is there.

| section | functions |
|---|---|
"""


def page() -> str:
    """The page as it should be."""
    from unit.opencl_table import DOUBLE, DOUBLE_ALLOWED, MATH, SPECIFICATION, WITH_INTEGER

    errors = {name: (entry.allowed, entry.found) for name, entry in MATH.items()}
    errors |= {name: (allowed, found) for name, (_, allowed, found) in WITH_INTEGER.items()}
    rows = "".join(
        f"| `{name}` | {' | '.join(map(_ulps, (asked, found, DOUBLE_ALLOWED.get(name, asked), DOUBLE[name])))} |\n"
        for name, (asked, found) in sorted(errors.items())
    )
    sections = "".join(
        f"| {title} | {' '.join(f'`{name}`' for name in names)} |\n" for title, names in SPECIFICATION.items()
    )
    return HEAD + rows + EXACT + sections


def _ulps(value: float) -> str:
    return "any" if value == float("inf") else f"{value:g}"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))
    PAGE.write_text(page(), encoding="utf-8")
