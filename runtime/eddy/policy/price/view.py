# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What every price policy sees at the start of an epoch, and what it decides ([000] chapter 3, [003], [001]).

An epoch lasts a while of board time, and ends early where tenants come or go. A policy is a value with `initial()` and
`decide(view)`: the hypervisor, the simulator and a replayed trace call the very same object. What it wants to remember
(prices to start from, tokens, turns) it returns as `memory` and finds in the next view; it keeps nothing itself.

A processing element (PE) is one core of a cluster here: what changes hands. Shares are PEs over the epoch, so that 1.5
on a cluster of four is one core or two at any time, one and a half on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from eddy.model.parallel_fraction import Activity
from eddy.model.slowdown import ClusterParameters, MemoryLaw, SharedRunCounters

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ClusterView:
    """One GPU cluster.

    Attributes:
        slot: The slot it is in.
        cores: PEs it has.
    """

    slot: int
    module: str
    cores: int


@dataclass(frozen=True, slots=True, eq=False)
class Configuration:
    """Clusters that the fabric could hold, and what tenants would find on them.

    Attributes:
        name: What it is called.
        clusters: One for each slot of the pool, m of them.
        parallel_fraction: F, (n, m), in (0, 1].
        throughput: f over f_base, (n, m), 0 or more; 0 where a tenant cannot use the cluster.
        change_s: Board seconds without service if the fabric changes to it.
    """

    name: str
    clusters: tuple[ClusterView, ...]
    parallel_fraction: Floats
    throughput: Floats
    change_s: float = 0.0

    @property
    def capacity(self) -> Floats:
        """PEs of each cluster, (m,)."""
        return np.array([cluster.cores for cluster in self.clusters], np.float64)


@dataclass(frozen=True, slots=True)
class ClusterMachine:
    """What a predictor of progress must know of a cluster ([001] 2.2).

    Attributes:
        cores: Its cores.
        law: What its memory gives, by row-buffer hit rate, as `eddy calibrate` found it.
    """

    cores: ClusterParameters
    law: MemoryLaw


@dataclass(frozen=True, slots=True, eq=False)
class PriceView:
    """The world at the start of an epoch: n tenants that have work, m clusters.

    Attributes:
        now_s: Board time.
        epoch: Counts from 0.
        tenants: Names, n of them.
        weights: What each is entitled to, relative to the others; (n,), positive.
        present: The configuration that is loaded, or as much of it as is; throughput is 0 also where none of a tenant's
            kernels can run before another of them is given a cluster.
        waiting_s: Core-seconds of work each tenant has, as far as is known; (n,), 0 or more, infinite where some
            of it was never measured.
        delivered_s: Core-seconds each tenant had on each cluster in the last epoch; (n, m).
        counters: What the cores counted for each tenant on each cluster in the last epoch; None where nothing ran.
        alternatives: Other configurations the fabric could hold, by rising `change_s`.
        whole: `present`, could every tenant's kernels run on every cluster: what alternatives compare with; None where
            it is the same.
        memory: What the policy returned last time; `initial()` the first time.
        sharing: What was counted of each tenant on each cluster in the last epoch, (n, m), for predictors of progress;
            None where it ran nothing; () where nothing is counted.
        machines: Of each cluster, (m,); None where its memory was never calibrated; () where none was.
        kernels: Kernels each tenant has work of, by name, (n,); () where nobody says.
        least_progress: Normalised progress each was promised, (n,), 0 for none; empty where nobody was.
    """

    now_s: float
    epoch: int
    tenants: tuple[str, ...]
    weights: Floats
    present: Configuration
    waiting_s: Floats
    delivered_s: Floats
    counters: tuple[tuple[Activity | None, ...], ...] = ()
    alternatives: tuple[Configuration, ...] = ()
    memory: Any = None
    whole: Configuration | None = None
    sharing: tuple[tuple[SharedRunCounters | None, ...], ...] = ()
    machines: tuple[ClusterMachine | None, ...] = ()
    kernels: tuple[tuple[str, ...], ...] = ()
    least_progress: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PriceDecision:
    """What a policy decided.

    Attributes:
        shares: PEs of each tenant on each cluster of `PriceView.present`; (n, m), columns sum to the cores at most.
            What is left over, and what a tenant leaves idle, goes to the others in proportion to their shares.
        prices: Of a PE on each cluster, (m,), sum(cores x prices) == 1; zeros where the policy has none.
        configuration: Name of the configuration to change to; "" to stay.
        memory: For the next view.
    """

    shares: Floats
    prices: Floats
    configuration: str = ""
    memory: Any = None


@dataclass(frozen=True, slots=True)
class Traits:
    """What a price policy needs and promises; tests hold it to that.

    Attributes:
        by_progress: It goes by predicted progress: it needs counters and a calibrated memory (`eddy calibrate`).
        by_weight: Tenants that differ in weight only get shares in proportion to it; otherwise the heavier get more.
        usable: Nobody is given what it cannot use.
        kept: Part of its entitled share that nobody falls below on a cluster it can use.
    """

    by_progress: bool = False
    by_weight: bool = True
    usable: bool = True
    kept: float = 0.0


class PricePolicy(Protocol):
    """What shares clusters between tenants."""

    @property
    def name(self) -> str:
        """As `--price` takes it."""

    @property
    def traits(self) -> Traits:
        """What it needs and promises."""

    def initial(self) -> Any:
        """Memory before the first epoch."""

    def decide(self, view: PriceView) -> PriceDecision:
        """Share the clusters out; called every epoch, and when tenants come or go."""


def entitled(view: PriceView) -> Floats:
    """PEs by weight on every cluster, (n, m): the part of each cluster a tenant is entitled to."""
    return np.asarray(np.outer(view.weights / view.weights.sum(), view.present.capacity))


def zero_prices(view: PriceView) -> Floats:
    """The prices of a policy that has none, (m,)."""
    return np.zeros(len(view.present.clusters))
