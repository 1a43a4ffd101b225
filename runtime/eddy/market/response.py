# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Proportional response, [000] 3.4.1: bids follow what they bought, prices follow bids.

The bid factor is sqrt(F p / f) s(x), the root ending before s: only then do fixed points satisfy (3.6). (The summary in
3.4.1 has it so; Definition 3.4.1 draws the root over s as well, and with it bids settle where they are not optimal.)
With s from (3.2) it is sqrt(F f p) x / (x (1 - F) + F), which is b sqrt(u'(x) / p): bids grow where money is worth
more than on average. In this form it serves any concave utility, and clusters a tenant has no use for (f = 0).
"""

from __future__ import annotations

import numpy as np

from eddy.market.problem import Array, Market
from eddy.market.result import Equilibrium, History, certify, complete_result

MAX_ROUNDS = 1_000_000
_LOOK_EVERY = 16
"""Rounds between looks at the certificate, which costs as much as a round or two."""


class _Amdahl:
    """Rounds for (3.2), in place: five passes over the bids and two products."""

    def __init__(self, market: Market) -> None:
        self.serial = 1 - market.fraction
        self.fraction = market.fraction
        self.root = np.sqrt(market.fraction * market.throughput)
        self.budgets = market.budgets
        self.work = np.empty_like(self.root)
        self.other = np.empty_like(self.root)

    def __call__(self, bids: Array, prices: Array) -> None:
        """Replace bids by the answer to what they bought at these prices."""
        work, other, root_price = self.work, self.other, np.sqrt(prices)
        np.multiply(bids, self.serial, out=work)
        np.multiply(self.fraction, prices, out=other)
        work += other
        np.multiply(bids, self.root, out=other)
        np.divide(other, work, out=bids)
        scale = self.budgets / (bids @ root_price)
        bids *= scale[:, None]
        bids *= root_price


class _Deliverable:
    """Rounds for the deliverable utility. A bid that would carry a share across one PE stops there unless the lesser
    slope beyond carries it on, so that bids settle at the kink instead of jumping over it."""

    def __init__(self, market: Market) -> None:
        self.market = market
        self.level = np.ones(len(market.budgets))

    def __call__(self, bids: Array, prices: Array) -> None:
        """Replace bids by the answer to what they bought at these prices."""
        market = self.market
        shares = bids / prices
        divisor = np.maximum(shares, 1.0) * (1 - market.fraction) + market.fraction
        curved = shares * np.sqrt(market.throughput * market.fraction / prices) / divisor
        linear = shares * np.sqrt(market.throughput / prices)
        one = 1 / self.level[:, None]
        factor = np.where(
            shares < 1, np.minimum(linear, np.maximum(one, curved)), np.maximum(curved, np.minimum(one, linear))
        )
        factor *= prices
        self.level = market.budgets / factor.sum(axis=1)
        np.multiply(factor, self.level[:, None], out=bids)


def run_proportional_response(
    market: Market,
    tol: float,
    start: Array | None = None,
    epsilon: float | None = None,
    most_rounds: int = MAX_ROUNDS,
    keep: bool = False,
) -> Equilibrium:
    """Rounds of bids until the certificate's residual is at most `tol`.

    Args:
        market: Every cluster of it is wanted by somebody.
        tol: Residual to stop at.
        start: Prices to begin at instead of equal ones; first bids are spread by them.
        epsilon: If given, stop when no price changed by more than this instead ([000]'s criterion).
        most_rounds: Give up after so many, with the residual reached.
        keep: Keep the history of prices.
    """
    answer = _Deliverable(market) if market.utility == "deliverable" else _Amdahl(market)
    value = market.capacity * (start if start is not None else 1 / market.capacity)
    wanted = (market.throughput > 0) * value
    bids = wanted * (market.budgets / wanted.sum(axis=1))[:, None]
    history: list[Array] = []
    changes: list[float] = []
    prices = bids.sum(axis=0) / market.capacity
    rounds = 0
    while rounds < most_rounds:
        answer(bids, prices)
        before, prices = prices, bids.sum(axis=0) / market.capacity
        rounds += 1
        change = float(np.abs(prices - before).max())
        if keep:
            history.append(prices)
            changes.append(change)
        if epsilon is not None:
            if change < epsilon:
                break
        elif rounds % _LOOK_EVERY == 0 and certify(market, prices, bids / prices, bids).residual <= tol:
            break
    kept = History(np.array(history), np.array(changes)) if keep else None
    return complete_result(market, prices, bids / prices, rounds, kept)
