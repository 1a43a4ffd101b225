# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is found: an equilibrium, with the certificate that it is one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from eddy.market import compiled
from eddy.market.problem import Array, Market
from eddy.market.utility import KINK, marginal, utilities


@dataclass(frozen=True)
class Certificate:
    """How far a result is from an equilibrium; all relative, all 0 for an exact one.

    Attributes:
        optimality: The largest, over tenants and clusters, of the lesser of two numbers: how much less utility the
            tenant's money buys on this cluster than it could on the best one for it, and the part of its budget spent
            here. Where nothing is spent it is 0, where something is spent the money must be worth what it is elsewhere.
        clearing: The largest difference of what is given from what there is, over the latter, on any cluster.
        budget: The largest difference of what a tenant spends from what it has, over the latter.
    """

    optimality: float
    clearing: float
    budget: float

    @property
    def residual(self) -> float:
        """The largest of the three; infinite where anything is not a number."""
        parts = self.optimality, self.clearing, self.budget
        return max(parts) if all(map(math.isfinite, parts)) else math.inf


@dataclass(frozen=True)
class History:
    """How proportional response came to its prices: one row an iteration.

    Attributes:
        prices: (iterations, m), with sum(capacity * prices) == 1.
        epsilon: (iterations,), the largest change of a price since the row before.
    """

    prices: Array
    epsilon: Array


@dataclass(frozen=True)
class Equilibrium:
    """Prices, and what every tenant gets at them.

    Attributes:
        prices: (m,), per PE; sum(capacity * prices) == 1. Zero for a cluster that nobody wants.
        shares: (n, m), in PEs; columns sum to capacity.
        utilities: (n,), model utility of the shares.
        iterations: Evaluations of every tenant's demand at some prices (newton), or rounds of bids.
        certificate: How exact all this is; `residual` is its largest part.
        market: What was asked.
        history: Prices by iteration, where they were asked for.
        kept: What is known of demand near these prices, for `start`; nobody else need read it.
    """

    prices: Array
    shares: Array
    utilities: Array
    iterations: int
    certificate: Certificate
    market: Market
    history: History | None = None
    kept: Array | compiled.WarmStart | None = field(default=None, repr=False)

    @property
    def bids(self) -> Array:
        """Shares times prices, (n, m), multiplied when asked for; rows sum to the tenant's part of all weights."""
        return self.shares * self.prices

    @property
    def residual(self) -> float:
        """Largest relative violation of the conditions of an equilibrium."""
        return self.certificate.residual


def certify(market: Market, prices: Array, shares: Array, bids: Array) -> Certificate:
    """Check a result from nothing but its numbers; works for any prices and shares, wherever they come from."""
    priced = prices > 0
    cost = prices if priced.all() else np.where(priced, prices, np.inf)
    less, more = marginal(market, shares)
    best = (more / cost).max(axis=1, keepdims=True)
    gap = 1 - less / (cost * best)
    budgets = market.budgets
    optimality = float(np.minimum(gap, bids / budgets[:, None]).max())
    clearing = float(np.abs(shares.sum(axis=0) / market.capacity - 1).max())
    budget = float(np.abs(bids.sum(axis=1) / budgets - 1).max())
    return Certificate(max(0.0, optimality) if optimality == optimality else math.nan, clearing, budget)


def complete_result(
    market: Market,
    prices: Array,
    shares: Array,
    iterations: int,
    history: History | None = None,
    kept: Array | compiled.WarmStart | None = None,
) -> Equilibrium:
    """The result with everything that follows from prices and shares."""
    if compiled.LIBRARY is not None:
        worth, parts = compiled.settle(
            *(market.fraction, market.throughput, market.budgets, market.capacity, prices),
            *(np.ascontiguousarray(shares), market.utility == "deliverable", KINK),
        )
        # The comparisons of the compiled kernel pass over what is not a number. Every share, of nothing too, is in its
        # tenant's utility, which is none if one of them is none.
        good = bool(np.isfinite(prices).all() and np.isfinite(worth).all())
        certificate = Certificate(*parts) if good else Certificate(math.nan, math.nan, math.nan)
    else:
        worth = utilities(market, shares)
        certificate = certify(market, prices, shares, shares * prices)
    return Equilibrium(prices, shares, worth, iterations, certificate, market, history, kept)
