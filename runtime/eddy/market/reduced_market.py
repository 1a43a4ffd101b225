# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Markets too large for `refine_exact`: the clusters that a tenant may buy from at all are few, and with the others
left out the path in 60 digits is short enough.

Double precision comes near enough to say which entries are likely to matter. The market of those alone is solved, its
prices tell which of the others some tenant would rather have, and it is solved again with these: as columns are
generated in linear programming. When nobody misses anything, the equilibrium is that of the whole market.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from eddy.market.exact import refine_exact
from eddy.market.problem import Array, Market, Mask
from eddy.market.result import complete_result
from eddy.market.utility import marginal

MAX_KEPT = 4_000
"""Entries up to which the path is followed."""
MAX_ELIMINATED = 200
"""Tenants or clusters, whichever are fewer: a step along the path eliminates as many unknowns."""
_LIKELY, _MISSED = 0.3, 0.9
"""Part of what a tenant's money is worth to it that its first PE of a cluster must be worth over its price: to be kept
at first, and to be taken up later."""
_SPENT = 1e-3, 1e-9
"""Part of its budget that a tenant spends where its money says what it is worth: nearly, and exactly."""
_BUYERS = 3
"""Tenants that are kept for every cluster: those that it is worth most to."""
_MAX_ROUNDS = 6
_EXACT, _SOLVED = 1e-11, 1e-9
"""Residual of a round after which its path is followed no further, and that the next round asks for."""


def narrow_prices(market: Market, prices: Array, shares: Array) -> Iterator[tuple[tuple[Array, Array], int]]:
    """Shares and prices, better ones each time but for chance, with the looks at demand they took.

    Args:
        market: Every cluster of it is wanted.
        prices: Near those of the market, (m,).
        shares: At these prices, (n, m).
    """
    if min(market.fraction.shape) > MAX_ELIMINATED:
        return
    wanted = market.throughput > 0
    kept = wanted & _likely(market, prices, shares)
    for _ in range(_MAX_ROUNDS):
        if kept.sum() > MAX_KEPT:
            return
        part = replace(market, throughput=np.where(kept, market.throughput, 0.0))
        least = np.inf
        for found in refine_exact(part):
            (those, at), looks = found
            residual = complete_result(part, at, those, looks).residual
            if residual < least:
                least, shares, prices = residual, those, at
            yield found
            if residual < _EXACT:
                break
        if least > _SOLVED:
            return
        spent = _bought_utility(market, prices, shares, _SPENT[1]).min(axis=1)
        missed = wanted & ~kept & (_initial_marginal(market) / prices > _MISSED * spent[:, None])
        if not missed.any():
            return
        kept |= missed


def _initial_marginal(market: Market) -> Array:
    """Marginal utility of nothing, (n, m)."""
    return market.throughput if market.utility == "deliverable" else market.throughput / market.fraction


def _bought_utility(market: Market, prices: Array, shares: Array, part: float) -> Array:
    """Utility that money spent buys, (n, m); infinite where a tenant spends less than a part of its budget."""
    less, _ = marginal(market, shares)
    return np.asarray(np.where(shares * prices > part * market.budgets[:, None], less / prices, np.inf))


def _likely(market: Market, prices: Array, shares: Array) -> Mask:
    """What is bought, or worth nearly what is, and for every cluster those tenants that it is worth most to."""
    worth = _bought_utility(market, prices, shares, _SPENT[0])
    bought = np.isfinite(worth)
    over = _initial_marginal(market) / prices
    # Who spends nothing yet is kept wherever it is not much worse off than at its best.
    best = np.where(bought.any(axis=1), np.where(bought, worth, 0.0).max(axis=1), over.max(axis=1))
    relative = over / best[:, None]
    found = bought | (relative > _LIKELY)
    buyers = np.argsort(-relative, axis=0)[:_BUYERS]
    found[buyers, np.arange(len(prices))] = True
    found[np.arange(len(over)), over.argmax(axis=1)] = True
    return np.asarray(found)
