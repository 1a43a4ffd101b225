# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""An exact model of RISC-V's single-precision operations, on numpy arrays.

It shares no method with the RTL: a fused multiply-add is an exact product and an error-free sum in binary64, rounded to
odd; quotients and roots are those of integers. Everything is then rounded once, by division with remainder.

References: IEEE 754-2019; RISC-V Instruction Set Manual, volume I, F extension 2.2 (canonical NaN, fmin and fmax,
saturating conversions, tininess after rounding); S. Boldo, G. Melquiond, Emulation of a FMA and correctly rounded sums:
proved algorithms using rounding to odd, IEEE Transactions on Computers, 2008; D. Knuth, The Art of Computer
Programming, volume 2, section 4.2.2, theorem B (the error-free sum).
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Naturals = npt.NDArray[np.uint64]


class Op(IntEnum):
    """Operations, numbered as in `gpu_fpu_pkg::op_e`."""

    FMADD = 0
    FMSUB = 1
    FNMSUB = 2
    FNMADD = 3
    FADD = 4
    FSUB = 5
    FMUL = 6
    FDIV = 7
    FSQRT = 8
    FSGNJ = 9
    FSGNJN = 10
    FSGNJX = 11
    FMIN = 12
    FMAX = 13
    FEQ = 14
    FLT = 15
    FLE = 16
    FCLASS = 17
    FCVT_W_S = 18
    FCVT_WU_S = 19
    FCVT_S_W = 20
    FCVT_S_WU = 21


class Rm(IntEnum):
    """Rounding modes in the encoding of `frm`."""

    RNE = 0
    RTZ = 1
    RDN = 2
    RUP = 3
    RMM = 4


NV, DZ, OF, UF, NX = 16, 8, 4, 2, 1
"""Bits of `fflags`."""

NAN = np.uint32(0x7FC00000)
INF = np.uint32(0x7F800000)
MAGNITUDE = np.uint32(0x7FFFFFFF)
SIGN = np.uint32(0x80000000)


class FloatAnswer(NamedTuple):
    """Results (32-bit patterns) and flags, one of each a case."""

    result: Words
    flags: Flags


def evaluate(op: Op, rm: Flags, a: Words, b: Words, c: Words) -> FloatAnswer:
    """Results and flags of one operation on arrays of operands.

    Args:
        op: The operation.
        rm: Rounding mode of every case (`Rm`).
        a: First operands, as bit patterns.
        b: Second operands; ignored by operations of one operand.
        c: Third operands; used by the fused operations.
    """
    with np.errstate(all="ignore"):
        if op <= Op.FMUL:
            return _fused(op, rm, a, b, c)
        if op in (Op.FCVT_W_S, Op.FCVT_WU_S):
            return _to_int(op == Op.FCVT_W_S, rm, a)
        if op in (Op.FCVT_S_W, Op.FCVT_S_WU):
            return _from_int(op == Op.FCVT_S_W, rm, a)
        if op == Op.FDIV:
            return _divide(rm, a, b)
        if op == Op.FSQRT:
            return _root(rm, a)
        return _bitwise(op, a, b)


def is_nan(x: Words) -> Bools:
    """Whether each pattern is a NaN."""
    nan: Bools = (x & MAGNITUDE) > INF
    return nan


def is_signalling(x: Words) -> Bools:
    """Whether each pattern is a NaN with its quiet bit clear."""
    loud: Bools = (x & np.uint32(0x400000)) == 0
    return is_nan(x) & loud


def _is_inf(x: Words) -> Bools:
    infinite: Bools = (x & MAGNITUDE) == INF
    return infinite


def _is_zero(x: Words) -> Bools:
    zero: Bools = (x & MAGNITUDE) == 0
    return zero


def _negative(x: Words) -> Bools:
    negative: Bools = x >= SIGN
    return negative


def _flag(condition: Bools, bit: int) -> Flags:
    return np.where(condition, np.uint8(bit), np.uint8(0))


def _signed(sign: Bools, magnitude: Words) -> Words:
    return np.where(sign, magnitude | SIGN, magnitude)


def _double(x: Words) -> npt.NDArray[np.float64]:
    return x.view(np.float32).astype(np.float64)


