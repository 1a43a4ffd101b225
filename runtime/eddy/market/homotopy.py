"""Prices of a market of unequal clusters, by way of markets whose clusters are more alike.

Newton steps from equal prices may lead nowhere where capacities are orders of magnitude apart: a price that is a little
off sends to the largest cluster all that everybody has, or nothing. With capacities raised to a power from 0 to 1 there
is a path of markets from one of equal clusters to the one that is asked for. Prices are unique on all of it where every
F is below 1, and change with the power without a jump, so each market's are near the last one's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from eddy.market.problem import Array, Market

Near = Callable[[Market, Array], "Array | None"]
"""Prices of a market, nearly, from prices to begin with; None where the steps lead nowhere."""
_FIRST, _GROWS, _SHRINKS = 0.5, 1.5, 0.5
"""Length of the first step of the power, and what a step that led somewhere, or nowhere, makes of the next."""
_MOST_MARKETS = 40


def approach_prices(market: Market, near: Near) -> Array | None:
    """Prices near those of the market, (m,); None where the path was lost.

    Args:
        market: Every F below 1, `utility` "amdahl", every cluster wanted.
        near: Solves each market on the way, from the last one's prices.
    """
    even = _between(market, 0.0)
    prices = near(even, np.full(len(even.capacity), 1 / even.capacity.sum()))
    power, length = 0.0, _FIRST
    for _ in range(_MOST_MARKETS):
        if prices is None or power == 1:
            return prices
        after = min(1.0, power + length)
        there = _between(market, after)
        found = near(there, prices / float(prices @ there.capacity))
        if found is None:
            length *= _SHRINKS
            continue
        power, prices, length = after, found, length * _GROWS
    return None


def _between(market: Market, power: float) -> Market:
    """The market with capacities, over their geometric mean, raised to a power."""
    middle = np.exp(np.log(market.capacity).mean())
    return replace(market, capacity=middle * (market.capacity / middle) ** power)
