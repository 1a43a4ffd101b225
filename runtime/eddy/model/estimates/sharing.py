# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""When work on shared cores starts and ends, as a fluid.

Each tenant has its share, and what it cannot use goes to the others in proportion to theirs (generalised processor
sharing, Parekh and Gallager 1993). A tenant's own kernels take its cores in order of age.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MAX_KERNELS = 200
"""Kernels that are looked at, the oldest of each tenant first; nothing is said of more."""
NOTHING = 1e-12
"""Core-seconds, or cores, that count as none."""
MIN_SHARE = 1e-3
"""Share of a tenant that has none: it has what the others leave."""


@dataclass(frozen=True, slots=True)
class CoreWork:
    """A kernel that has not ended.

    Attributes:
        id: Its number.
        work_s: Core-seconds left; infinite where it is not known.
        width: Cores it can use at once.
        begun: Whether it has started.
    """

    id: int
    tenant: str
    work_s: float
    width: float
    begun: bool = False


def fluid_times(
    kernels: Sequence[CoreWork], shares: Mapping[str, float], cores: float
) -> dict[int, tuple[float, float]]:
    """Seconds from now until kernels start and end; those of which that cannot be said are left out.

    Args:
        kernels: Oldest first.
        shares: Cores by tenant.
        cores: How many there are.
    """
    left = {kernel.id: kernel.work_s for kernel in kernels[:MAX_KERNELS]}
    waiting = list(kernels[:MAX_KERNELS])
    started_s = {kernel.id: 0.0 for kernel in waiting if kernel.begun}
    found: dict[int, tuple[float, float]] = {}
    now_s = 0.0
    while waiting:
        rates = _rates(waiting, shares, cores)
        for number, rate in rates.items():
            if rate > NOTHING:
                started_s.setdefault(number, now_s)
        step_s = min((left[n] / rate for n, rate in rates.items() if rate > NOTHING), default=math.inf)
        if math.isinf(step_s):
            break
        now_s += step_s
        for number, rate in rates.items():
            left[number] -= rate * step_s
        ended = [
            kernel
            for kernel in waiting
            if math.isfinite(kernel.work_s) and left[kernel.id] <= NOTHING * max(kernel.work_s, 1.0)
        ]
        found |= {kernel.id: (started_s[kernel.id], now_s) for kernel in ended if kernel.id in started_s}
        waiting = [kernel for kernel in waiting if kernel not in ended]
    return found


def _rates(waiting: Sequence[CoreWork], shares: Mapping[str, float], cores: float) -> dict[int, float]:
    """Cores of each kernel now."""
    wants: dict[str, float] = {}
    for kernel in waiting:
        wants[kernel.tenant] = wants.get(kernel.tenant, 0.0) + kernel.width
    given = _filled(wants, {tenant: max(shares.get(tenant, 0.0), MIN_SHARE) for tenant in wants}, cores)
    rates = {}
    for kernel in waiting:
        rates[kernel.id] = min(kernel.width, given[kernel.tenant])
        given[kernel.tenant] -= rates[kernel.id]
    return rates


def _filled(wants: Mapping[str, float], weights: Mapping[str, float], cores: float) -> dict[str, float]:
    """Cores by tenant in proportion to weights, to none more than it can use."""
    given = dict.fromkeys(wants, 0.0)
    open_to, rest = set(wants), cores
    while open_to and rest > NOTHING:
        unit = rest / sum(weights[tenant] for tenant in open_to)
        full = {tenant for tenant in open_to if wants[tenant] - given[tenant] <= unit * weights[tenant]}
        for tenant in full or open_to:
            given[tenant] = wants[tenant] if tenant in full else given[tenant] + unit * weights[tenant]
        if not full:
            break
        open_to -= full
        rest = cores - sum(given.values())
    return given