def _bit_length(x: Naturals) -> Ints:
    """Position of the highest bit plus one; 0 of 0. `x` is below 2**63."""
    length: Ints = np.frexp(x.astype(np.float64))[1].astype(np.int64)
    too_long = (length > 0) & ((x >> np.maximum(length - 1, 0).astype(np.uint64)) == 0)
    exact: Ints = length - too_long
    return exact


def _units(sign: Bools, sig: Naturals, drop: Ints, rest: Bools, rm: Flags) -> tuple[Naturals, Bools]:
    """`sig / 2**drop` rounded to an integer, and whether that is not exact; `rest` adds less than one to `sig`."""
    left = np.clip(-drop, 0, 63).astype(np.uint64)
    right = np.clip(drop, 0, 63).astype(np.uint64)
    quotient: Naturals = np.where(drop > 0, sig >> right, sig << left)
    remainder = np.where(drop > 0, sig - ((sig >> right) << right), np.uint64(0))
    half = np.where(drop > 0, np.uint64(1) << np.maximum(right, 1).astype(np.uint64) >> np.uint64(1), np.uint64(0))
    inexact: Bools = (remainder != 0) | rest
    tie = (remainder == half) & ~rest & (drop > 0)
    above = (drop > 0) & ((remainder > half) | ((remainder == half) & rest))
    odd = (quotient & np.uint64(1)) == 1
    up = np.select(
        [rm == Rm.RNE, rm == Rm.RMM, rm == Rm.RDN, rm == Rm.RUP],
        [above | (tie & odd), above | tie, inexact & sign, inexact & ~sign],
        default=False,
    )
    rounded: Naturals = quotient + up.astype(np.uint64)
    return rounded, inexact


def round_binary32(sign: Bools, sig: Naturals, exponent: Ints, rest: Bools, rm: Flags) -> FloatAnswer:
    """The binary32 nearest, by each case's rounding mode, to (sig + rest) * 2**exponent.

    Args:
        sign: Whether the value is negative.
        sig: Its integer significand, below 2**62; 26 bits or more where there is a rest.
        exponent: Its exponent.
        rest: Whether something more than 0 and less than 1 must be added to `sig`.
        rm: The rounding mode.
    """
    top = _bit_length(sig) - 1 + exponent
    quantum = np.maximum(top - 23, -149)
    units, inexact = _units(sign, sig, quantum - exponent, rest, rm)
    carried = units == np.uint64(1 << 24)
    units = np.where(carried, units >> np.uint64(1), units)
    field = quantum + carried + 150
    normal = units >= np.uint64(1 << 23)
    packed = np.where(normal, field * (1 << 23) + units.astype(np.int64) - (1 << 23), units.astype(np.int64))
    over = normal & (field > 254)
    unbounded, _ = _units(sign, sig, top - 23 - exponent, rest, rm)
    tiny = (top < -127) | ((top == -127) & (unbounded < np.uint64(1 << 24)))
    infinite = (rm == Rm.RNE) | (rm == Rm.RMM) | np.where(sign, rm == Rm.RDN, rm == Rm.RUP)
    packed = np.where(over, np.where(infinite, 0x7F800000, 0x7F7FFFFF), packed)
    packed = np.where(sig == 0, 0, packed)
    some = sig != 0
    flags = _flag(over, OF) | _flag(some & tiny & inexact, UF) | _flag(some & (over | inexact), NX)
    return FloatAnswer(_signed(sign, packed.astype(np.uint32)), flags)


