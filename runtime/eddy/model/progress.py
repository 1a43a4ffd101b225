# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Predicted progress of all tenants of a cluster, now and with other numbers of cores: what policies on [001] rest on.

A predictor is told what was counted over one epoch of everybody who shares a cluster, and answers a curve for each:
normalised progress in that epoch, and with 0, 1, 2, ... whole cores in the next. It is a pure value: constants
learned before are its fields, and nothing is remembered between calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Protocol

from eddy.model.slowdown import ClusterParameters, MemoryLaw, SharedRunCounters, predict


@dataclass(frozen=True, slots=True)
class ClusterEpoch:
    """One cluster over one epoch.

    Attributes:
        machine: Its cores.
        law: What the board's memory gives, by hit rate.
        tenants: What was counted of each, in the order of the view; None for one that ran nothing here.
    """

    machine: ClusterParameters
    law: MemoryLaw
    tenants: tuple[SharedRunCounters | None, ...]


_ROUNDING = 1e-9
"""Of progress: a core that brings less brings nothing."""


@dataclass(frozen=True, slots=True)
class ProgressCurve:
    """Normalised progress of one tenant on one cluster.

    Attributes:
        progress: In the epoch that ended, in [0, 1].
        by_cores: Predicted with 0, 1, ..., all whole cores of the cluster; begins with 0 and never falls.
        memory_bound: Whether memory bounds it, however many cores it gets.
    """

    progress: float
    by_cores: tuple[float, ...]
    memory_bound: bool = False

    def at(self, cores: float) -> float:
        """Predicted with a number of cores, on the straight between whole ones; the ends hold beyond them."""
        last = len(self.by_cores) - 1
        if cores <= 0:
            return self.by_cores[0]
        if cores >= last:
            return self.by_cores[last]
        low = math.floor(cores)
        below = self.by_cores[low]
        return below + (cores - low) * (self.by_cores[low + 1] - below)

    def needed(self, progress: float) -> int:
        """Fewest whole cores that reach a progress; all of them where none do."""
        for cores, reached in enumerate(self.by_cores):
            if reached >= progress:
                return cores
        return len(self.by_cores) - 1

    @property
    def most_cores(self) -> int:
        """Fewest whole cores with which it goes as fast as with all: further ones bring nothing, or rounding."""
        return self.needed(self.by_cores[-1] * (1 - _ROUNDING))


class ProgressPredictor(Protocol):
    """What predicts progress."""

    @property
    def name(self) -> str:
        """As names of policies begin that rest on it: ``hsm`` of ``hsm_fair``."""

    def predict(self, epoch: ClusterEpoch) -> tuple[ProgressCurve | None, ...]:
        """A curve for each tenant of an epoch, in its order; None for one of which nothing was counted."""


_numbers: Callable[[SharedRunCounters], tuple[float, ...]] = attrgetter(
    *(field.name for field in fields(SharedRunCounters) if field.name != "groups")
)


def linear_curve(progress: float, cores: float, all_cores: int, most_cores: float = math.inf) -> ProgressCurve:
    """The curve of [001] 4.2: through the origin and what was seen, flat where it saturates, and never above 1.

    Args:
        progress: In the epoch, in [0, 1].
        cores: With so many; positive.
        all_cores: Whole cores of the cluster.
        most_cores: From so many on, further ones bring nothing.
    """
    gradient = progress / min(cores, most_cores)
    counts = range(all_cores + 1) if most_cores >= all_cores else [min(c, most_cores) for c in range(all_cores + 1)]
    return ProgressCurve(progress, tuple([reached if (reached := gradient * c) < 1.0 else 1.0 for c in counts]))


def has_counts(sharing: SharedRunCounters | None) -> bool:
    """Whether anything was counted that a prediction could rest on; numbers that cannot be are as good as none."""
    if sharing is None or not (sharing.cores > 0 and sharing.cycles > 0 and sharing.instructions > 0):
        return False
    numbers = _numbers(sharing)
    return sum(numbers) < math.inf and min(numbers) >= 0


@dataclass(frozen=True, slots=True)
class HsmPredictor:
    """HSM, the hybrid model of [001]: equations (2) to (5), work-groups (2.3.1), and the straight of 4.2.

    A memory-bound kernel saturates where its bandwidth reaches what its hit rate can get, at a progress of 1. Further
    cores bring nothing from there on, which is what the straight's bound of 1 says.
    """

    name: str = "hsm"

    def predict(self, epoch: ClusterEpoch) -> tuple[ProgressCurve | None, ...]:
        """Each tenant by itself: what the others do shows in its own counters."""
        return tuple(self._curve(sharing, epoch) for sharing in epoch.tenants)

    def _curve(self, sharing: SharedRunCounters | None, epoch: ClusterEpoch) -> ProgressCurve | None:
        if sharing is None or not has_counts(sharing):
            return None
        found = predict(sharing, epoch.machine, epoch.law)
        groups = math.inf if sharing.groups is None else max(sharing.groups, 1)
        curve = linear_curve(found.progress, sharing.cores, epoch.machine.cores, groups)
        return ProgressCurve(curve.progress, curve.by_cores, found.memory_bound)
