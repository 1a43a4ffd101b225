"""Prices for accelerators' time: a lower bound on the make-span, and a guide for placing.

Give each accelerator a price per second; each job then has one cheapest place, and the sum of cheapest costs over the
sum of prices is a lower bound (the Lagrangian dual of [002] equation 1). Prices rise where the cheapest places overload
an accelerator and fall where it idles, until the bound stops rising.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eddy.model.placement.bounds import from_prices
from eddy.model.placement.instance import Floats, Ints


@dataclass(frozen=True, slots=True)
class Prices:
    """What a price search found.

    Attributes:
        price: (accelerators,) per second, float64, summing to 1.
        bound_s: Lower bound on the make-span at these prices.
        host: (jobs,) each job's cheapest accelerator.
    """

    price: Floats
    bound_s: float
    host: Ints


def starting_price(time_s: Floats) -> Floats:
    """One over the mean time of an accelerator's column (over the jobs it can run): equal work, equal cost."""
    total = time_s.sum(axis=0, dtype=np.float64)
    if np.isfinite(total).all():
        return _normal(1.0 / np.maximum(total, 1e-300))
    able = np.isfinite(time_s)
    total = np.where(able, time_s, 0).sum(axis=0, dtype=np.float64)
    counts = able.sum(axis=0)
    return _normal(np.where(counts > 0, counts / np.maximum(total, 1e-300), 1.0))


def _normal(price: Floats) -> Floats:
    price = np.minimum(price, 1e12 * max(float(np.median(price)), 1e-300))
    normal: Floats = price / price.sum()
    return normal


def search(
    time_s: Floats, ready_s: Floats, rounds: int, price: Floats | None = None, step: float = 0.05, spread: int = 8
) -> Prices:
    """Multiplicative updates: a price grows with the overload of its accelerator, by a step that shrinks as 1/k.

    Args:
        time_s: (jobs, accelerators).
        ready_s: (accelerators,).
        rounds: How many updates; each reads the table once.
        price: Where to start.
        step: Change of a price's logarithm at an overload of 100 %, in the first round.
        spread: Rounds after which the step has halved.
    """
    now = starting_price(time_s) if price is None else _normal(price)
    jobs, accelerators = time_s.shape
    rows = np.arange(jobs)
    cost = np.empty_like(time_s)
    best: Prices | None = None
    for k in range(max(rounds, 1)):
        weight = now.astype(time_s.dtype)
        np.multiply(time_s, weight, out=cost)
        host = cost.argmin(axis=1)
        own = time_s[rows, host]
        bound = from_prices(weight, float((own.astype(np.float64) * weight[host]).sum()), ready_s)
        if best is None or bound > best.bound_s:
            best = Prices(now, bound, host)
        load = np.bincount(host, weights=own, minlength=accelerators) + ready_s
        excess = np.clip(load / max(bound, 1e-300) - 1, -1, 1)
        now = now * np.exp(step / (1 + k / spread) * excess)
        now /= now.sum()
    assert best is not None
    return best
