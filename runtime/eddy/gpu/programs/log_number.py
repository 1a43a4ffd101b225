# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Numbers as C's printf writes them, where Python's `%` does otherwise."""

from __future__ import annotations

import math
from dataclasses import dataclass

_MANTISSA_DIGITS = 13


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How a number is written.

    Attributes:
        kind: Letter of the conversion.
        flags: Of `-+ #0`.
        width: Characters at least.
        precision: Behind the point; None where it has none.
        bits: What is heeded of an integer.
    """

    kind: str
    flags: str = ""
    width: int = 0
    precision: int | None = None
    bits: int = 64

    @property
    def as_python(self) -> bool:
        """Whether `%` of Python writes any value the same, which takes less time."""
        if self.kind in "diouxX":
            plain = self.bits >= 32 and (self.precision is None or (self.precision > 0 and "0" not in self.flags))
            return plain and (self.kind in "di" or not set(self.flags) & set("#+ "))
        return self.kind not in "aA" and "0" not in self.flags

    def shown(self, value: float) -> str:
        """A value as C writes it."""
        if self.kind in "diouxX":
            return self._whole(int(value))
        value = float(value)
        if self.kind in "aA":
            body = abs(value).hex() if not math.isfinite(value) else _hexadecimal(abs(value), self.precision)
            body = body.upper() if self.kind == "A" else body
        else:
            shape = "%" + "#" * ("#" in self.flags) + ("" if self.precision is None else f".{self.precision}")
            body = (shape + self.kind) % abs(value)
        negative = math.copysign(1, value) < 0 and not math.isnan(value)
        return self._padded(self._sign(negative), body, math.isfinite(value))

    def _whole(self, value: int) -> str:
        value &= (1 << self.bits) - 1
        sign = ""
        if self.kind in "di":
            value -= value >> self.bits - 1 << self.bits
            sign, value = self._sign(value < 0), abs(value)
        digits = f"{value:{self.kind if self.kind in 'oxX' else 'd'}}" if value or self.precision != 0 else ""
        digits = digits.rjust(self.precision or 0, "0")
        if "#" in self.flags and self.kind == "o" and not digits.startswith("0"):
            digits = "0" + digits
        if "#" in self.flags and self.kind in "xX" and value:
            sign = "0" + self.kind
        return self._padded(sign, digits, self.precision is None)

    def _sign(self, negative: bool) -> str:
        return "-" if negative else "+" if "+" in self.flags else " " if " " in self.flags else ""

    def _padded(self, sign: str, body: str, zeros: bool) -> str:
        if "-" in self.flags:
            return (sign + body).ljust(self.width)
        if "0" in self.flags and zeros:
            prefix = sign + "0x" * body.startswith("0x") + "0X" * body.startswith("0X")
            return prefix + body[len(prefix) - len(sign) :].rjust(self.width - len(prefix), "0")
        return (sign + body).rjust(self.width)


def _hexadecimal(value: float, precision: int | None) -> str:
    """No zeros that say nothing, or so many digits behind the point, rounded to even."""
    if precision is not None and precision < _MANTISSA_DIGITS and value:
        mantissa, exponent = math.frexp(value)
        value = math.ldexp(round(math.ldexp(mantissa, 1 + 4 * precision)), exponent - 1 - 4 * precision)
    head, mark, power = value.hex().partition("p")
    whole, _, digits = head.partition(".")
    digits = digits.rstrip("0").ljust(precision or 0, "0")
    return f"{whole}{'.' * bool(digits)}{digits}{mark}{power}"
