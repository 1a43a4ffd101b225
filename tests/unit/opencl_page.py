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
instructions an operation; there is no `half` arithmetic, `half` is a format in memory.

## Errors of mathematical functions

Units in the last place of the exact value, over corner cases, all magnitudes and the ranges where functions have their
shape; subnormal numbers count like any. *Greatest found* is what the test allows: rounded up to halves. With and
without an FPU the bits are the same.

| function | allowed by the specification | greatest found |
|---|---|---|
"""
EXACT = """
`fract`, `frexp`, `ilogb`, `logb`, `modf`, `nan`, `nextafter` and `remquo` are exact; `sincos` has the errors of `sin`
and `cos`; `lgamma` and `lgamma_r`, for which the specification sets no bound, are within 1e-6 of the value, and
3e-6 near its zeros. `half_` and `native_` functions are the full ones.

## double

Addition, subtraction, multiplication, division, `fma`, comparisons and conversions are IEEE 754 binary64, rounded to
nearest even. A source that uses `double` has literals of double precision; `printf` prints them with the digits of
`float`. Besides the functions below there are `mad`, `fabs`, `fmin`, `fmax`, `copysign`, `ldexp`, `frexp`, `modf`,
`pown`, `powr`, `sincos`, the tests (`isnan` to `isunordered`, `signbit`, `select`), the common and geometric functions,
`vloadn`, `vstoren`, and conversions without `_sat`. The other mathematical functions are missing for `double`.

| function of `double` | allowed by the specification | greatest found |
|---|---|---|
DOUBLE_ROWS
## All of them

| section | functions | state |
|---|---|---|
"""


def page() -> str:
    """The page as it should be."""
    from unit.opencl_table import DOUBLE_PAIRS, DOUBLES, MATH, SPECIFICATION, WITH_INTEGER

    errors = {name: (entry.allowed, entry.found) for name, entry in MATH.items()}
    errors |= {name: (allowed, found) for name, (_, allowed, found) in WITH_INTEGER.items()}
    rows = "".join(
        f"| `{name}` | {_ulps(asked)} | {_ulps(found)} |\n" for name, (asked, found) in sorted(errors.items())
    )
    doubles = {name: (allowed, found) for name, (_, allowed, found, _, _) in DOUBLES.items()}
    doubles |= {name: (allowed, found) for name, (_, allowed, found) in DOUBLE_PAIRS.items()}
    of_double = "".join(
        f"| `{name}` | {_ulps(asked)} | {_ulps(found)} |\n" for name, (asked, found) in sorted(doubles.items())
    )
    sections = "".join(
        f"| {title} | {' '.join(f'`{name}`' for name in names)} | {_state(title)} |\n"
        for title, names in SPECIFICATION.items()
    )
    return HEAD + rows + EXACT.replace("DOUBLE_ROWS\n", of_double + "\n") + sections


def _state(title: str) -> str:
    from unit.opencl_table import MISSING

    return f"missing: {MISSING[title]}" if title in MISSING else "there"


def _ulps(value: float) -> str:
    return "any" if value == float("inf") else f"{value:g}"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))
    PAGE.write_text(page(), encoding="utf-8")
