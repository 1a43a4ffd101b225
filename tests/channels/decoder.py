# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a listener makes of the times at which its own accesses were answered.

The sender's message begins with a preamble that the listener knows. From it follow where symbols begin, which of both
kinds of symbol takes longer, and the threshold between them; nothing else of the message is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PREAMBLE = np.array([int(bit) for bit in "1110001010110100" * 3], np.uint8)
"""What the listener knows of every message; as many ones as zeros."""
LEAD = np.zeros(8, np.uint8)
"""Goes before it: the listener's first accesses find its caches empty."""
PHASES = 16
"""Places within a symbol at which one is tried to begin."""


@dataclass(frozen=True, slots=True)
class ListenerAccesses:
    """A listener's accesses, in order.

    Attributes:
        ended: Cycles in which they had ended; they increase.
        took: Cycles that each took.
    """

    ended: npt.NDArray[np.int64]
    took: npt.NDArray[np.int64]

    @classmethod
    def of_ends(cls, ended: npt.NDArray[np.int64]) -> ListenerAccesses:
        """Accesses each of which began where the one before had ended."""
        return cls(ended[1:], np.diff(ended))


@dataclass(frozen=True, slots=True)
class ReceivedPayload:
    """A payload as it was sent and as it was received.

    Attributes:
        symbol_cycles: Cycles of a symbol, which is a bit.
        bits: Bits of the payload.
        errors: Those of them that were received wrong.
        apart: Mean of the preamble's longer symbols less that of the shorter, in units of their spread.
    """

    symbol_cycles: int
    bits: int
    errors: int
    apart: float

    @property
    def error_rate(self) -> float:
        """The part of the bits that was wrong."""
        return self.errors / self.bits

    def rate_bits_per_s(self, clk_hz: float) -> float:
        """Bits a second as they are sent, right or wrong."""
        return clk_hz / self.symbol_cycles

    def capacity_bits_per_s(self, clk_hz: float) -> float:
        """Bits a second that a code can bring over without errors: capacity of a binary symmetric channel.

        Reference: C. E. Shannon, A Mathematical Theory of Communication, 1948.
        """
        return self.rate_bits_per_s(clk_hz) * (1 - entropy(self.error_rate))


def entropy(p: float) -> float:
    """Binary entropy, in bits."""
    return 0.0 if p in (0.0, 1.0) else -p * math.log2(p) - (1 - p) * math.log2(1 - p)


def message(payload_bits: int, seed: int) -> npt.NDArray[np.uint8]:
    """Lead, preamble, and so many random bits."""
    payload = np.random.default_rng(seed).integers(0, 2, payload_bits, dtype=np.uint8)
    return np.concatenate([LEAD, PREAMBLE, payload])


def levels(heard: ListenerAccesses, first_cycle: float, symbol_cycles: float, symbols: int) -> npt.NDArray[np.float64]:
    """How long accesses took on average in each symbol.

    Every cycle counts with the access that was the next to end; so one that reaches over several symbols counts in each
    of them, and a symbol without any has a level too.

    Args:
        heard: The listener's accesses.
        first_cycle: Where the first symbol begins.
        symbol_cycles: Cycles of one.
        symbols: How many.

    Returns:
        Cycles, by symbol.
    """
    knots = np.concatenate([[0], heard.ended])
    upto = np.concatenate([[0], np.cumsum(np.diff(knots) * heard.took)])
    edges = first_cycle + symbol_cycles * np.arange(symbols + 1)
    found: npt.NDArray[np.float64] = np.diff(np.interp(edges, knots, upto)) / symbol_cycles
    return found


def receive(
    heard: ListenerAccesses, sent: npt.NDArray[np.uint8], symbol_cycles: int, latest_cycle: int
) -> ReceivedPayload:
    """Decode a message, and compare it with what was sent.

    Args:
        heard: The listener's accesses.
        sent: The message; its preamble is used to decode, its payload only to compare.
        symbol_cycles: Cycles of a symbol.
        latest_cycle: Where the message begins at the latest.

    Returns:
        What became of the payload.
    """
    ones = PREAMBLE.astype(bool)
    known, payload = slice(LEAD.size, LEAD.size + ones.size), slice(LEAD.size + ones.size, None)
    apart, bits = -1.0, np.zeros(0, np.uint8)
    for phase in np.arange(0.0, latest_cycle, symbol_cycles / PHASES):
        found = levels(heard, float(phase), symbol_cycles, sent.size)
        one, zero = found[known][ones], found[known][~ones]
        between = abs(one.mean() - zero.mean()) / math.sqrt(one.var() + zero.var() + 1e-3)
        if between > apart:
            apart = between
            above = found[payload] > (one.mean() + zero.mean()) / 2
            bits = above == (one.mean() > zero.mean())
    return ReceivedPayload(symbol_cycles, bits.size, int((bits != sent[payload].astype(bool)).sum()), apart)
