# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a price policy is told of a tenant's work: parallel fraction and throughput of the kernels it submitted last.

A tenant with several kernels runs them on a cluster in turn. Each counts by its part of the work that was submitted, in
seconds of a base PE: throughput is all work over all the time it takes there, and F the mean by that time, which is
what (3.2) says of the sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from eddy.hypervisor.cores.epoch_totals import SliceMeasurement
from eddy.hypervisor.cores.learned_kernels import MIN_S, UNKNOWN_FRACTION, LearnedKernels
from eddy.hypervisor.jobs.job_spec import CorePartition

SOFT_FLOAT = 0.15
"""Speed of floating point in software over that of a unit, before anything was measured."""
RECENT = 8
"""Kernels of a tenant by which its work is judged: those it submitted last."""
SUBMISSIONS = 32
"""Submissions after which one counts for 1/e in the mix of a tenant's kernels."""
_FADE = math.exp(-1 / SUBMISSIONS)
_FORGOTTEN = 1e-3
"""What was submitted so seldom of late is no part of the mix."""
MAX_SPEED = 1e9
"""Most by which speeds of clusters may differ from a base PE's, either way, as policies are told them."""


@dataclass(frozen=True, slots=True)
class ClusterKind:
    """What a module is, as a cluster.

    Attributes:
        cores: PEs.
        lanes: Of a core.
        clk_hz: Its clock.
    """

    cores: int
    lanes: int
    clk_hz: float

    @property
    def speed(self) -> float:
        """Of one PE, before anything was measured: lanes times clock."""
        return self.lanes * self.clk_hz


@dataclass(slots=True)
class _Submitted:
    """A kernel of a tenant, and how often it was submitted, fading."""

    spread: CorePartition
    times: float


