"""The equilibrium where double precision does not reach it: a path from a smoothed market to this one, in 60 digits.

In a smoothed market (`SmoothedDemand`) demand is a smooth function of prices. From a market that is very smooth, whose
prices Newton steps find, a path of equilibria leads to the market asked for as epsilon goes to 0. It may turn back
on its way: with the deliverable utility a tenant that holds one PE of a cluster whatever it costs demands less of the
others where this becomes dearer, so that demand does not obey the law of demand. So the path is followed by its own
length, in log prices and log epsilon (Allgower and Georg, *Numerical Continuation Methods*, 1990, chapters 2 and 6),
and not by epsilon. Digits are what budgets twelve orders of magnitude apart need; they are the stdlib's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Context, Decimal, DecimalException, localcontext

import numpy as np

from eddy.market.problem import Array, Market
from eddy.market.smoothed import HALF, ONE, ZERO, Look, Row, SmoothedDemand

MOST_ENTRIES = 1_000
"""Tenants times clusters up to which the path is followed: this many take some ten seconds."""
_DIGITS = 60
_ENDS = tuple(Decimal(end).ln() for end in ("1e-12", "1e-16", "1e-20"))
"""Log epsilon where the answer may be good enough, tried in turn."""
_MOST_LOOKS = 800
_NEAR, _SPENT, _POLISHED = Decimal("1e-3"), Decimal("1e-14"), Decimal("1e-19")
_SHORTEST, _LONGEST = Decimal("1e-12"), Decimal(4)
_FIRST_STEPS, _TURNS, _POLISHES = 200, 6, 30
_MOST_RISE = Decimal(3)
"""Most by which a log price changes in a step at the beginning."""


def exact(market: Market) -> Iterator[tuple[tuple[Array, Array], int]]:
    """Shares and prices, better ones each time, with the looks at demand they took; none where the path was lost.

    Args:
        market: Every cluster of it is wanted; of at most `MOST_ENTRIES`.
    """
    try:
        with _digits():
            path = _Path(market)
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
    """A place on the path: log prices and log epsilon, the look at demand there, and the way it goes on."""

    def __init__(self, market: Market) -> None:
        self.demand = SmoothedDemand(market)
        self.m = len(market.capacity)
        self.shape = market.fraction.shape
        self.place: Row = [price.ln() for price in self.demand.even_prices()] + [ZERO]
        self.look = self._look(self.place)
        self.tangent: Row = [ZERO] * self.m + [-ONE]
        self.length = HALF
        self._begin()

    def _look(self, place: Row, spent: Decimal = _SPENT) -> Look:
        return self.demand.at([each.exp() for each in place[: self.m]], place[self.m].exp(), spent)

    def _moved(self, place: Row, look: Look, move: Row) -> Row:
        """Another place, and every tenant's w as it answers to the way there."""
        for i, (answer, drifts) in enumerate(look.answers):
            grows = sum((by * move[c] for c, by in answer), drifts * move[self.m])
            self.demand.worths[i] *= max(min(grows, _LONGEST), -_LONGEST).exp()
        return [a + b for a, b in zip(place, move, strict=True)]

    def _begin(self) -> None:
        """Clear the smoothest market: Newton steps on log demand, shortened until they help."""
        for _ in range(_FIRST_STEPS):
            logs = [(each + 1).ln() for each in self.look.excess]
            off = max(map(abs, logs))
            if off < _NEAR / 1000:
                return
            slopes = [
                [x / (1 + z) for x in row[: self.m]] for row, z in zip(self.look.slopes, self.look.excess, strict=True)
            ]
            move = solved(slopes, [-each for each in logs])
            part, worths = min(ONE, _MOST_RISE / max(map(abs, move))), self.demand.worths[:]
            while part > _SHORTEST:
                self.demand.worths = worths[:]
                place = self._moved(self.place, self.look, [part * each for each in move] + [ZERO])
                look = self._look(place)
                if max(abs((each + 1).ln()) for each in look.excess) < off * (1 - part / 10):
                    break
                part *= HALF
            self.place, self.look = place, look

    def reach(self, end: Decimal) -> tuple[Array, Array] | None:
        """Shares and prices where log epsilon is at most `end`; None where the path is lost."""
        while self.place[self.m] > end:
            if self.demand.looks > _MOST_LOOKS or not self._step():
                return None
        self._polish()
        shares = np.zeros(self.shape)
        for i, bought in enumerate(self.look.shares):
            for c, x in bought:
                shares[i, c] = float(x)
        return shares, np.array([float(each.exp()) for each in self.place[: self.m]])

    def _step(self) -> bool:
        """One step along the path, as long as it can be; False where none can be made."""
        border = [*self.look.slopes, self.tangent]
        tangent = solved(border, [ZERO] * self.m + [ONE])
        long = sum((each * each for each in tangent), ZERO).sqrt()
        tangent, worths = [each / long for each in tangent], self.demand.worths[:]
        while self.length > _SHORTEST:
            self.demand.worths = worths[:]
            found = self._corrected(tangent)
            if found is not None:
                self.place, self.look, turns = found
                self.tangent = tangent
                if turns <= 2:
                    self.length = min(2 * self.length, _LONGEST)
                return True
            self.length /= 4
        return False

    def _corrected(self, tangent: Row) -> tuple[Row, Look, int] | None:
        """The place a step ahead, brought back to the path; None where that leads astray."""
        ahead = [self.length * each for each in tangent]
        falls = ahead[self.m]
        if -1 < falls / self.length < Decimal("-0.9"):
            # Near the end prices go straight with epsilon, and not with its logarithm.
            ahead = [each * (falls.exp() - 1) / falls for each in ahead[: self.m]] + [falls]
        place, before = self._moved(self.place, self.look, ahead), None
        for turns in range(_TURNS):
            look = self._look(place)
            # What is left may be small and yet far from the path, where budgets are far apart: the way back says so.
            back = solved([*look.slopes, tangent], [-each for each in look.excess] + [ZERO])
            far = max(map(abs, back))
            if look.off < min(_NEAR, self.length / 100) and far < _NEAR * self.length:
                return place, look, turns
            if far > 2 * self.length or (before is not None and turns > 2 and look.off > before * HALF):
                return None
            before = look.off
            place = self._moved(place, look, back)
        return None

    def _polish(self) -> None:
        """Newton steps at this epsilon, shortened until they help, until the clusters clear."""
        self.look = self._look(self.place, _POLISHED)
        for _ in range(_POLISHES):
            if self.look.off < _POLISHED * 100:
                return
            move = solved([row[: self.m] for row in self.look.slopes], [-each for each in self.look.excess])
            part, worths = ONE, self.demand.worths[:]
            while part > _NEAR:
                self.demand.worths = worths[:]
                place = self._moved(self.place, self.look, [*(part * each for each in move), ZERO])
                look = self._look(place, _POLISHED)
                if look.off < self.look.off * (1 - part / 10):
                    break
                part *= HALF
            else:
                return
            self.place, self.look = place, look


def solved(matrix: list[Row], right: Row) -> Row:
    """x with matrix x = right, by elimination with row pivots."""
    n = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda r: abs(rows[r][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        first = rows[k]
        for row in rows[k + 1 :]:
            part = row[k] / first[k]
            if part:
                for c in range(k + 1, n + 1):
                    row[c] -= part * first[c]
    found = [ZERO] * n
    for k in reversed(range(n)):
        known = sum((rows[k][c] * found[c] for c in range(k + 1, n)), ZERO)
        found[k] = (rows[k][n] - known) / rows[k][k]
    return found
