# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The equilibrium where double precision does not reach it: a path from a smoothed market to this one, in 60 digits.

In a smoothed market (`SmoothedDemand`) demand is a smooth function of prices. From a market that is very smooth, whose
prices Newton steps find, a path of equilibria leads to the market asked for as epsilon goes to 0. It may turn back
on its way: with the deliverable utility a tenant that holds one PE of a cluster whatever it costs demands less of the
others where this becomes dearer, so that demand does not obey the law of demand. So the path is followed by its own
length, in log prices, log epsilon and every tenant's log w (Allgower and Georg, *Numerical Continuation Methods*, 1990,
chapters 2 and 6), and not by epsilon. Digits are what budgets twelve orders of magnitude apart need; they are the
stdlib's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Context, Decimal, DecimalException, localcontext

import numpy as np

from eddy.market.newton_steps import solve_moves
from eddy.market.problem import Array, Market
from eddy.market.smoothed import HALF, ONE, ZERO, DemandSample, Row, SmoothedDemand

MAX_ENTRIES = 1_000
"""Tenants times clusters up to which the path is followed: this many take some ten seconds."""
_DIGITS = 60
_ENDS = tuple(Decimal(end).ln() for end in ("1e-12", "1e-16", "1e-20"))
"""Log epsilon where the answer may be good enough, tried in turn."""
_MAX_LOOKS, _MORE_LOOKS = 800, 40_000
"""Looks at demand at most: so many, and the second over the market's entries, which make each look slow."""
_NEAR, _SPENT, _POLISHED = Decimal("1e-3"), Decimal("1e-14"), Decimal("1e-19")
_SHORTEST, _LONGEST = Decimal("1e-12"), Decimal(4)
_FIRST_STEPS, _TURNS, _POLISHES = 200, 7, 30
_ON = Decimal("1e-7"), Decimal("1e-3")
"""How near to the path a place is on it, tried in turn. What is off may not show in demand where this is flat, and once
epsilon is less it is too late to go back: demand is then steps. Where slopes are next to singular nothing is that near.
"""
_MAX_RISE = Decimal(3)
"""Most by which a log price changes in a step at the beginning."""


def refine_exact(market: Market) -> Iterator[tuple[tuple[Array, Array], int]]:
    """Shares and prices, better ones each time, with the looks at demand they took; none where the path was lost.

    Args:
        market: Every cluster of it is wanted; of at most `MAX_ENTRIES`.
    """
    for on in _ON:
        yield from _ends_of(market, on)


def _ends_of(market: Market, on: Decimal) -> Iterator[tuple[tuple[Array, Array], int]]:
    """The same along one path, followed this nearly."""
    try:
        with _digits():
            path = _Path(market, on)
        for end in _ENDS:
            with _digits():
                found = path.reach(end)
            if found is None:
                return
            yield found, path.demand.looks
    except (DecimalException, ZeroDivisionError, OverflowError):
        return


@contextmanager
def _digits() -> Iterator[Context]:
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = _DIGITS, -(10**8), 10**8
        yield context


