# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The exact model of the floating-point operations, against rational arithmetic and against known answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from eddy_sim.gpu import softfloat
from eddy_sim.gpu.fpu_cases import random_cases, special_cases
from eddy_sim.gpu.softfloat import DZ, NV, NX, OF, UF, Op, Rm

SMALLEST_NORMAL = Fraction(1, 1 << 126)
BEYOND = Fraction(1 << 128)
CASES = 2000


def value_of(bits: int) -> Fraction:
    field, fraction = bits >> 23 & 255, bits & 0x7FFFFF
    magnitude = Fraction(fraction + (1 << 23 if field else 0)) * Fraction(2) ** (max(field, 1) - 150)
    return -magnitude if bits >> 31 else magnitude


def exponent_of(x: Fraction) -> int:
    """Largest e with 2**e <= x."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if Fraction(2) ** e <= x else e - 1


def rounded(x: Fraction, quantum: int, negative: bool, rm: Rm) -> Fraction:
    """|x| as a multiple of 2**quantum."""
    units = x / Fraction(2) ** quantum
    down = math.floor(units)
    rest = units - down
    up = {
        Rm.RNE: rest > Fraction(1, 2) or (rest == Fraction(1, 2) and down % 2 == 1),
        Rm.RTZ: False,
        Rm.RDN: negative and rest > 0,
        Rm.RUP: not negative and rest > 0,
        Rm.RMM: rest >= Fraction(1, 2),
    }[rm]
    return (down + up) * Fraction(2) ** quantum


def to_binary32(x: Fraction, rm: Rm) -> tuple[int, int]:
    """Bits and flags of a number other than zero, from the definitions."""
    negative, x = x < 0, abs(x)
    e = exponent_of(x)
    unbounded = rounded(x, e - 23, negative, rm)
    near = rounded(x, max(e - 23, -149), negative, rm)
    sign = 1 << 31 if negative else 0
    if near >= BEYOND:
        infinite = rm in (Rm.RNE, Rm.RMM) or rm == (Rm.RDN if negative else Rm.RUP)
        return sign | (0x7F800000 if infinite else 0x7F7FFFFF), OF | NX
    inexact = near != x
    flags = (NX if inexact else 0) | (UF if inexact and unbounded < SMALLEST_NORMAL else 0)
    if near < SMALLEST_NORMAL:
        return sign | int(near * (1 << 149)), flags
    e = exponent_of(near)
    return sign | (e + 127) << 23 | int(near / Fraction(2) ** (e - 23)) - (1 << 23), flags


def root_of(x: Fraction) -> Fraction:
    """The square root, or a number that rounds as it does: 100 bits below and a little more."""
    scale = 1 << 400
    down = math.isqrt(int(x * scale))
    exact = Fraction(down * down, scale) == x
    return Fraction(down, 1 << 200) + (0 if exact else Fraction(1, 1 << 300))


EXACT: dict[Op, Callable[[Fraction, Fraction, Fraction], Fraction]] = {
    Op.FMADD: lambda a, b, c: a * b + c,
    Op.FMSUB: lambda a, b, c: a * b - c,
    Op.FNMSUB: lambda a, b, c: c - a * b,
    Op.FNMADD: lambda a, b, c: -a * b - c,
    Op.FADD: lambda a, b, c: a + b,
    Op.FSUB: lambda a, b, c: a - b,
    Op.FMUL: lambda a, b, c: a * b,
    Op.FDIV: lambda a, b, c: a / b,
    Op.FSQRT: lambda a, b, c: root_of(a),
}


def finite(op: Op, a: int, b: int, c: int) -> bool:
    if any(x >> 23 & 255 == 255 for x in (a, b, c)):
        return False
    if op == Op.FDIV:
        return b & 0x7FFFFFFF != 0
    return op != Op.FSQRT or not a >> 31


@pytest.mark.parametrize("op", list(EXACT))
def test_the_model_rounds_as_rational_arithmetic_does(op: Op) -> None:
    rm, (a, b, c) = random_cases(op, CASES, seed=7)
    got = softfloat.evaluate(op, rm, a, b, c)
    compared = 0
    for i in range(CASES):
        x, y, z = int(a[i]), int(b[i]), int(c[i])
        exact = EXACT[op](value_of(x), value_of(y), value_of(z)) if finite(op, x, y, z) else Fraction(0)
        if exact == 0:
            continue
        compared += 1
        want = to_binary32(exact, Rm(rm[i]))
        assert (int(got.result[i]), int(got.flags[i])) == want, f"{op.name} {Rm(rm[i]).name} {x:08x} {y:08x} {z:08x}"
    assert compared > CASES // 4


@pytest.mark.parametrize("op", [Op.FCVT_S_W, Op.FCVT_S_WU])
def test_the_model_rounds_integers(op: Op) -> None:
    rm, (a, b, c) = special_cases(op)
    got = softfloat.evaluate(op, rm, a, b, c)
    for i in range(len(rm)):
        x = int(a[i]) - (1 << 32 if op == Op.FCVT_S_W and a[i] >> 31 else 0)
        want = to_binary32(Fraction(x), Rm(rm[i])) if x else (0, 0)
        assert (int(got.result[i]), int(got.flags[i])) == want


@pytest.mark.parametrize(
    ("op", "low", "high"), [(Op.FCVT_W_S, -(1 << 31), (1 << 31) - 1), (Op.FCVT_WU_S, 0, (1 << 32) - 1)]
)
def test_the_model_rounds_to_integers_and_saturates(op: Op, low: int, high: int) -> None:
    rm, (a, b, c) = random_cases(op, CASES, seed=8)
    got = softfloat.evaluate(op, rm, a, b, c)
    for i in range(CASES):
        x = int(a[i])
        nan, infinite = x & 0x7FFFFFFF > 0x7F800000, x & 0x7FFFFFFF == 0x7F800000
        value = Fraction(0) if nan or infinite else value_of(x)
        whole = int(rounded(abs(value), 0, value < 0, Rm(rm[i]))) * (-1 if value < 0 else 1)
        if nan or (infinite and not x >> 31):
            whole = high + 1
        elif infinite:
            whole = low - 1
        flags = NV if not low <= whole <= high else NX if whole != value else 0
        want = (min(max(whole, low), high) & 0xFFFFFFFF, flags)
        assert (int(got.result[i]), int(got.flags[i])) == want, f"{x:08x} {Rm(rm[i]).name}"


ONE, TWO, NAN, SNAN, INF, NINF, NZERO, NONE = (
    *(0x3F800000, 0x40000000, 0x7FC00000, 0x7F800001, 0x7F800000, 0xFF800000, 0x80000000, 0),
)
KNOWN = [
    (Op.FADD, Rm.RNE, (ONE, ONE, 0), (TWO, 0)),
    (Op.FADD, Rm.RNE, (INF, NINF, 0), (NAN, NV)),
    (Op.FSUB, Rm.RNE, (ONE, ONE, 0), (0, 0)),
    (Op.FSUB, Rm.RDN, (ONE, ONE, 0), (NZERO, 0)),
    (Op.FADD, Rm.RDN, (NONE, NONE, 0), (0, 0)),
    (Op.FMUL, Rm.RDN, (NZERO, ONE, 0), (NZERO, 0)),
    (Op.FMADD, Rm.RNE, (INF, 0, NAN), (NAN, NV)),  # F extension: invalid even with a quiet NaN as the addend
    (Op.FMADD, Rm.RNE, (ONE, NAN, ONE), (NAN, 0)),
    (Op.FMADD, Rm.RNE, (0x7F7FFFFF, TWO, 0xFF7FFFFF), (0x7F7FFFFF, 0)),  # no overflow before the sum
    (Op.FMUL, Rm.RNE, (0x3F800001, 0x007FFFFF, 0), (0x00800000, NX)),  # tiny before rounding, not after
    (Op.FMUL, Rm.RNE, (1, 0x3F000000, 0), (0, UF | NX)),
    (Op.FMUL, Rm.RMM, (1, 0x3F000000, 0), (1, UF | NX)),
    (Op.FMUL, Rm.RTZ, (0x7F7FFFFF, TWO, 0), (0x7F7FFFFF, OF | NX)),
    (Op.FDIV, Rm.RNE, (ONE, NZERO, 0), (NINF, DZ)),
    (Op.FDIV, Rm.RNE, (NONE, NZERO, 0), (NAN, NV)),
    (Op.FDIV, Rm.RNE, (INF, 0, 0), (INF, 0)),
    (Op.FSQRT, Rm.RNE, (NZERO, 0, 0), (NZERO, 0)),
    (Op.FSQRT, Rm.RNE, (0xBF800000, 0, 0), (NAN, NV)),
    (Op.FMIN, Rm.RNE, (NONE, NZERO, 0), (NZERO, 0)),
    (Op.FMAX, Rm.RNE, (NZERO, NONE, 0), (NONE, 0)),
    (Op.FMIN, Rm.RNE, (SNAN, ONE, 0), (ONE, NV)),
    (Op.FMAX, Rm.RNE, (NAN, 0x7FFFFFFF, 0), (NAN, 0)),
    (Op.FEQ, Rm.RNE, (NAN, NAN, 0), (0, 0)),
    (Op.FEQ, Rm.RNE, (SNAN, ONE, 0), (0, NV)),
    (Op.FLT, Rm.RNE, (NAN, ONE, 0), (0, NV)),
    (Op.FLE, Rm.RNE, (NZERO, NONE, 0), (1, 0)),
    (Op.FSGNJN, Rm.RNE, (SNAN, ONE, 0), (0xFF800001, 0)),
    (Op.FSGNJX, Rm.RNE, (NINF, NZERO, 0), (INF, 0)),
    (Op.FCLASS, Rm.RNE, (NINF, 0, 0), (1 << 0, 0)),
    (Op.FCLASS, Rm.RNE, (NZERO, 0, 0), (1 << 3, 0)),
    (Op.FCLASS, Rm.RNE, (1, 0, 0), (1 << 5, 0)),
    (Op.FCLASS, Rm.RNE, (SNAN, 0, 0), (1 << 8, 0)),
    (Op.FCLASS, Rm.RNE, (NAN, 0, 0), (1 << 9, 0)),
    (Op.FCVT_W_S, Rm.RNE, (NAN, 0, 0), (0x7FFFFFFF, NV)),
    (Op.FCVT_W_S, Rm.RNE, (NINF, 0, 0), (0x80000000, NV)),
    (Op.FCVT_WU_S, Rm.RTZ, (0xBF000000, 0, 0), (0, NX)),
    (Op.FCVT_WU_S, Rm.RDN, (0xBF000000, 0, 0), (0, NV)),
    (Op.FCVT_S_WU, Rm.RNE, (0xFFFFFFFF, 0, 0), (0x4F800000, NX)),
    (Op.FCVT_S_W, Rm.RNE, (0xFFFFFFFF, 0, 0), (0xBF800000, 0)),
]


@pytest.mark.parametrize(("op", "rm", "operands", "want"), KNOWN)
def test_the_manuals_answers(op: Op, rm: Rm, operands: tuple[int, int, int], want: tuple[int, int]) -> None:
    a, b, c = (np.array([x], np.uint32) for x in operands)
    got = softfloat.evaluate(op, np.array([rm], np.uint8), a, b, c)
    assert (int(got.result[0]), int(got.flags[0])) == want
