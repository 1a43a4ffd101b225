# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The equilibrium of tenants whose utility is curved everywhere, by Newton steps on log prices.

With q = sqrt(p) and t = 1 / sqrt(marginal utility of money), a tenant's best share of a cluster is

    x = max(0, A t / q - D),    A = sqrt(f F) / (1 - F),    D = F / (1 - F),

zero up to t = sqrt(F / f) q. Its spending is piecewise linear in t, so t follows from the clusters it spends on; those
follow from t. Demand of all tenants is smooth in q as long as nobody takes up or leaves a cluster, and its derivative
is a diagonal less a product of two (n, m) matrices. The demand of one tenant obeys the law of demand, because the
curvature -x u'' / u' of (3.2) is below 2, and 4 would do (Mitjuschin and Polterovich, 1978). Laws of demand add up,
so that prices are unique and the derivative is never singular, although demand is not a gross substitute where x > F
/ (1 - F).
"""

from __future__ import annotations

import numpy as np

from eddy.market.problem import Array, Market, Mask

MAX_STEPS = 60
_ENOUGH = 0.35
"""A step after which more than this part of the excess is left asks for new slopes."""
_LONGEST = 1.5
"""Bound of a step of a log root price."""


class Demand:
    """Every tenant's demand at prices, with what of it is known from the last prices kept."""

    def __init__(self, market: Market, q: Array) -> None:
        serial = 1 - market.fraction
        with np.errstate(divide="ignore"):
            self.threshold = np.sqrt(market.fraction / market.throughput)
        wanted = market.throughput > 0
        self.offset = np.where(wanted, market.fraction / serial, 0.0)
        self.rise = np.where(wanted, self.threshold, 0.0)
        np.divide(self.offset, self.threshold, out=self.rise)
        self.budgets = market.budgets
        self.capacity = market.capacity
        self.t = 1.1 * (self.threshold * q).min(axis=1)
        self.scratch = np.empty_like(self.rise)
        self.rise_on = np.empty_like(self.rise)
        self.offset_on = np.empty_like(self.rise)
        self.on: Mask | None = None
        self.passes = 0
        self.ones = np.ones(len(market.budgets))

    def at(self, q: Array) -> Array:
        """PEs demanded of every cluster, (m,), at root prices q."""
        threshold = np.multiply(self.threshold, q, out=self.scratch)
        price = q * q
        ends = False
        for _ in range(50):
            on = self.t[:, None] > threshold
            if self.on is not None and np.array_equal(on, self.on):
                if ends:
                    break
            else:
                np.multiply(self.rise, on, out=self.rise_on)
                np.multiply(self.offset, on, out=self.offset_on)
                self.on = on
                self.passes += 1
            self.slope = self.rise_on @ q
            if not self.slope.all():
                self.t = np.where(self.slope > 0, self.t, 2 * threshold.min(axis=1))
                continue
            self.t = (self.budgets + self.offset_on @ price) / self.slope
            ends = True
        self.pull = (self.t @ self.rise_on) / q
        return np.asarray(self.pull - self.ones @ self.offset_on)

    def slopes(self, q: Array) -> Array:
        """Derivative of demand by log root prices, (m, m), where `at` was asked last."""
        tenant = np.multiply(self.offset_on, 2 * q)
        tenant -= np.multiply(self.rise_on, self.t[:, None], out=self.scratch)
        tenant /= self.slope[:, None]
        found = (self.rise_on.T @ tenant) / q[:, None] * q
        found.flat[:: len(q) + 1] -= self.pull
        return np.asarray(found)


def _exact_shares(market: Market, demand: Demand, q: Array) -> Array:
    """Shares at root prices q, accurate relative to themselves, however small a tenant's budget is.

    t is counted from the lowest threshold of each tenant, so that nothing large is subtracted from something large.
    """
    threshold = demand.threshold * q
    lowest = threshold.min(axis=1, keepdims=True)
    above = np.where(demand.rise_on > 0, threshold - lowest, 0.0)
    value = demand.rise_on * q
    level = (market.budgets + (value * above).sum(axis=1)) / value.sum(axis=1)
    return np.asarray(np.maximum(demand.rise_on / q * (level[:, None] - above), 0.0))


def newton(
    market: Market, q: Array, tol: float, inverse: Array | None = None
) -> tuple[Array, Array, int, Array] | None:
    """Root prices, shares, passes over demand and the inverse slopes there; None where the steps lead nowhere.

    Slopes cost more than demand, so an inverse is kept, corrected by what each step showed (Broyden's update), and
    computed again only when a step took off less than `_ENOUGH` asks.

    Args:
        market: Every F below 1, `utility` "amdahl", every cluster wanted.
        q: Root prices to begin at.
        tol: Largest relative difference of demand from capacity to end with.
        inverse: Inverse of the slopes of log demand by log root prices near the equilibrium, if known.
    """
    demand, capacity = Demand(market, q), market.capacity
    before, step, shown = np.inf, None, None
    for _ in range(MAX_STEPS):
        wished = demand.at(q)
        off = float(np.abs(wished / capacity - 1).max())
        if not off < np.inf:
            return None
        if off <= tol:
            return q, _exact_shares(market, demand, q), demand.passes, np.eye(len(q)) if inverse is None else inverse
        level = np.maximum(wished, 0.02 * capacity)
        excess = np.log(level / capacity)
        if inverse is None or off > _ENOUGH * before or off > 1:
            try:
                inverse = np.linalg.inv(demand.slopes(q) / level[:, None])
            except np.linalg.LinAlgError:
                return None
        elif step is not None and shown is not None:
            inverse = _updated(inverse, step, excess - shown)
        step = -(inverse @ excess)
        step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), _LONGEST))
        q, before, shown = q * np.exp(step), off, excess
    return None


def _updated(inverse: Array, step: Array, change: Array) -> Array:
    """The inverse that would have foreseen the change of excess this step made, and is else as before."""
    foreseen = inverse @ change
    divisor = float(step @ foreseen)
    if divisor == 0:
        return inverse
    return np.asarray(inverse + np.outer((step - foreseen) / divisor, step @ inverse))


def sample(market: Market) -> Market | None:
    """A smaller market whose prices are near: every few tenants, the heaviest all, weights made up for the others.

    None where it would not be much smaller, or would want less than all clusters.
    """
    n, m = market.fraction.shape
    every = n // (2 * m)
    if every < 3:
        return None
    heavy = market.budgets * n > 4
    chosen = heavy.copy()
    chosen[::every] = True
    part = market.throughput[chosen]
    if chosen.sum() * 2 > n or not part.any(axis=0).all():
        return None
    light = chosen & ~heavy
    budgets = market.budgets.copy()
    budgets[light] *= market.budgets[~heavy].sum() / market.budgets[light].sum()
    return Market(market.fraction[chosen], part, budgets[chosen], market.capacity, market.utility)
