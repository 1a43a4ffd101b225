# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Does sharing still pay once shares are slices of time? Random markets, by cores one by one and by whole clusters.

[000] promises nobody less than its part of every cluster would give (3.4.4), by the model. What slices deliver of the
same shares depends on what is sliced: with floor(x) or ceil(x) cores in time it lies between the model at whole numbers
of cores; with a whole cluster for x / P of the time it is that part of what all P cores give.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from eddy.market import sliced_utility
from eddy.market.problem import check_market
from eddy.policy.price import POLICIES
from eddy.policy.price.view import ClusterView, Configuration, Floats, PriceView, entitled

MARKETS = 400
NEAR = 1e-9
"""Relative shortfall that is rounding."""


@dataclass(frozen=True, slots=True)
class PromiseOutcome:
    """What became of the promise.

    Attributes:
        broken: Of these, with a tenant below its entitlement.
        worst: The least utility delivered over the entitlement's.
    """

    markets: int
    broken: int
    worst: float


def market(draw: np.random.Generator) -> PriceView:
    """Up to six tenants on up to four clusters of up to eight cores."""
    n, m = int(draw.integers(2, 7)), int(draw.integers(1, 5))
    clusters = tuple(ClusterView(c, f"{cores}c", int(cores)) for c, cores in enumerate(draw.integers(2, 9, m)))
    here = Configuration("here", clusters, draw.uniform(0.5, 0.999, (n, m)), draw.uniform(0.2, 2, (n, m)))
    names = tuple(f"user {i + 1}" for i in range(n))
    return PriceView(0.0, 0, names, draw.uniform(1, 5, n), here, np.full(n, np.inf), np.zeros((n, m)), memory={})


def by_cores(view: PriceView, shares: Floats) -> Floats:
    """Utility of shares on floor(x) or ceil(x) cores in time, (n,)."""
    here = view.present
    return sliced_utility(check_market(here.parallel_fraction, here.throughput, view.weights, here.capacity), shares)


def by_clusters(view: PriceView, shares: Floats) -> Floats:
    """Utility of shares as parts of the time in which a tenant has every core of a cluster, (n,)."""
    here, cores = view.present, view.present.capacity
    on_all = here.throughput * cores / (cores * (1 - here.parallel_fraction) + here.parallel_fraction)
    return np.asarray((shares / cores * on_all).sum(axis=1))


@cache
def check_promises(markets: int = MARKETS, seed: int = 1, policy: str = "market") -> dict[str, PromiseOutcome]:
    """The promise `by_cores` and `by_clusters`, each against the entitlement sliced the same way."""
    draw = np.random.default_rng(seed)
    least: dict[str, list[float]] = {"by_cores": [], "by_clusters": []}
    for _ in range(markets):
        view = market(draw)
        shares, part = POLICIES[policy]().decide(view).shares, entitled(view)
        least["by_cores"].append(float((by_cores(view, shares) / by_cores(view, part)).min()))
        least["by_clusters"].append(float((by_clusters(view, shares) / by_clusters(view, part)).min()))
    return {how: PromiseOutcome(len(v), sum(x < 1 - NEAR for x in v), min(v)) for how, v in least.items()}
