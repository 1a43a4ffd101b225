# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The numbers that stand in a module's sources.

Logic that waits for one value (a magic word, an address, a threshold) meets it by chance about never. Where the value
is written in the source, the check feeds it to the module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

LEAST = 256
"""Smaller numbers come up by chance."""
MOST = 1 << 64
BASES = {"h": 16, "d": 10, "o": 8, "b": 2}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"", re.DOTALL)
SIZED = re.compile(r"(\d*)'s?([hdob])\s*([0-9a-f_]+)(?![0-9a-fxz?_])", re.IGNORECASE)
PLAIN = re.compile(r"(?<![\w'.$])(\d[\d_]*)(?![\w'.])")


@dataclass(frozen=True, order=True)
class Literal:
    """A number.

    Attributes:
        value: The number, 256 to 2**64 - 1.
        width_bytes: Bytes it is put into memory with: 2, 4 or 8.
    """

    value: int
    width_bytes: int

    def to_bytes(self) -> bytes:
        """As memory holds it."""
        return self.value.to_bytes(self.width_bytes, "little")


def literals(files: Iterable[Path]) -> tuple[Literal, ...]:
    """Every number of 256 or more in SystemVerilog sources, each once, in order; those in comments are left out."""
    found: set[Literal] = set()
    for file in files:
        text = COMMENT.sub(" ", file.read_text(encoding="utf-8"))
        found.update(_numbers(text))
    return tuple(sorted(found))


def _numbers(text: str) -> Iterator[Literal]:
    for size, base, digits in SIZED.findall(text):
        yield from _literal(int(digits.replace("_", "") or "0", BASES[base.lower()]), int(size or 0))
    for digits in PLAIN.findall(SIZED.sub(" ", text)):
        yield from _literal(int(digits.replace("_", "")), 0)


def _literal(value: int, bits: int) -> Iterator[Literal]:
    if LEAST <= value < MOST:
        needed = (max(bits if bits <= 64 else 0, value.bit_length()) + 7) // 8
        yield Literal(value, next(width for width in (2, 4, 8) if width >= needed))
