# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`half` (`cl_khr_fp16`): whether a source uses it, and the functions that are those of float, rounded once more.

A source that does not use it has no functions of half, so that an integer given to a function of float still is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_USES = re.compile(r"\b(?:half(?:2|3|4|8|16)?|(?:as|convert)_half\w*|(?:read|write)_imageh|HALF_\w+|M_\w+_H)\b")
PREFIX = "of_half_"
"""Begins the name of a section that a source which uses half gets with the section of the rest of the name."""
_ONE = (
    *("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "sinpi", "cospi", "tanpi", "asinpi", "acospi"),
    *("atanpi", "erf", "erfc", "tgamma", "lgamma", "logb", "sqrt", "rsqrt", "floor", "ceil", "trunc", "round", "rint"),
    *("degrees", "radians", "sign"),
)
_TWO = (*("pow", "powr", "atan2", "atan2pi", "fmod", "hypot", "remainder", "maxmag", "minmag", "fdim"),)
_TESTS = ("isnan", "isinf", "isfinite")
_COMPARISONS = (
    *("isequal", "isnotequal", "isgreater", "isgreaterequal", "isless", "islessequal", "islessgreater"),
    *("isordered", "isunordered"),
)


def uses_half(*texts: str) -> bool:
    """Whether texts of a program name the type, outside comments."""
    return any(_USES.search(_COMMENT.sub(" ", text)) for text in texts)


def where_used(text: str) -> str:
    """A section's text, which is nothing in a source without half."""
    return f"#ifdef EDDY_HALVES\n{text}#endif\n"


def by_way_of_float() -> Iterator[tuple[str, str]]:
    """Sections of the functions that are those of float."""
    for name in _ONE:
        yield PREFIX + name, f"EDDY_INLINE1_T(half, {name}, (half){name}((float)x))\n"
    for name in _TWO:
        yield PREFIX + name, f"EDDY_INLINE2_T(half, {name}, (half){name}((float)x, (float)y))\n"
    yield f"{PREFIX}mad", "EDDY_INLINE3_T(half, mad, (half)((float)x * (float)y + (float)z))\n"
    for name in _TESTS:
        yield PREFIX + name, f"EDDY_TEST1_T(half, short, {name}, {name}((float)x))\n"
    for name in _COMPARISONS:
        yield PREFIX + name, f"EDDY_TEST2_T(half, short, {name}, {name}((float)x, (float)y))\n"
