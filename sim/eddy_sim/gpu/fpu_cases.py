# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Operands that find mistakes: every combination of special values, and random ones drawn to the edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from eddy_sim.gpu.softfloat import Flags, Ints, Op, Rm, Words

Operands = tuple[Words, Words, Words]

_MAGNITUDES = (
    *(0x00000000, 0x00000001, 0x00000002, 0x00000003, 0x003FFFFF, 0x00400000, 0x007FFFFE, 0x007FFFFF),  # subnormal
    *(0x00800000, 0x00800001, 0x00FFFFFF, 0x01000000),  # smallest normal numbers
    *(0x3EFFFFFF, 0x3F000000, 0x3F000001, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3FC00000, 0x40000000),  # around 1
    *(0x33800000, 0x33800001, 0x34000000, 0x4B000000, 0x4B800000),  # 2**-24, 2**-23, 2**23, 2**24
    *(0x4EFFFFFF, 0x4F000000, 0x4F7FFFFF, 0x4F800000),  # around 2**31 and 2**32
    *(0x7E800000, 0x7F000000, 0x7F7FFFFE, 0x7F7FFFFF, 0x7F800000),  # the largest, infinity
    *(0x7F800001, 0x7FBFFFFF, 0x7FC00000, 0x7FFFFFFF),  # NaNs: two signalling, two quiet
)
SPECIALS: Words = np.array([sign | m for m in _MAGNITUDES for sign in (0, 0x80000000)], np.uint32)
INTEGERS: Words = np.array(
    sorted({(s * ((1 << k) + d)) & 0xFFFFFFFF for k in range(33) for d in (-2, -1, 0, 1, 2) for s in (1, -1)}),
    np.uint32,
)
THREE_OPERANDS = (Op.FMADD, Op.FMSUB, Op.FNMSUB, Op.FNMADD)
ONE_OPERAND = (Op.FSQRT, Op.FCLASS, Op.FCVT_W_S, Op.FCVT_WU_S, Op.FCVT_S_W, Op.FCVT_S_WU)
FROM_INTEGER = (Op.FCVT_S_W, Op.FCVT_S_WU)


def operand_count(op: Op) -> int:
    """How many operands an operation reads."""
    return 3 if op in THREE_OPERANDS else 1 if op in ONE_OPERAND else 2


def special_cases(op: Op, thin: int = 1) -> tuple[Flags, Operands]:
    """Every tuple of special values in every rounding mode; of each `thin` one, where that is more than 1."""
    values = np.concatenate([SPECIALS, INTEGERS]) if op in FROM_INTEGER else SPECIALS
    count = operand_count(op)
    grids = np.meshgrid(*[values] * count, np.arange(len(Rm), dtype=np.uint8), indexing="ij")
    flat = [grid.ravel()[::thin] for grid in grids]
    none = np.zeros_like(flat[0])
    a, b, c = (*flat[:count], none, none)[:3]
    return flat[-1].astype(np.uint8), (a, b, c)