def _sum_to_odd(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """x + y in binary64, rounded to odd."""
    total = x + y
    virtual = total - x
    error = (x - (total - virtual)) + (y - virtual)
    bits = total.view(np.int64)
    even = (bits & 1) == 0
    toward = np.where((error > 0) == (total > 0), 1, -1)
    odd: npt.NDArray[np.float64] = (bits + np.where((error != 0) & even, toward, 0)).view(np.float64)
    return odd


def _round_double(x: npt.NDArray[np.float64], zero_sign: Bools, rm: Flags) -> FloatAnswer:
    bits = x.view(np.uint64)
    field = ((bits >> np.uint64(52)) & np.uint64(0x7FF)).astype(np.int64)
    sig = (bits & np.uint64((1 << 52) - 1)) | np.uint64(1 << 52)
    sig = np.where(field == 0, np.uint64(0), sig)  # no sum of ours is a binary64 subnormal
    sign = np.where(sig == 0, zero_sign, bits >> np.uint64(63) != 0)
    return round_binary32(sign, sig, field - 1075, np.zeros(x.shape, bool), rm)


def _fused(op: Op, rm: Flags, a: Words, b: Words, c: Words) -> FloatAnswer:
    if op in (Op.FADD, Op.FSUB):
        b, c = np.full_like(a, 0x3F800000), b
    elif op == Op.FMUL:
        c = (a ^ b) & SIGN
    if op in (Op.FNMSUB, Op.FNMADD):
        a = a ^ SIGN
    if op in (Op.FSUB, Op.FMSUB, Op.FNMADD):
        c = c ^ SIGN
    negative = _negative(a ^ b)
    zero_sign = np.where(negative == _negative(c), negative, rm == Rm.RDN)
    finite = _round_double(_sum_to_odd(_double(a) * _double(b), _double(c)), zero_sign, rm)

    infinite = _is_inf(a) | _is_inf(b)
    none = infinite & (_is_zero(a) | _is_zero(b))
    nan = is_nan(a) | is_nan(b) | is_nan(c)
    clash = infinite & _is_inf(c) & (negative != _negative(c)) & ~nan
    signalling = is_signalling(a) | is_signalling(b) | is_signalling(c)
    plain = ~(nan | none | clash | infinite | _is_inf(c))
    result = np.select(
        [nan | none | clash, infinite, _is_inf(c)], [np.full_like(a, NAN), _signed(negative, np.full_like(a, INF)), c]
    )
    flags = _flag(none | clash | signalling, NV)
    return FloatAnswer(np.where(plain, finite.result, result), np.where(plain, finite.flags, flags))


def _normal(x: Words) -> tuple[Naturals, Ints]:
    """24-bit significand and exponent of its unit, of finite numbers other than zero."""
    field = ((x >> np.uint32(23)) & np.uint32(255)).astype(np.int64)
    sig = (x & np.uint32(0x7FFFFF)).astype(np.uint64) | np.where(field > 0, np.uint64(1 << 23), np.uint64(0))
    missing = 24 - _bit_length(sig)
    return sig << missing.astype(np.uint64), np.maximum(field, 1) - 150 - missing


def _divide(rm: Flags, a: Words, b: Words) -> FloatAnswer:
    negative = _negative(a ^ b)
    (m, e), (n, f) = _normal(a), _normal(b)
    n = np.maximum(n, np.uint64(1))
    quotient = (m << np.uint64(38)) // n
    rest = quotient * n != m << np.uint64(38)
    finite = round_binary32(negative, quotient, e - f - 38, rest, rm)

    none = (_is_inf(a) & _is_inf(b)) | (_is_zero(a) & _is_zero(b))
    nan = is_nan(a) | is_nan(b)
    special = [nan | none, _is_inf(a), _is_zero(b), _is_inf(b) | _is_zero(a)]
    infinity, zero = _signed(negative, np.full_like(a, INF)), _signed(negative, np.zeros_like(a))
    result = np.select(special, [np.full_like(a, NAN), infinity, infinity, zero], finite.result)
    invalid = _flag(is_signalling(a) | is_signalling(b) | none, NV)
    none_of = np.zeros_like(invalid)
    flags = np.select(special, [invalid, none_of, _flag(_is_zero(b), DZ), none_of], finite.flags)
    return FloatAnswer(result, flags)


def _root(rm: Flags, a: Words) -> FloatAnswer:
    m, e = _normal(a)
    odd = (e & 1) == 1
    radicand = np.where(odd, m << np.uint64(37), m << np.uint64(36))
    root = np.sqrt(radicand.astype(np.float64)).astype(np.uint64)
    root = np.where(root * root > radicand, root - np.uint64(1), root)
    root = np.where((root + np.uint64(1)) * (root + np.uint64(1)) <= radicand, root + np.uint64(1), root)
    half = (e - odd - 36) // 2
    finite = round_binary32(np.zeros(a.shape, bool), root, half, root * root != radicand, rm)

    wrong = _negative(a) & ~_is_zero(a) & ~is_nan(a)
    special = [is_nan(a) | wrong, _is_inf(a) | _is_zero(a)]
    result = np.select(special, [np.full_like(a, NAN), a], finite.result)
    invalid = _flag(is_signalling(a) | wrong, NV)
    return FloatAnswer(result, np.select(special, [invalid, np.zeros_like(invalid)], finite.flags))


def _to_int(signed: bool, rm: Flags, a: Words) -> FloatAnswer:
    low, high = (-(1 << 31), (1 << 31) - 1) if signed else (0, (1 << 32) - 1)
    field = ((a >> np.uint32(23)) & np.uint32(255)).astype(np.int64)
    sig = (a & np.uint32(0x7FFFFF)).astype(np.uint64) | np.where(field > 0, np.uint64(1 << 23), np.uint64(0))
    far = field >= 127 + 33
    exponent = np.where(far, 0, np.maximum(field, 1) - 150)
    units, inexact = _units(_negative(a), sig, -exponent, np.zeros(a.shape, bool), rm)
    value = np.where(_negative(a), -units.astype(np.int64), units.astype(np.int64))
    value = np.where(far, np.where(_negative(a) & ~is_nan(a), -(1 << 40), 1 << 40), value)
    invalid = (value < low) | (value > high)
    result = (np.clip(value, low, high) & 0xFFFFFFFF).astype(np.uint32)
    return FloatAnswer(result, np.where(invalid, np.uint8(NV), _flag(inexact, NX)))


def _from_int(signed: bool, rm: Flags, a: Words) -> FloatAnswer:
    value = a.view(np.int32).astype(np.int64) if signed else a.astype(np.int64)
    nothing = np.zeros(a.shape, bool)
    return round_binary32(value < 0, np.abs(value).astype(np.uint64), np.zeros_like(value), nothing, rm)


def _ordered(x: Words) -> Ints:
    """Keys in the order of the numbers; both zeros are 0."""
    magnitude = (x & MAGNITUDE).astype(np.int64)
    return np.where(_negative(x), -magnitude, magnitude)


def _bitwise(op: Op, a: Words, b: Words) -> FloatAnswer:
    nothing = np.zeros(a.shape, np.uint8)
    if op == Op.FSGNJ:
        return FloatAnswer((a & MAGNITUDE) | (b & SIGN), nothing)
    if op == Op.FSGNJN:
        return FloatAnswer((a & MAGNITUDE) | (~b & SIGN), nothing)
    if op == Op.FSGNJX:
        return FloatAnswer(a ^ (b & SIGN), nothing)
    if op == Op.FCLASS:
        return FloatAnswer(_classify(a), nothing)
    unordered = is_nan(a) | is_nan(b)
    quiet = _flag(is_signalling(a) | is_signalling(b), NV)
    x, y = _ordered(a), _ordered(b)
    if op in (Op.FMIN, Op.FMAX):
        first = np.where(x == y, _negative(a), x < y) ^ (op == Op.FMAX)
        choices = [np.full_like(a, NAN), b, a]
        return FloatAnswer(
            np.select([is_nan(a) & is_nan(b), is_nan(a), is_nan(b)], choices, np.where(first, a, b)), quiet
        )
    holds = {Op.FEQ: x == y, Op.FLT: x < y, Op.FLE: x <= y}[op]
    return FloatAnswer((holds & ~unordered).astype(np.uint32), quiet if op == Op.FEQ else _flag(unordered, NV))


def _classify(a: Words) -> Words:
    negative, tail = _negative(a), (a & np.uint32(0x7FFFFF)) != 0
    field = (a >> np.uint32(23)) & np.uint32(255)
    rank = np.select([field == 255, field > 0, tail], [0, 1, 2], 3)  # infinity, normal, subnormal, zero
    bit = np.where(negative, rank, 7 - rank)
    bit = np.where(is_nan(a), np.where(is_signalling(a), 8, 9), bit)
    return (1 << bit).astype(np.uint32)
