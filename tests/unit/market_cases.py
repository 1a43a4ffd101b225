# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Markets to try, and two judges of the answers that share nothing with `eddy.market`: loops and 40 digits."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

mpmath: Any = importlib.import_module("mpmath")
Array = npt.NDArray[np.float64]
Rows = list[tuple[Any, Any, Any]]


@dataclass(frozen=True)
class Case:
    fraction: Array
    throughput: Array
    weights: Array
    capacity: Array
    utility: str = "amdahl"

    @property
    def arguments(self) -> tuple[Array, Array, Array, Array, str]:
        return self.fraction, self.throughput, self.weights, self.capacity, self.utility


KINDS = ("plain", "far apart", "picky", "parallel", "half parallel", "ties", "nearly parallel", "crowded", "one wish")


def case(kind: str, n: int, m: int, seed: int, utility: str) -> Case:
    """A random market; `kind` says what is hard about it."""
    rng = np.random.default_rng([seed, n, m, KINDS.index(kind)])
    fraction = rng.uniform(0.5, 0.999, (n, m))
    speed = rng.uniform(0.2, 2, (n, m))
    weights = rng.uniform(1, 5, n)
    capacity = rng.integers(2, 17, m).astype(float)
    if kind == "far apart":
        fraction = rng.uniform(0.01, 0.9999, (n, m))
        speed = np.exp(rng.normal(0, 2, (n, m)))
        weights = 10 ** rng.uniform(-4, 4, n)
    elif kind == "picky":
        speed[rng.random((n, m)) < 0.7] = 0
        speed[np.arange(n), rng.integers(0, m, n)] = 1
    elif kind == "parallel":
        fraction[:] = 1
    elif kind == "half parallel":
        fraction[rng.random((n, m)) < 0.5] = 1
    elif kind == "ties":
        fraction[:] = np.where(rng.random((n, m)) < 0.5, 1, 0.9)
        speed, weights = np.round(speed * 2) / 2 + 0.5, np.ones(n)
    elif kind == "nearly parallel":
        fraction = 1 - 10 ** rng.uniform(-14, -2, (n, m))
    elif kind == "crowded":
        capacity = np.ones(m)
    elif kind == "one wish":
        speed[1:] = 0
        speed[1:, 0] = 1
    return Case(fraction, speed, weights, capacity, utility)


def slopes(x: float, f: float, big_f: float, utility: str) -> tuple[float, float]:
    """Marginal utility to the left and to the right of x."""
    curved = f * big_f / (x * (1 - big_f) + big_f) ** 2
    if utility == "amdahl":
        return curved, curved
    left = f if x <= 1 + 1e-9 else curved
    right = f if x < 1 - 1e-9 else curved
    return left, right


def worst_violation(case: Case, prices: Array, shares: Array) -> float:
    """Largest relative violation, entry by entry: what is bought must be worth its price."""
    n, m = shares.shape
    budget = case.weights / case.weights.sum()
    worst = float(np.abs(shares.sum(axis=0) / case.capacity - 1).max())
    for i in range(n):
        each = [slopes(shares[i, c], case.throughput[i, c], case.fraction[i, c], case.utility) for c in range(m)]
        best = max(each[c][1] / prices[c] for c in range(m) if prices[c] > 0)
        for c in range(m):
            if prices[c] > 0 and shares[i, c] > 1e-9 * case.capacity[c] * budget[i]:
                worst = max(worst, 1 - each[c][0] / prices[c] / best)
        worst = max(worst, abs(sum(prices[c] * shares[i, c] for c in range(m)) / budget[i] - 1))
    return worst


def _wish(level: Any, price: Any, f: float, big_f: float, utility: str) -> Any:
    """The share at which one more PE is worth `level` times its price, for F < 1; by definition, not by formula."""
    if f == 0:
        return mpmath.mpf(0)
    f, big_f = mpmath.mpf(f), mpmath.mpf(big_f)
    start = mpmath.mpf(0 if utility == "amdahl" else 1)
    if utility == "deliverable" and f < level * price:
        return mpmath.mpf(0)
    if f * big_f / (start * (1 - big_f) + big_f) ** 2 < level * price:
        return start
    return (mpmath.sqrt(f * big_f / (level * price)) - big_f) / (1 - big_f)


def _bisect(falls: object, low: Any, high: Any, steps: int) -> Any:
    """Where a falling function of a positive number crosses 0."""
    assert callable(falls)
    for _ in range(steps):
        middle = mpmath.sqrt(low * high)
        low, high = (middle, high) if falls(middle) > 0 else (low, middle)
    return low


def two_cluster_prices(case: Case) -> Array:
    """Prices of a market of two clusters by nested bisection, in 40 digits; utilities curved everywhere."""
    with mpmath.workdps(40):
        total = mpmath.mpf(0)
        for weight in case.weights:
            total += mpmath.mpf(float(weight))
        p_one, p_two = (mpmath.mpf(float(value)) for value in case.capacity)

        def excess(first: Any) -> Any:
            second = (1 - p_one * first) / p_two
            demand = mpmath.mpf(0)
            for i, weight in enumerate(case.weights):
                rows = list(zip((first, second), case.throughput[i], case.fraction[i], strict=True))

                def over(level: Any, rows: Rows = rows, weight: float = weight) -> Any:
                    spent = sum(p * _wish(level, p, f, big_f, case.utility) for p, f, big_f in rows)
                    return spent - mpmath.mpf(float(weight)) / total

                level = _bisect(over, mpmath.mpf("1e-12"), mpmath.mpf("1e12"), 80)
                demand += _wish(level, first, rows[0][1], rows[0][2], case.utility)
            return demand - p_one

        found = _bisect(excess, mpmath.mpf("1e-9") / p_one, (1 - mpmath.mpf("1e-9")) / p_one, 45)
        return np.array([float(found), float((1 - p_one * found) / p_two)])


def demanded(case: Case, prices: Array) -> Array:
    """PEs of every cluster demanded at these prices by tenants whose F is below 1, (m,): by sorted breakpoints.

    A tenant's spending at a worth of money t^2 is the sum over its clusters, taken up in the order of their thresholds;
    the running sums give it at every threshold, and the right stretch gives t.
    """
    fraction, speed = case.fraction, np.where(case.throughput > 0, case.throughput, 1e-300)
    budgets = (case.weights / case.weights.sum())[:, None]
    breaks = np.sqrt(prices * fraction / speed)
    order = np.argsort(breaks, axis=1)
    rise = np.sqrt(prices * fraction * speed) / (1 - fraction)
    lowest = breaks.min(axis=1, keepdims=True)
    rises = np.cumsum(np.take_along_axis(rise, order, 1), axis=1)
    costs = np.cumsum(np.take_along_axis(rise * (breaks - lowest), order, 1), axis=1)
    level = (budgets + costs) / rises
    inside = level > np.take_along_axis(breaks - lowest, order, 1)
    count = inside.sum(axis=1) - 1
    t = lowest + level[np.arange(len(count)), count][:, None]
    return np.asarray(np.where(t > breaks, (rise * (t - lowest) - rise * (breaks - lowest)) / prices, 0.0).sum(axis=0))
