# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What shares are worth: (3.2) and (3.3) of [000], and what slices of time can deliver of it below one PE."""

from __future__ import annotations

import numpy as np

from eddy.market.problem import Array, Market

KINK = 1e-9
"""How near to one PE, relatively, a share counts as one PE, where the deliverable utility has two slopes."""


def by_cluster(market: Market, shares: Array) -> Array:
    """Utility of every tenant on every cluster, (n, m), as multiples of f_base's throughput.

    (3.2) is f x / (x (1 - F) + F). Below one PE no schedule gives that: in a fraction x of the time a tenant does a
    fraction x of what one PE does, so the deliverable utility is f x there.
    """
    divisor = shares * (1 - market.fraction) + market.fraction
    if market.utility == "deliverable":
        divisor = np.maximum(divisor, 1.0)
    return np.asarray(market.throughput * shares / divisor)


def utilities(market: Market, shares: Array) -> Array:
    """Utility of every tenant, (n,): the sum over clusters (3.3)."""
    return np.asarray(by_cluster(market, shares).sum(axis=1))


def sliced_utility(market: Market, shares: Array) -> Array:
    """What floor(x) or ceil(x) PEs in time deliver, (n,): straight between (3.2) at whole numbers of PEs.

    Below one PE this is the deliverable utility, above it a little less: (3.2) is concave.
    """
    whole, serial = np.floor(shares), 1 - market.fraction
    before = whole * serial + market.fraction
    one_more = market.fraction / (before * (before + serial))
    return np.asarray((market.throughput * (whole / before + (shares - whole) * one_more)).sum(axis=1))


def marginal(market: Market, shares: Array) -> tuple[Array, Array]:
    """Utility lost by one PE less and won by one PE more, per PE, each (n, m): they differ at a kink only."""
    divisor = shares * (1 - market.fraction) + market.fraction
    curved = market.throughput * market.fraction / (divisor * divisor)
    if market.utility == "amdahl":
        return curved, curved
    less = np.where(shares <= 1 + KINK, market.throughput, curved)
    more = np.where(shares < 1 - KINK, market.throughput, curved)
    return less, more
