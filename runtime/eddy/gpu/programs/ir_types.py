# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Sizes of LLVM's types on 32-bit RISC-V, as far as structures of OpenCL C need them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from eddy.gpu.programs.ir_function import IrregularFunction

_NAMED = re.compile(r"^(%[\w.\"-]+) = type (.*)$", re.M)
_REPEATED = re.compile(r"[\[<](\d+) x (.*)[\]>]\Z", re.S)

_REALS = {"half": 2, "float": 4, "double": 8}
"""Bytes of a number."""


def named_types(ir: str) -> dict[str, str]:
    """The types a module names, by name."""
    return dict(_NAMED.findall(ir))


def layout(text: str, named: Mapping[str, str]) -> tuple[int, int]:
    """Size and alignment of a type, in bytes.

    Raises:
        ValueError: It is of a kind that cannot be passed, as a pointer cannot.
    """
    text = text.strip()
    if text.startswith("%"):
        return layout(named[text], named)
    if text.startswith("<{"):
        return sum(layout(part, named)[0] for part in _parts(text[2:-2])), 1
    if text.startswith("{"):
        return _structure(text[1:-1], named)
    repeated = _REPEATED.match(text)
    if repeated:
        size, align = layout(repeated[2], named)
        whole = int(repeated[1]) * size
        if text[0] == "[":
            return whole, align
        power: int = 1 << max(0, whole - 1).bit_length()
        return power, power
    if text in _REALS:
        return _REALS[text], _REALS[text]
    bits = re.fullmatch(r"i(8|16|32|64)", text)
    if not bits:
        raise ValueError(text)
    return int(bits[1]) // 8, int(bits[1]) // 8


def bytes_of(text: str, named: Mapping[str, str]) -> int:
    """Size of a variable's type, which may be a pointer.

    Raises:
        Irregular: It is of another kind.
    """
    try:
        return 4 if text == "ptr" else layout(text, named)[0]
    except (ValueError, KeyError):
        raise IrregularFunction("a variable of another kind") from None


def _structure(fields: str, named: Mapping[str, str]) -> tuple[int, int]:
    at, most = 0, 1
    for part in _parts(fields):
        size, align = layout(part, named)
        at, most = -(-at // align) * align + size, max(most, align)
    return -(-at // most) * most, most


def _parts(fields: str) -> Iterator[str]:
    """The types between the commas of the outermost level."""
    depth, begin = 0, 0
    for at, letter in enumerate(fields):
        depth += (letter in "[{<(") - (letter in "]}>)")
        if letter == "," and not depth:
            yield fields[begin:at]
            begin = at + 1
    if fields[begin:].strip():
        yield fields[begin:]
