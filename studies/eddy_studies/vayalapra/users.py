# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""User sets 1 to 3 of [000] on CFG1 to CFG3 under three mechanisms: shares, and what a window of board time gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from eddy.market import Candidate, choose_configuration
from eddy.model.parallel_fraction import karp_flatt_fraction
from eddy.policy.price import POLICIES
from eddy.policy.price.view import ClusterView, Configuration, PriceView
from numpy.typing import NDArray

from eddy_studies.vayalapra.clusters import BASE, CONFIGURATIONS, Cluster, counts, runs
from eddy_studies.vayalapra.window import shared, whole_cluster

Floats = NDArray[np.float64]

WEIGHTS = (1.0, 4.0, 1.0)
R, K, M, A, Y = "resnet50", "k-means", "mlp", "alexnet", "yolo"
USER_SETS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "1": ((R,) * 4, (K,) * 4, (M,) * 4),
    "2": ((R,) * 4, (K, K, A, A), (M, M, Y, Y)),
    "3": ((R,) * 4, (R,) * 4, (R,) * 4),
}
"""Tables 5.4 to 5.6: what users 1 to 3 run on clusters 1 to 4. Weights are 1, 4 and 1."""
MECHANISMS = ("market", "entitlement", "equal_speedup")
_LEAST = 1e-6
"""F of what was never seen to gain by another core: the market takes no 0."""


@cache
def _cycles() -> dict[tuple[object, ...], int]:
    return {(run.workload, run.of, run.threads, run.fpu, run.cores): run.cycles for run in runs()}


def _one_core(workload: str, on: Cluster) -> int:
    """Cycles on one core."""
    return _cycles()[workload, on.cores, on.threads, on.fpu, 1]


def throughput(workload: str, on: Cluster) -> float:
    """f over f_base: what one core does there a second, over what one of `BASE` does."""
    return _one_core(workload, BASE) / _one_core(workload, on) * on.mhz / BASE.mhz


@cache
def speedups(workload: str, on: Cluster) -> tuple[float, ...]:
    """Over one core, on 0, 1, .. all cores of the cluster; between measured ones as Amdahl's law goes on."""
    known = counts(on.cores)
    times = [_cycles()[workload, on.cores, on.threads, on.fpu, k] for k in known]
    inverse = [1 / k for k in known]
    every = [np.interp(1 / k, inverse[::-1], times[::-1]) for k in range(1, on.cores + 1)]
    return (0.0, *(float(times[0] / time) for time in every))


def fraction(workload: str, on: Cluster) -> float:
    """F on this cluster, from the speedup of all its cores (4.1)."""
    return float(np.clip(karp_flatt_fraction(speedups(workload, on)[-1], on.cores), _LEAST, 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One user set on one configuration under one mechanism; n users, m clusters.

    Attributes:
        shares: In PEs, (n, m).
        prices: Of a PE, (m,); zeros where the mechanism has none.
        promised: Model speedup of the shares, (n,), in cores of `BASE`.
        speedup: Measured in the window, (n,), in the same unit.
        given: Core-seconds over those of the window, (n, m): the shares as they were delivered.
        lost: Core-seconds over those of the window without gain, because every one of a tenant's cores on a
            cluster does less than one alone, (n, m).
        utilisation: Of all core-seconds, the part that one core alone would have needed for what was done.
        in_turns: The same if tenants took turns on whole clusters, as [000] 5.3 has it, for the same shares.
    """

    shares: Floats
    prices: Floats
    promised: Floats
    speedup: Floats
    given: Floats
    lost: Floats
    utilisation: float
    in_turns: float


def configuration(users: Sequence[Sequence[str]], name: str) -> Configuration:
    """A configuration as these users find it: their F and throughputs."""
    clusters = CONFIGURATIONS[name]
    seen = tuple(ClusterView(c, f"{k.cores}c{k.threads}t", k.cores) for c, k in enumerate(clusters))
    numbers = [
        np.array([[value(w, c) for w, c in zip(own, clusters, strict=True)] for own in users])
        for value in (fraction, throughput)
    ]
    return Configuration(name, seen, numbers[0], numbers[1])


def outcome(user_set: str, name: str, mechanism: str, window_s: float) -> Outcome:
    """Shares by the price policy of this name, and a window of board time with them."""
    users, clusters = USER_SETS[user_set], CONFIGURATIONS[name]
    here, policy = configuration(users, name), POLICIES[mechanism]()
    n, m = len(users), len(clusters)
    view = PriceView(
        *(0.0, 0, tuple(f"user {i + 1}" for i in range(n)), np.array(WEIGHTS), here),
        *(np.full(n, np.inf), np.zeros((n, m))),
        memory=policy.initial(),
    )
    decision = policy.decide(view)
    given, done, turns = np.zeros((n, m)), np.zeros((n, m)), 0.0
    for c, cluster in enumerate(clusters):
        curves = tuple(speedups(own[c], cluster) for own in users)
        # Utility below a millionth of a PE is none; a slice of a kernel cannot be so short.
        wanted = tuple(float(x) if x > 1e-6 else 0.0 for x in decision.shares[:, c])
        had = shared(cluster.cores, wanted, WEIGHTS, curves, window_s)
        turns += sum(whole_cluster(cluster.cores, wanted, curves, 1.0).done)
        given[:, c], done[:, c] = np.array(had.core_s) / window_s, np.array(had.done) / window_s
    x, f, rates = decision.shares, here.parallel_fraction, here.throughput
    promised = (rates * x / np.maximum(x * (1 - f) + f, 1.0)).sum(axis=1)
    cores = float(here.capacity.sum())
    speedup = (rates * done).sum(axis=1)
    return Outcome(x, decision.prices, promised, speedup, given, given - done, float(done.sum()) / cores, turns / cores)


def choose_best(user_set: str) -> tuple[str, Mapping[str, float]]:
    """The configuration of most Nash welfare, and the geometric mean of speedups in each."""
    users = USER_SETS[user_set]
    candidates = []
    for name in CONFIGURATIONS:
        here = configuration(users, name)
        candidates.append(Candidate(name, here.parallel_fraction, here.throughput, here.capacity))
    choice = choose_configuration(candidates, np.array(WEIGHTS), utility="deliverable")
    return choice.name, choice.mean_utility