class TenantEstimates:
    """Estimates for each tenant and kind of cluster.

    Args:
        kinds: Clusters there are, by module.

    Attributes:
        learned: What was measured of each kernel.
    """

    def __init__(self, kinds: Mapping[str, ClusterKind]) -> None:
        self.kinds, self.learned = kinds, LearnedKernels()
        self._recent: dict[str, dict[str, _Submitted]] = {}

    def arrived(self, tenant: str, spread: CorePartition) -> None:
        """A tenant submitted a kernel."""
        recent = self._recent.setdefault(tenant, {})
        for kernel, each in list(recent.items()):
            each.times *= _FADE
            if each.times < _FORGOTTEN:
                del recent[kernel]
        before = recent.pop(spread.kernel, None)
        recent[spread.kernel] = _Submitted(spread, 1.0 + (before.times if before else 0.0))
        while len(recent) > RECENT:
            del recent[next(iter(recent))]

    def measured(self, tenant: str, spread: CorePartition, of: SliceMeasurement, quantum_s: float) -> None:
        """A slice of a kernel ended well.

        Args:
            of: What the slice did.
            quantum_s: Board seconds the next one should take.
        """
        known = self.learned.get_or_add(tenant, spread.kernel, of.module)
        known.add_slice(of.groups, of.took_s, of.counters, quantum_s, of.cores)
        if of.alone:
            known.alone.add_solo_slice(of.groups, max(of.took_s, MIN_S), of.cores)
        else:
            known.alone.add_shared_slice(of.took_s)

    def fraction(self, tenant: str, module: str) -> float:
        """F of what a tenant submitted last, on a kind of cluster."""
        mix = self._mix(tenant, module)
        # What runs nowhere near does not count, unless nothing else was submitted.
        times = [work / speed if speed > 0 else 0.0 for _, work, speed in mix]
        found = [self.learned.fraction(spread.kernel, module)[0] for spread, _, _ in mix]
        if not found:
            return UNKNOWN_FRACTION
        return float(np.clip(np.average(found, weights=times if any(times) else None), 1e-3, 1.0))

    def is_measured(self, tenant: str, module: str) -> bool:
        """Whether F of all that a tenant submitted last was measured on a kind of cluster."""
        recent = self._recent.get(tenant, {})
        return bool(recent) and all(self.learned.fraction(kernel, module)[1] for kernel in recent)

    def throughput(self, tenant: str, module: str) -> float:
        """Of one PE for what a tenant submitted last, over a base PE; 0 where nothing of it runs there."""
        base = min(kind.speed for kind in self.kinds.values())
        able = [(work, speed) for _, work, speed in self._mix(tenant, module) if speed > 0]
        if not able:
            return 0.0
        found = sum(work for work, _ in able) / sum(work / speed for work, speed in able) / base
        return min(max(found, 1 / MAX_SPEED), MAX_SPEED)

    def speed_of(self, spread: CorePartition, module: str) -> float:
        """Of one PE for a kernel, over a base PE; 0 where it does not run."""
        return self._speed(spread, module) / min(kind.speed for kind in self.kinds.values())

    def speed_on(self, spread: CorePartition, module: str, cores: float) -> float:
        """Of so many cores of a cluster of a kind for a kernel, over one base PE."""
        fraction, _ = self.learned.fraction(spread.kernel, module)
        return self.speed_of(spread, module) * cores / max(cores * (1 - fraction) + fraction, 1.0)

    def _mix(self, tenant: str, module: str) -> list[tuple[CorePartition, float, float]]:
        """A tenant's kernels, the work that was submitted of each, and the speed of one PE for it, in one unit.

        While some of it was never measured, all count alike.
        """
        recent = list(self._recent.get(tenant, {}).values())
        work = [each.times * self.base_s(each.spread) for each in recent]
        known = all(work)
        speeds = (self._speed(each.spread, module) for each in recent)
        return [(e.spread, w if known else 1.0, s) for e, w, s in zip(recent, work, speeds, strict=True)]

    def _speed(self, spread: CorePartition, module: str) -> float:
        """Of one PE for a kernel, in the unit of `ClusterKind.speed`: measured over what was measured elsewhere.

        Where it never ran, a guess, times what was measured over the guess where it did: with a unit for floating
        point or without one, as here, if it ran on such a cluster.
        """
        if module not in spread.variants:
            return 0.0
        took_s = {m: took for m in spread.variants if (took := self._whole_s(spread, m)) is not None}
        if not took_s:
            return self._guessed(spread, module)
        reference = next(iter(took_s))
        work = self._guessed(spread, reference) * took_s[reference]
        if module in took_s:
            return work / took_s[module]
        soft = spread.variants[module].soft
        alike = [m for m in took_s if spread.variants[m].soft == soft] or list(took_s)
        over = [math.log(work / took_s[m] / self._guessed(spread, m)) for m in alike]
        return self._guessed(spread, module) * math.exp(sum(over) / len(over))

    def _guessed(self, spread: CorePartition, module: str) -> float:
        return self.kinds[module].speed * (SOFT_FLOAT if spread.variants[module].soft else 1.0)

    def _whole_s(self, spread: CorePartition, module: str) -> float | None:
        """Seconds of a kernel over all its work-groups on one core alone, as measured."""
        fraction, _ = self.learned.fraction(spread.kernel, module)
        group_s = self.learned.peek(spread.kernel, module).alone_s(fraction)
        return None if group_s is None else group_s * spread.variants[module].groups

    def work_s(self, spread: CorePartition, of: SliceMeasurement) -> float:
        """Seconds a base PE would take for what a slice of a kernel did, from what was measured."""
        return of.groups / spread.variants[of.module].groups * self.base_s(spread)

    def alone_s(self, spread: CorePartition, module: str) -> float | None:
        """Seconds a work-group of a kernel takes alone on all cores of a cluster; None where that is not known."""
        return self.learned.peek(spread.kernel, module).alone.group_s

    def base_s(self, spread: CorePartition) -> float:
        """Seconds a base PE would take for a kernel, from what was measured."""
        base = min(kind.speed for kind in self.kinds.values())
        for module in spread.variants:
            took_s = self._whole_s(spread, module)
            if took_s is not None:
                return took_s * self._guessed(spread, module) / base
        return 0.0
