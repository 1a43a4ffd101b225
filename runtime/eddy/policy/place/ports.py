# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is left of a network port's rate over time, and sending through two ports at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf, nextafter

EXACT = 3e-7
"""Sums of bits that differ by no more than this share are equal."""

Segment = tuple[float, float, float]
"""From, to, bits per second."""


@dataclass(slots=True)
class NetworkPort:
    """The rate still free on one port: constant between breakpoints, the last piece without end.

    Attributes:
        at: Breakpoints, rising, from 0.
        free: Bits per second free from each breakpoint to the next.
    """

    at: list[float] = field(default_factory=lambda: [0.0])
    free: list[float] = field(default_factory=lambda: [0.0])

    def take(self, begin: float, end: float, bps: float) -> None:
        """Use `bps` of the port from `begin` to `end`; what rounding leaves below zero is zero."""
        first, last = self._cut(begin), self._cut(end)
        for k in range(first, last):
            self.free[k] = max(self.free[k] - bps, 0.0)

    def close(self, when: float) -> None:
        """From `when` on nothing is free."""
        k = self._cut(when)
        del self.at[k + 1 :], self.free[k + 1 :]
        self.free[k] = 0.0

    def _cut(self, when: float) -> int:
        """Index of the piece that begins at `when`, splitting one if need be."""
        k = bisect_right(self.at, when) - 1
        if self.at[k] == when:
            return k
        self.at.insert(k + 1, when)
        self.free.insert(k + 1, self.free[k])
        return k + 1


def port(bps: float) -> NetworkPort:
    """A port of which nothing is used."""
    return NetworkPort([0.0], [float(bps)])


def common_free(one: NetworkPort, other: NetworkPort, begin: float) -> Iterator[Segment]:
    """What both ports have free from `begin` on, piece by piece; the last piece ends at infinity."""
    a, b = bisect_right(one.at, begin) - 1, bisect_right(other.at, begin) - 1
    now = begin
    while True:
        next_a = one.at[a + 1] if a + 1 < len(one.at) else inf
        next_b = other.at[b + 1] if b + 1 < len(other.at) else inf
        end = min(next_a, next_b)
        yield now, end, min(one.free[a], other.free[b])
        if end == inf:
            return
        now = end
        a += next_a == end
        b += next_b == end


def send_earliest(one: NetworkPort, other: NetworkPort, bits: float, begin: float) -> tuple[float, list[Segment]]:
    """Water filling ([002] Algorithm 4, line 9): send at all that is free, from `begin` until all bits are sent.

    Returns:
        When the last bit is sent, and what is used. Infinity where what is free never suffices.
    """
    used: list[Segment] = []
    left = bits
    now = begin
    if left <= 0:
        return begin, used
    for now, end, bps in common_free(one, other, begin):
        if bps <= 0:
            continue
        if bps * (end - now) >= left or end - now == inf:
            done = now + left / bps
            # A residue too small to advance the clock is rounding, unless it is all there is.
            if done > now:
                used.append((now, done, bps))
            elif not used:
                done = nextafter(now, inf)
                used.append((now, done, left / (done - now)))
            return done, used
        used.append((now, end, bps))
        left -= bps * (end - now)
    return inf, used


def send_evenly(one: NetworkPort, other: NetworkPort, bits: float, deadline: float) -> list[Segment] | None:
    """Send from 0 to `deadline` at one share of what is free throughout ([002] Algorithm 4, lines 5 to 7), or None."""
    pieces = []
    room = 0.0
    for begin, end, bps in common_free(one, other, 0.0):
        if begin >= deadline:
            break
        end = min(end, deadline)
        if bps > 0 and end > begin:
            pieces.append((begin, end, bps))
            room += bps * (end - begin)
    if room < bits:
        return None
    share = bits / room if room else 0.0
    return [(begin, end, bps * share) for begin, end, bps in pieces]


def round_bits(segments: list[Segment], bits: float) -> list[Segment]:
    """The same segments, so that their bits sum to `bits` although late and short times are rounded.

    The widest segment is made longer by what is missing, then all rates are lowered to fit: none is raised.
    """
    sent = sum((end - begin) * bps for begin, end, bps in segments)
    if not segments or abs(sent - bits) <= EXACT * bits:
        return segments
    widest = max(range(len(segments)), key=lambda k: segments[k][2])
    begin, end, bps = segments[widest]
    others = sent - (end - begin) * bps
    while others + (end - begin) * bps < bits:
        end = nextafter(max(end, begin + (bits - others) / bps), inf)
    share = bits / (others + (end - begin) * bps)
    made = [*segments[:widest], (begin, end, bps), *segments[widest + 1 :]]
    return [(a, b, r * share) for a, b, r in made]


def take_segments(one: NetworkPort, other: NetworkPort, segments: list[Segment]) -> None:
    """Take the segments from both ports."""
    for begin, end, bps in segments:
        one.take(begin, end, bps)
        other.take(begin, end, bps)
