"""What is given where no equilibrium was found: clusters given away once, and nobody below its entitlement."""

from __future__ import annotations

import numpy as np

from eddy.market.fairness import sharing_incentive
from eddy.market.result import Equilibrium, complete_result

EXACT = 1e-9
"""How exactly clusters must be given away, and entitlements kept."""


def safe_equilibrium(found: Equilibrium) -> Equilibrium:
    """The answer if it keeps what an equilibrium promises; else its shares made to sum to capacity, if nobody then is
    below its entitlement; else everybody's entitlement at the same prices, which cost exactly the budgets."""
    if _kept(found):
        return found
    market, prices = found.market, found.prices
    if not (np.isfinite(prices).all() and (prices > 0).all()):
        prices = 1 / (market.capacity * len(market.capacity))
    given = np.nan_to_num(found.shares, nan=0.0, posinf=0.0, neginf=0.0).clip(0.0)
    total = given.sum(axis=0)
    scaled = given * np.divide(market.capacity, total, out=np.zeros_like(total), where=total > 0)
    prices = prices / float(prices @ market.capacity)
    nearest = complete_result(market, prices, scaled, found.iterations)
    if _kept(nearest):
        return nearest
    return complete_result(market, prices, market.budgets[:, None] * market.capacity, found.iterations)


def _kept(found: Equilibrium) -> bool:
    """Whether shares sum to capacity and nobody is below its entitlement."""
    off = np.abs(found.shares.sum(axis=0) / found.market.capacity - 1)
    good = np.isfinite(found.residual) and (found.shares >= 0).all() and (off < EXACT).all()
    return bool(good and (sharing_incentive(found) >= 1 - EXACT).all())
