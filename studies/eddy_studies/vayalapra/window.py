# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Clusters shared for a while of board time: slices of kernels on cores, given out as the hypervisor gives them out.

A tenant on k cores of a cluster gets on as fast as was measured on k cores, whichever they are. Which tenant gets the
core that is free, and what it is charged, is said by `eddy.policy.price.turns`: the functions that share live clusters.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from eddy.policy.price.turns import Claim, charge_lags, next_tenant, shares_in_force

SLICE_S = 0.001
"""What a slice takes at most. Tenants' slices take different parts of it, because kernels do."""
PARTS = (1.0, 0.83, 0.61, 0.94, 0.72)


@dataclass(frozen=True, slots=True)
class ReceivedCores:
    """What tenants had of one cluster, by tenant.

    Attributes:
        core_s: Core-seconds.
        done: Seconds one core alone would have needed for what was done.
    """

    core_s: tuple[float, ...]
    done: tuple[float, ...]


@lru_cache(maxsize=512)
def shared(
    cores: int,
    shares: tuple[float, ...],
    weights: tuple[float, ...],
    speedups: tuple[tuple[float, ...], ...],
    window_s: float,
) -> ReceivedCores:
    """Run a cluster whose tenants always have work.

    Args:
        shares: In cores, by tenant; they sum to `cores`.
        weights: By tenant.
        speedups: By tenant, over one core, on 0, 1, .. cores of this cluster.
    """
    names = [str(i) for i in range(len(shares))]
    running, lags = [0] * len(shares), dict.fromkeys(names, 0.0)
    core_s, done = [0.0] * len(shares), [0.0] * len(shares)
    ends: list[tuple[float, int, int]] = []
    now, count = 0.0, 0

    def claims() -> list[Claim]:
        held = zip(names, shares, weights, running, strict=True)
        return [Claim(name, x, w, k, cores - k if x > 0 else 0, lags[name]) for name, x, w, k in held]

    def begin() -> None:
        nonlocal count
        chosen = next_tenant(claims(), cores)
        if chosen is not None:
            i = int(chosen)
            running[i] += 1
            heapq.heappush(ends, (now + SLICE_S * PARTS[i % len(PARTS)], count, i))
            count += 1

    for _ in range(cores):
        begin()
    while ends:
        end, _, tenant = heapq.heappop(ends)
        passed = min(end, window_s) - now
        for i, k in enumerate(running):
            core_s[i] += k * passed
            done[i] += speedups[i][k] * passed
        now = end
        if now >= window_s:
            break
        lags = charge_lags(lags, shares_in_force(claims(), cores), names[tenant], SLICE_S * PARTS[tenant % len(PARTS)])
        running[tenant] -= 1
        begin()
    return ReceivedCores(tuple(core_s), tuple(done))


def whole_cluster(
    cores: int, shares: Sequence[float], speedups: Sequence[Sequence[float]], window_s: float
) -> ReceivedCores:
    """The same by slicing the whole cluster at the ends of kernels, one tenant at a time, for comparison."""
    core_s = tuple(x * window_s for x in shares)
    return ReceivedCores(core_s, tuple(x / cores * s[cores] * window_s for x, s in zip(shares, speedups, strict=True)))