def random_cases(op: Op, count: int, seed: int) -> tuple[Flags, Operands]:
    """`count` random cases, in equal parts from each way of drawing them that suits the operation."""
    rng = np.random.default_rng([int(op), seed])
    ways = list(_ways(op))
    parts = [way(rng, -(-count // len(ways))) for way in ways]
    a, b, c = (np.concatenate([part[i] for part in parts])[:count] for i in range(3))
    return rng.integers(0, len(Rm), count).astype(np.uint8), (a, b, c)


Way = Callable[[np.random.Generator, int], Operands]


def _ways(op: Op) -> Iterator[Way]:
    yield _uniform
    yield _patterned
    yield _mixed
    if op in FROM_INTEGER:
        yield _integers
    elif op in (Op.FCVT_W_S, Op.FCVT_WU_S):
        yield _near_integers
        yield _near_integers
    elif op in THREE_OPERANDS:
        yield from (_close, _cancelling, _halfway_sum, _tiny_product, _huge_product)
    elif op in (Op.FADD, Op.FSUB):
        yield from (_close_pair, _distant_pair, _tiny_pair)
    elif op in (Op.FMUL, Op.FDIV):
        yield from (_tiny_product, _huge_product, _short, _exact_quotient, _tiny_quotient)
    elif op == Op.FSQRT:
        yield from (_squares, _short)
    else:
        yield from (_neighbours, _neighbours)


def _words(rng: np.random.Generator, n: int) -> Words:
    return rng.integers(0, 1 << 32, n, dtype=np.uint32)


def _pack(sign: Words, field: Ints, fraction: Words) -> Words:
    return (sign << np.uint32(31)) | (field.astype(np.uint32) << np.uint32(23)) | fraction


def _signs(rng: np.random.Generator, n: int) -> Words:
    return rng.integers(0, 2, n, dtype=np.uint32)


def _fractions(rng: np.random.Generator, n: int) -> Words:
    """Random; or runs of ones and zeros with a few bits turned, where carries and ties live."""
    run = (np.uint32(1) << rng.integers(0, 24, n, dtype=np.uint32)) - np.uint32(1)
    run = np.where(rng.integers(0, 2, n) == 1, run, ~run)
    run = run ^ (np.uint32(1) << rng.integers(0, 24, n, dtype=np.uint32)) * rng.integers(0, 2, n, dtype=np.uint32)
    kind = rng.integers(0, 3, n)
    return np.where(kind == 0, _words(rng, n), run) & np.uint32(0x7FFFFF)


def _with_field(rng: np.random.Generator, low: int, high: int, n: int) -> Words:
    return _pack(_signs(rng, n), rng.integers(low, high, n), _fractions(rng, n))


def _uniform(rng: np.random.Generator, n: int) -> Operands:
    return _words(rng, n), _words(rng, n), _words(rng, n)


def _patterned(rng: np.random.Generator, n: int) -> Operands:
    return _with_field(rng, 0, 256, n), _with_field(rng, 0, 256, n), _with_field(rng, 0, 256, n)


def _mixed(rng: np.random.Generator, n: int) -> Operands:
    """Special values beside random ones."""

    def one() -> Words:
        return np.where(rng.integers(0, 2, n) == 1, rng.choice(SPECIALS, n), _with_field(rng, 0, 256, n))

    return one(), one(), one()


def _integers(rng: np.random.Generator, n: int) -> Operands:
    """Integers of every length, and halfway between floats."""
    length = rng.integers(0, 33, n)
    value = _words(rng, n).astype(np.uint64) >> (32 - length).astype(np.uint64)
    tie = (_words(rng, n) | np.uint32(0x80)) & np.uint32(0xFFFFFF80)
    value = np.where(rng.integers(0, 3, n) == 0, tie.astype(np.uint64), value)
    value = np.where(rng.integers(0, 2, n) == 0, value, (np.uint64(1) << np.uint64(32)) - value)
    a = value.astype(np.uint32)
    return a, a, a


def _near_integers(rng: np.random.Generator, n: int) -> Operands:
    """Floats from a fraction of one to beyond 2**32, halves among them."""
    a = _with_field(rng, 120, 162, n)
    half = (rng.integers(-(1 << 23), 1 << 23, n) / 2).astype(np.float32).view(np.uint32)
    a = np.where(rng.integers(0, 3, n) == 0, half, a)
    return a, a, a


def _product_fields(rng: np.random.Generator, low: int, high: int, n: int) -> tuple[Ints, Ints]:
    """Exponent fields of factors whose product's lies in [low, high)."""
    product_field = rng.integers(low, high, n)
    first = rng.integers(np.clip(product_field - 127, 0, 254), np.clip(product_field + 127, 0, 254) + 1)
    return first, np.clip(product_field + 127 - first, 0, 254)


def _product_near(rng: np.random.Generator, low: int, high: int, n: int) -> tuple[Words, Words]:
    first, second = _product_fields(rng, low, high, n)
    return _pack(_signs(rng, n), first, _fractions(rng, n)), _pack(_signs(rng, n), second, _fractions(rng, n))


def _tiny_product(rng: np.random.Generator, n: int) -> Operands:
    a, b = _product_near(rng, -26, 3, n)
    c = np.where(rng.integers(0, 2, n) == 1, _with_field(rng, 0, 4, n), _words(rng, n) & np.uint32(0x80000003))
    return a, b, c


def _huge_product(rng: np.random.Generator, n: int) -> Operands:
    a, b = _product_near(rng, 251, 258, n)
    return a, b, _with_field(rng, 225, 255, n)


def _close(rng: np.random.Generator, n: int) -> Operands:
    """The addend from far above to far below the product."""
    first, second = _product_fields(rng, 1, 254, n)
    third = np.clip(first + second - 127 + rng.integers(-52, 53, n), 0, 254)
    a, b = _pack(_signs(rng, n), first, _fractions(rng, n)), _pack(_signs(rng, n), second, _fractions(rng, n))
    return a, b, _pack(_signs(rng, n), third, _fractions(rng, n))


def _nudged(rng: np.random.Generator, x: Words, by: int) -> Words:
    return (x.astype(np.int64) + rng.integers(-by, by + 1, len(x))).astype(np.uint32)


def _cancelling(rng: np.random.Generator, n: int) -> Operands:
    """The addend a few units in the last place from the product, of either sign."""
    a, b = _product_near(rng, -20, 253, n)
    with np.errstate(all="ignore"):
        c = (a.view(np.float32) * b.view(np.float32)).view(np.uint32)
    return a, b, _nudged(rng, c, 2) ^ (_signs(rng, n) << np.uint32(31))


def _halfway_sum(rng: np.random.Generator, n: int) -> Operands:
    """A product of few bits, half a unit in the last place of the addend or close to it."""
    c = _with_field(rng, 0, 254, n)
    field = np.maximum((c >> np.uint32(23)) & np.uint32(255), 1).astype(np.int64)
    first, _ = _product_fields(rng, 60, 200, n)
    second = np.clip(field - 24 + rng.integers(-1, 2, n) - first + 127, 0, 254)
    few = rng.integers(0, 3, n, dtype=np.uint32)
    return _pack(_signs(rng, n), first, few), _pack(_signs(rng, n), second, few * rng.integers(0, 2, n, np.uint32)), c


def _close_pair(rng: np.random.Generator, n: int) -> Operands:
    a = _with_field(rng, 0, 255, n)
    b = _nudged(rng, a, 3) ^ (_signs(rng, n) << np.uint32(31))
    return a, b, b


def _distant_pair(rng: np.random.Generator, n: int) -> Operands:
    first = rng.integers(0, 255, n)
    second = np.clip(first + rng.integers(-28, 29, n), 0, 254)
    b = _pack(_signs(rng, n), second, _fractions(rng, n))
    return _pack(_signs(rng, n), first, _fractions(rng, n)), b, b


def _tiny_pair(rng: np.random.Generator, n: int) -> Operands:
    b = _with_field(rng, 0, 3, n)
    return _with_field(rng, 0, 3, n), b, b


def _short(rng: np.random.Generator, n: int) -> Operands:
    """Significands of few bits: exact results and ties."""
    keep = np.uint32(0xFFFFF800)
    a, b = _with_field(rng, 1, 255, n) & keep, _with_field(rng, 64, 190, n) & keep
    return a, b, b


def _exact_quotient(rng: np.random.Generator, n: int) -> Operands:
    """A dividend that is a product, or next to one."""
    b, q = _with_field(rng, 80, 170, n), _with_field(rng, 80, 170, n)
    q = np.where(rng.integers(0, 2, n) == 1, q & np.uint32(0xFFFFF000), q)
    b = np.where(rng.integers(0, 2, n) == 1, b & np.uint32(0xFFFFF000), b)
    a = _nudged(rng, (b.view(np.float32) * q.view(np.float32)).view(np.uint32), 1)
    return a, b, b


def _tiny_quotient(rng: np.random.Generator, n: int) -> Operands:
    a = _with_field(rng, 0, 40, n)
    field = np.clip(((a >> np.uint32(23)) & np.uint32(255)).astype(np.int64) + rng.integers(120, 152, n), 0, 254)
    b = _pack(_signs(rng, n), field, _fractions(rng, n))
    return a, b, b


def _squares(rng: np.random.Generator, n: int) -> Operands:
    """Squares, and their neighbours."""
    root = _with_field(rng, 64, 190, n) & np.uint32(0x7FFFFFFF)
    root = np.where(rng.integers(0, 2, n) == 1, root & np.uint32(0xFFFFF000), root)
    a = _nudged(rng, (root.view(np.float32) * root.view(np.float32)).view(np.uint32), 1)
    return a, a, a


def _neighbours(rng: np.random.Generator, n: int) -> Operands:
    """Equal numbers, opposites and neighbours."""
    a = np.where(rng.integers(0, 3, n) == 0, rng.choice(SPECIALS, n), _words(rng, n))
    b = _nudged(rng, a, 1) ^ (_signs(rng, n) << np.uint32(31))
    return a, b, b
