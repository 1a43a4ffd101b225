# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Find how memory's addresses fall into units (banks of all channels) and rows, from which pairs of addresses are slow.

Two addresses read in turn are slow where they lie in different rows of one unit: each read closes the other's row (Ref:
P. Pessl et al., DRAMA, USENIX Security 2016). The number of a unit is taken to be a linear function over GF(2) of the
address bits, so whether a pair is slow depends on the difference alone, and the differences that stay in one unit are a
subspace: its basis is found bit by bit. A row's columns are taken to be address bits, not sums of such.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random

from eddy.board.port.dram_map import UNIT_BITS, hash_masks, units
from eddy.board.port.profile import Dram

MAX_UNIT_BITS = 6
"""Bits of a unit's number that are looked for: 64 banks."""
FIRST_TRIES = 16 << MAX_UNIT_BITS
"""Differences tried for a first slow one: with as many units as are looked for, one in so many is slow."""

Slow = Callable[[int], bool]
"""Whether two addresses of this difference (exclusive or), read in turn, are slow."""


@dataclass(frozen=True)
class FoundMap:
    """What was found of a map, in the address bits that were looked at.

    Attributes:
        bits: Those, as a mask.
        unit_masks: For each bit of a unit's number, the address bits whose parity it is; which bit is which cannot be
            known, nor of which sums of them the controller speaks.
        columns: Address bits that tell words of one row apart.
    """

    bits: int
    unit_masks: tuple[int, ...]
    columns: int

    @property
    def row_bytes(self) -> int:
        """Length of a row's first stretch: up to the lowest bit that leads out of it."""
        out = self.bits & ~self.columns
        return out & -out

    def slow(self, difference: int) -> bool:
        """Whether the map says that two addresses of a difference are slow."""
        return bool(difference & self.bits & ~self.columns) and not any(
            (difference & mask).bit_count() & 1 for mask in self.unit_masks
        )

    @property
    def expressible(self) -> bool:
        """Whether a profile can say it: units follow the row's bytes, and only bits above both are added to them."""
        first, count = self.row_bytes, len(self.unit_masks)
        plain = all(mask & (first << count) - 1 == first << bit for bit, mask in enumerate(self.unit_masks))
        return plain and not self.columns & ~(first - 1) and count <= UNIT_BITS

    def agrees(self, other: FoundMap) -> bool:
        """Whether another map of the same bits calls the same pairs slow: its numbers of units may differ in name."""
        both = rank([*self.unit_masks, *other.unit_masks])
        return self.columns == other.columns and rank(self.unit_masks) == rank(other.unit_masks) == both


def rank(rows: Iterable[int]) -> int:
    """Rank over GF(2) of rows given as bits."""
    pivots: list[int] = []
    for row in rows:
        for pivot in pivots:
            row = min(row, row ^ pivot)
        if row:
            pivots.append(row)
    return len(pivots)


def profile_map(dram: Dram, bits: int) -> FoundMap:
    """What a profile says of the address bits that were looked at."""
    count = (units(dram) - 1).bit_length()
    masks = [(dram.row_bytes << bit | mask) & bits for bit, mask in zip(range(count), hash_masks(dram), strict=False)]
    return FoundMap(bits, tuple(masks), bits & (dram.row_bytes - 1))


def find_map(slow: Slow, bits: Sequence[int], random: Random) -> FoundMap | None:
    """Find a map by asking which differences are slow; None where none is, or too many bits tell units apart.

    Args:
        slow: Asked a few hundred times.
        bits: Numbers of the address bits to look at, lowest first.
        random: Chooses the first differences.
    """
    every = sum(1 << bit for bit in bits)
    tries = (random.getrandbits(64) & every for _ in range(FIRST_TRIES))
    known = next((each for each in tries if each and slow(each)), None)
    if known is None:
        return None

    def in_one_unit(difference: int) -> bool:
        # Of the two, one leaves the row: `known` does, so both stay in it for no difference.
        return slow(difference) or slow(difference ^ known)

    apart: list[int] = []
    sums: dict[int, tuple[int, ...]] = {}
    for bit in bits:
        subsets = (found for size in range(len(apart) + 1) for found in itertools.combinations(apart, size))
        equal = next((found for found in subsets if in_one_unit(1 << bit | sum(1 << each for each in found))), None)
        if equal is None:
            apart.append(bit)
            if len(apart) > MAX_UNIT_BITS:
                return None
        else:
            sums[bit] = equal
    masks = tuple(1 << one | sum(1 << bit for bit, found in sums.items() if one in found) for one in apart)
    columns = sum(1 << bit for bit, found in sums.items() if not found and not slow(1 << bit))
    return FoundMap(every, masks, columns)
