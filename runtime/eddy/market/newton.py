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

from eddy.market.problem import Array, Market

MOST_STEPS = 60
_LONGEST = 1.5
"""Bound of a step of a log root price."""


class Demand:
    """Every tenant's demand at prices, with what of it is known from the last prices kept."""

    def __init__(self, market: Market) -> None:
        serial = 1 - market.fraction
        with np.errstate(divide="ignore"):
            self.threshold = np.sqrt(market.fraction / market.throughput)
        wanted = market.throughput > 0
        self.offset = np.where(wanted, market.fraction / serial, 0.0)
        self.rise = np.where(wanted, self.threshold, 0.0)
        np.divide(self.offset, self.threshold, out=self.rise)
        self.budgets = market.budgets
        self.capacity = market.capacity
        self.t = (self.budgets + self.offset @ (1 / self.capacity)) / (self.rise @ np.sqrt(1 / self.capacity))
        self.rise_on = self.rise
        self.offset_on = self.offset
        self.passes = 0

    def at(self, q: Array) -> Array:
        """PEs demanded of every cluster, (m,), at root prices q."""
        threshold = self.threshold * q
        price = q * q
        before = None
        for _ in range(50):
            on = self.t[:, None] > threshold
            if before is not None and (on == before).all():
                break
            self.rise_on = self.rise * on
            self.offset_on = self.offset * on
            self.slope = self.rise_on @ q
            if not self.slope.all():
                self.t = np.where(self.slope > 0, self.t, 2 * threshold.min(axis=1))
                continue
            self.t = (self.budgets + self.offset_on @ price) / self.slope
            before = on
            self.passes += 1
        self.pull = (self.t @ self.rise_on) / q
        self.offset_sum = self.offset_on.sum(axis=0)
        return np.asarray(self.pull - self.offset_sum)

    def slopes(self, q: Array) -> Array:
        """Derivative of demand by log root prices, (m, m), where `at` was asked last."""
        tenant = self.offset_on * (2 * q)
        tenant -= self.rise_on * self.t[:, None]
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


def newton(market: Market, q: Array, tol: float, slopes: Array | None = None) -> tuple[Array, Array, int, Array] | None:
    """Prices, shares, evaluations of demand and slopes of log demand; None where Newton steps lead nowhere.

    Args:
        market: Every F below 1, `utility` "amdahl", every cluster wanted.
        q: Root prices to begin at.
        tol: Largest relative difference of demand from capacity to end with.
        slopes: Slopes of log demand by log root prices near the equilibrium, if known.
    """
    demand, capacity = Demand(market), market.capacity
    for _ in range(MOST_STEPS):
        wished = demand.at(q)
        off = float(np.abs(wished / capacity - 1).max())
        if not np.isfinite(off):
            return None
        if off <= tol:
            return q * q, _exact_shares(market, demand, q), demand.passes, demand.slopes(q)
        level = np.maximum(wished, 0.02 * capacity)
        try:
            step = np.linalg.solve(demand.slopes(q) / level[:, None], np.log(capacity / level))
        except np.linalg.LinAlgError:
            return None
        q = q * np.exp(step * min(1.0, _LONGEST / max(float(np.abs(step).max()), _LONGEST)))
    return None