class _Path:
    """A place on the path: log prices, log epsilon and log w of all tenants, the look at demand there, and the way on.

    That every w suits prices is a condition like that clusters clear, and not solved for at each look: where a tenant
    holds about one PE of all it wants, it spends what prices say, whatever its w. Prices just off the path would move
    its w without bound, and steps could be no longer than epsilon.
    """

    def __init__(self, market: Market, on: Decimal) -> None:
        self.demand, self.on = SmoothedDemand(market), on
        self.n, self.m = self.shape = market.fraction.shape
        prices, worths = self.demand.even()
        self.place: Row = self._suited([each.ln() for each in [*prices, ONE, *worths]])
        self.look = self._look(self.place)
        self.tangent: Row = [ZERO] * self.m + [-ONE] + [ZERO] * self.n
        self.length = HALF
        self._begin()

    def _look(self, place: Row) -> DemandSample:
        prices, epsilon, worths = self._parts(place)
        return self.demand.at(prices, worths, epsilon)

    def _parts(self, place: Row) -> tuple[Row, Decimal, Row]:
        """Prices, epsilon and w."""
        every = [each.exp() for each in place]
        return every[: self.m], every[self.m], every[self.m + 1 :]

    def _suited(self, place: Row) -> Row:
        """The place with every w such that budgets are spent."""
        prices, epsilon, worths = self._parts(place)
        suit = [self.demand.worth(i, w, prices, epsilon, _SPENT).ln() for i, w in enumerate(worths)]
        return [*place[: self.m + 1], *suit]

    def _begin(self) -> None:
        """Clear the smoothest market: Newton steps on log demand, shortened until they help."""
        for _ in range(_FIRST_STEPS):
            logs = [(each + 1).ln() for each in self.look.excess]
            off = max(map(abs, logs))
            if off < _NEAR / 1000:
                return
            right = [-log * (1 + z) for log, z in zip(logs, self.look.excess, strict=True)]
            move = solve_moves(self.look, right)
            part = min(ONE, _MAX_RISE / max(map(abs, move[: self.m])))
            while part > _SHORTEST:
                bounded = [max(min(part * each, _LONGEST), -_LONGEST) for each in move]
                place = self._suited([a + b for a, b in zip(self.place, bounded, strict=True)])
                look = self._look(place)
                if max(abs((each + 1).ln()) for each in look.excess) < off * (1 - part / 10):
                    break
                part *= HALF
            self.place, self.look = place, look

    def reach(self, end: Decimal) -> tuple[Array, Array] | None:
        """Shares and prices where log epsilon is at most `end`; None where the path is lost."""
        most = _MAX_LOOKS + _MORE_LOOKS // (self.n * self.m)
        while self.place[self.m] > end:
            if self.demand.looks > most or not self._step():
                return None
        self._polish()
        shares = np.zeros(self.shape)
        for i, bought in enumerate(self.look.bought):
            for each in bought:
                shares[i, each.cluster] = float(each.pes)
        return shares, np.array([float(each.exp()) for each in self.place[: self.m]])

    def _step(self) -> bool:
        """One step along the path, as long as it can be; False where none can be made."""
        tangent = solve_moves(self.look, [ZERO] * self.m, along=(self.tangent, ONE))
        long = sum((each * each for each in tangent), ZERO).sqrt()
        tangent = [each / long for each in tangent]
        while self.length > _SHORTEST:
            found = self._corrected(tangent)
            if found is not None:
                self.place, self.look, turns = found
                self.tangent = tangent
                if turns <= 2:
                    self.length = min(2 * self.length, _LONGEST)
                return True
            self.length /= 4
        return False

    def _corrected(self, tangent: Row) -> tuple[Row, DemandSample, int] | None:
        """The place a step ahead, brought back to the path; None where that leads astray."""
        ahead = [self.length * each for each in tangent]
        falls = ahead[self.m]
        if -1 < falls / self.length < Decimal("-0.9"):
            # Near the end all goes straight with epsilon, and not with its logarithm.
            part = (falls.exp() - 1) / falls
            ahead = [falls if at == self.m else each * part for at, each in enumerate(ahead)]
        place, before = [a + b for a, b in zip(self.place, ahead, strict=True)], None
        for turns in range(_TURNS):
            look = self._look(place)
            # What is left may be small and yet far from the path, where budgets are far apart: the way back says so.
            back = solve_moves(look, [-each for each in look.excess], True, (tangent, ZERO))
            far = max(map(abs, back))
            if look.worst_excess < min(self.on, self.length / 100) and far < self.on * self.length:
                return place, look, turns
            if far > 2 * self.length or (before is not None and turns > 2 and look.worst_excess > before * HALF):
                return None
            before = look.worst_excess
            place = [a + b for a, b in zip(place, back, strict=True)]
        return None

    def _polish(self) -> None:
        """Newton steps at this epsilon, shortened until they help, until the clusters clear."""
        for _ in range(_POLISHES):
            if self.look.worst_excess < _POLISHED * 100:
                return
            whole = solve_moves(self.look, [-each for each in self.look.excess], True)
            part = ONE
            while part > _NEAR:
                place = [a + part * b for a, b in zip(self.place, whole, strict=True)]
                look = self._look(place)
                if look.worst_excess < self.look.worst_excess * (1 - part / 10):
                    break
                part *= HALF
            else:
                return
            self.place, self.look = place, look
