# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Prices for accelerators' time: a lower bound on the makespan, and a guide for placing.

Give each accelerator a price per second; each job then has one cheapest place, and the sum of cheapest costs over the
sum of prices is a lower bound (the Lagrangian dual of [002] equation 1). The best prices are those at which the
cheapest places load every accelerator alike. They are looked for with jobs that may be divided: a job spreads over
places whose cost is within a few `tau` of its cheapest, a price moves by `tau` times the logarithm of its accelerator's
load, and `tau` falls from coarse to fine. Dividing jobs makes the loads smooth functions of the prices, so that a
dozen rounds settle tables whose accelerators differ by a few per cent and tables whose accelerators differ tenfold,
and accelerators that are all the same share their jobs instead of taking turns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eddy.model.placement.bounds import from_prices
from eddy.model.placement.instance import Floats
from eddy.policy.place.accelerator_kinds import Kinds

COARSE, FINE = 0.3, 0.0015
"""First and last `tau`: relative differences of cost over which a job spreads."""

ALIKE = 0.5
"""Where a job costs on average less than this over its least, prices need little moving: fewer rounds do."""

FARTHEST = 60.0
"""Exponents below minus this are cut off: their weight is nothing, and smaller floats are slow."""

FLOAT32_SLACK = 4e-7
"""A bound from float32 products is lowered by this share, more than their rounding can have raised it."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What a price search found.

    Attributes:
        price: (accelerators,) per second, float64, summing to 1.
        bound_s: Lower bound on the makespan at these prices.
    """

    price: Floats
    bound_s: float


def starting_price(time_s: Floats) -> Floats:
    """One over the mean time of an accelerator's column (over the jobs it can run): equal work, equal cost."""
    total = time_s.sum(axis=0, dtype=np.float64)
    if np.isfinite(total).all():
        return normalize_prices(1.0 / np.maximum(total, 1e-300))
    able = np.isfinite(time_s)
    total = np.where(able, time_s, 0).sum(axis=0, dtype=np.float64)
    counts = able.sum(axis=0)
    return normalize_prices(np.where(counts > 0, counts / np.maximum(total, 1e-300), 1.0))


def normalize_prices(price: Floats) -> Floats:
    """The prices, none a trillion times the median, with sum 1."""
    price = np.minimum(price, 1e12 * max(float(np.median(price)), 1e-300))
    scaled: Floats = price / price.sum()
    return scaled


def search(
    time_s: Floats, ready_s: Floats, rounds: int | None = None, patience: int = 1, kinds: Kinds | None = None
) -> Prices:
    """Prices at which the loads level out, and their bound; the best bound of all rounds is kept.

    Args:
        time_s: (jobs, accelerators), infinite where a job cannot run.
        ready_s: (accelerators,).
        rounds: How many, from coarse to fine; each reads the table a few times. None: as many as the table needs.
        patience: Times as many, where accelerators differ much.
        kinds: Where it is given, `time_s` is its table, and prices are of its columns; `ready_s` is as ever.
    """
    now = starting_price(time_s)
    finite = np.nan_to_num(time_s, posinf=0.0) if np.isinf(time_s.max()) else time_s
    cost = np.empty_like(time_s)
    level_of = None if kinds is None else kinds.levels(ready_s)
    best = Prices(now, 0.0)
    for tau in _schedule(time_s, now, rounds, patience):
        weight = now.astype(time_s.dtype)
        np.multiply(time_s, weight, out=cost)
        least = cost.min(axis=1)
        of_each = weight if kinds is None else weight[kinds.kind_of]
        bound = lower_bound_float32(from_prices(of_each, float(least.sum(dtype=np.float64)), ready_s), time_s)
        if bound > best.bound_s:
            best = Prices(now, bound)
        work_s = _divided(finite, cost, least, float(tau))
        load = work_s + ready_s if level_of is None else level_of(work_s)
        level = max(bound, 1e-300)
        now = now * np.exp(np.clip(tau * np.log(np.maximum(load / level, 1e-30)), -0.5, 0.5))
        now /= now.sum()
    return best


def _schedule(time_s: Floats, price: Floats, rounds: int | None, patience: int) -> Floats:
    """The falling `tau`, chosen from how much a few jobs' costs differ."""
    rows = time_s[:: max(len(time_s) // 64, 1)] * price.astype(time_s.dtype)
    least = rows.min(axis=1)
    usual = np.median(rows, axis=1)
    alike = bool((usual <= (1 + ALIKE) * least).mean() > 0.9)
    default = 7 if alike else 10 * patience
    schedule: Floats = np.geomspace(COARSE / 6 if alike else COARSE, FINE, rounds or default)
    return schedule


def lower_bound_float32(bound_s: float, time_s: Floats) -> float:
    """The bound, less what float32 can have added to it."""
    return bound_s * (1 - FLOAT32_SLACK) if time_s.dtype == np.float32 else bound_s


def _divided(finite: Floats, cost: Floats, least: Floats, tau: float) -> Floats:
    """(accelerators,) the load where every job spreads over its cheaper places; `cost` is used up."""
    tiny = np.finfo(cost.dtype).tiny
    cost -= least[:, None]
    with np.errstate(over="ignore"):  # beside a place that costs nothing all others are as far as can be
        cost *= (-1.0 / np.maximum(tau * least, tiny))[:, None].astype(cost.dtype)
    np.maximum(cost, -FARTHEST, out=cost)
    np.exp(cost, out=cost)
    share = 1.0 / cost.sum(axis=1)
    cost *= finite
    load: Floats = np.einsum("i,ij->j", share, cost)  # in this thread; a BLAS would wake others for so little
    return load.astype(np.float64)
