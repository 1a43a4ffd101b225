# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What an equilibrium promises its tenants, as numbers that a test or a tenant can compute ([000] 3.4.4 and 3.4.5)."""

from __future__ import annotations

import numpy as np

from eddy.market.problem import Array
from eddy.market.result import Equilibrium
from eddy.market.utility import marginal, utilities


def entitlements(eq: Equilibrium) -> Array:
    """Utility of every tenant, (n,), if every cluster were divided by weight."""
    market = eq.market
    return utilities(market, market.budgets[:, None] * market.capacity)


def sharing_incentive(eq: Equilibrium) -> Array:
    """Utility over that of the entitlement, (n,): 1 or more for every tenant of an equilibrium."""
    return np.asarray(eq.utilities / entitlements(eq))


def envy(eq: Equilibrium) -> Array:
    """What the best of the others' shares, scaled by weight, would be worth over what the own ones are, (n,).

    Infinite for a tenant whose own shares are worth nothing.

    1 or less for every tenant of an equilibrium: scaled by the ratio of weights, anybody's shares cost a tenant's own
    budget. Every pair of tenants is compared: n evaluations of (n, m).
    """
    market = eq.market
    per_weight = eq.shares / market.budgets[:, None]
    best = np.zeros(len(market.budgets))
    for other in per_weight:
        best = np.maximum(best, utilities(market, market.budgets[:, None] * other))
    own = np.where(eq.utilities > 0, eq.utilities, 1.0)
    return np.asarray(np.where(eq.utilities > 0, best / own, np.inf))


def pareto_efficiency(eq: Equilibrium) -> float:
    """A bound on how much better all tenants could be off at once: 0 when nobody can gain without another's loss.

    If money is worth m_i to tenant i, at most, then any other shares x' cost sum p x' >= sum over i of
    (u_i(x') - u_i(x)) / m_i more than these, because utility is concave; and they cost nothing more, because there is
    nothing more to give. So the sum of gains, in money, over all money, is at most what is returned, for any shares
    there are. It is computed from marginal utilities and shares alone, and is 0 (to rounding) exactly for an
    equilibrium.
    """
    market, prices = eq.market, eq.prices
    cost = np.where(prices > 0, prices, np.inf)
    less, more = marginal(market, eq.shares)
    best = (more / cost).max(axis=1, keepdims=True)
    unused = float(np.maximum(market.capacity - eq.shares.sum(axis=0), 0.0) @ prices)
    wasted = np.maximum(prices - less / best, 0.0) * eq.shares
    return float(wasted.sum() + unused) / float(market.capacity @ prices)
