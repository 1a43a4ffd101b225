# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels side by side on the fast cluster model, epoch by epoch, and what each reached of its private speed.

Private speed is measured, as [001] does: the same kernel alone on every core, until it has executed the same number of
instructions. Progress is the time that took over the time it took beside others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from eddy.model.progress import ClusterEpoch
from eddy.model.slowdown import ClusterParameters, MemoryLaw, SharedRunCounters, fit_memory_law

from eddy_studies.hsm.cluster import Cluster, CounterTotals
from eddy_studies.hsm.machine import TICKS, ClusterModel, Kernel

CLOCK_HZ = 100e6
LINE_BYTES = 64
STEP_CYCLES = 1000
"""Between two points of a private curve."""
Floats = npt.NDArray[np.float64]
Decide = Callable[["Sequence[ClusterEpoch]", "Sequence[float]"], Sequence[float]]
"""From the epochs so far and the cores each tenant had in the last to the cores each gets in the next: whole ones, or
parts of a core where an epoch has slices."""


@dataclass(frozen=True, slots=True, eq=False)
class PrivateRun:
    """A kernel alone on every core.

    Attributes:
        instructions: Executed by the end of each step of `STEP_CYCLES`; begins with 0.
        sharing: What was counted over the second half, when caches are warm.
    """

    instructions: Floats
    sharing: SharedRunCounters

    def cycles(self, instructions: float) -> float:
        """Cycles it takes alone until it has executed so many."""
        return float(np.interp(instructions, self.instructions, np.arange(len(self.instructions)) * STEP_CYCLES))


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Tenants side by side.

    Attributes:
        epochs: What was counted in each.
        instructions: Executed by the end of each epoch, by tenant; (epochs + 1, tenants), begins with zeros.
        cores: Each tenant was to have in each epoch, parts of a core where it had slices; (epochs, tenants).
        private: Of each tenant's kernel.
    """

    cycles: int
    epochs: tuple[ClusterEpoch, ...]
    instructions: Floats
    cores: Floats
    private: tuple[PrivateRun, ...]

    @property
    def progress(self) -> tuple[float, ...]:
        """Normalised progress of each tenant over the whole run, (1) of [001]."""
        return self.between(0, len(self.epochs))

    def between(self, first: int, last: int) -> tuple[float, ...]:
        """Normalised progress of each tenant over epochs [first, last)."""
        begun, ended = self.instructions[first], self.instructions[last]
        took = (last - first) * self.cycles
        return tuple(
            (private.cycles(float(end)) - private.cycles(float(begin))) / took
            for private, begin, end in zip(self.private, begun, ended, strict=True)
        )


def parameters(machine: ClusterModel) -> ClusterParameters:
    """The machine as predictors know it."""
    return ClusterParameters(machine.cores, 1.0, CLOCK_HZ, LINE_BYTES)


def peak_bytes_per_s(machine: ClusterModel) -> float:
    """Of all data buses of its memory."""
    return machine.peak_lines_per_cycle * LINE_BYTES * CLOCK_HZ


def sharing(counted: CounterTotals, cycles: int) -> SharedRunCounters:
    """What a predictor is told of a tenant's epoch."""
    return SharedRunCounters(
        cycles=float(cycles),
        cores=counted.core_ticks / (cycles * TICKS),
        instructions=float(counted.instructions),
        requests=float(counted.requests),
        row_hits=float(counted.row_hits),
        cache_hits=float(counted.cache_hits),
        cache_misses=float(counted.cache_misses),
        memory_stall_cycles=max(counted.core_ticks - counted.issue_ticks, 0) / TICKS,
        held_cycles=counted.held_ticks / TICKS,
        own_row_hits=float(counted.own_row_hits),
        own_cache_hits=_own_cache_hits(counted),
        read_cycles=counted.read_ticks / TICKS,
    )


def _own_cache_hits(counted: CounterTotals) -> float:
    """Hits with tags of its own, from the sampled sets to all."""
    reads = counted.cache_hits + counted.cache_misses
    return reads * counted.shadow_hits / counted.shadow_looks if counted.shadow_looks else float(counted.cache_hits)


def run_alone(machine: ClusterModel, kernel: Kernel, cycles: int, cores: int | None = None) -> PrivateRun:
    """Run a kernel alone on some cores, all where not said; for at least so many cycles."""
    cluster = Cluster(machine, [kernel])
    have = machine.cores if cores is None else cores
    owners = [0] * have + [-1] * (machine.cores - have)
    steps = max(-(-cycles // STEP_CYCLES), 2)
    executed, half = [0.0], cluster.totals()
    for step in range(steps):
        executed.append(executed[-1] + cluster.run(owners, STEP_CYCLES)[0].instructions)
        if step + 1 == steps // 2:
            half = cluster.totals()
    last = CounterTotals(*(cluster.totals() - half)[0].tolist())
    return PrivateRun(np.array(executed), sharing(last, (steps - steps // 2) * STEP_CYCLES))


def law_of(machine: ClusterModel, privates: Sequence[PrivateRun]) -> MemoryLaw:
    """c1 and c2 from kernels alone: those of them that saturate the memory.

    A kernel saturates where its cores stand still for most of the time.
    """
    peak = peak_bytes_per_s(machine)
    points = [
        (p.sharing.hit_rate, p.sharing.requests / p.sharing.cycles / machine.peak_lines_per_cycle)
        for p in privates
        if p.sharing.memory_stall_cycles > 0.25 * p.sharing.cores * p.sharing.cycles
    ]
    return fit_memory_law([hit for hit, _ in points], [min(used, 1.0) for _, used in points], peak)


def spread(owners: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """Owners of the cores with so many for each tenant, as few cores as possible changing hands."""
    spare = list(wanted)
    kept = []
    for owner in owners:
        keep = owner >= 0 and spare[owner] > 0
        kept.append(owner if keep else -1)
        if keep:
            spare[owner] -= 1
    for core, owner in enumerate(kept):
        if owner < 0 and any(spare):
            kept[core] = next(tenant for tenant, left in enumerate(spare) if left)
            spare[kept[core]] -= 1
    return kept


def even(cores: int, tenants: int) -> list[int]:
    """As equal as whole cores allow, more for the first."""
    return [cores // tenants + (tenant < cores % tenants) for tenant in range(tenants)]


def slices(shares: Sequence[float], count: int) -> list[list[int]]:
    """Whole cores of each tenant in so many slices, of which each has its share on average, as far as they go.

    Args:
        shares: Cores, parts of a core in as many parts as there are slices; they sum to whole cores.
        count: Slices.
    """
    ends = [0.0, *np.cumsum(shares)]
    marks = [[math.floor(end + piece / count + 1e-9) for end in ends] for piece in range(count)]
    return [[after - before for before, after in pairwise(each)] for each in marks]


def run_together(
    machine: ClusterModel,
    kernels: Sequence[Kernel],
    privates: Sequence[PrivateRun],
    law: MemoryLaw,
    decide: Decide,
    epochs: int,
    cycles: int,
    start: Sequence[float] | None = None,
    parts: int = 1,
) -> Run:
    """Run kernels side by side under a policy.

    Args:
        kernels: One a tenant.
        privates: Of each kernel, over at least as many cycles as the run has.
        law: Of the machine's memory.
        decide: The policy; asked after each epoch but the last.
        cycles: Of each.
        start: Cores of each tenant in the first epoch; even where not given.
        parts: Slices of an epoch, in which a tenant may have a core or not.
    """
    cluster = Cluster(machine, kernels)
    wanted: Sequence[float] = start if start is not None else even(machine.cores, len(kernels))
    owners = [-1] * machine.cores
    known = parameters(machine)
    seen: list[ClusterEpoch] = []
    executed, had = [np.zeros(len(kernels))], []
    for epoch in range(epochs):
        had.append(list(wanted))
        begun = cluster.totals()
        for given in slices(wanted, parts):
            owners = spread(owners, given)
            cluster.run(owners, cycles // parts)
        counted = [CounterTotals(*row.tolist()) for row in cluster.totals() - begun]
        seen.append(ClusterEpoch(known, law, tuple(sharing(each, cycles) for each in counted)))
        executed.append(executed[-1] + [each.instructions for each in counted])
        if epoch + 1 < epochs:
            wanted = decide(seen, wanted)
    return Run(cycles, tuple(seen), np.array(executed), np.array(had, np.float64), tuple(privates))


def keep(seen: Sequence[ClusterEpoch], cores: Sequence[float]) -> Sequence[float]:
    """The policy that leaves cores where they are."""
    return cores


def sum_from_epoch(run: Run, first: int) -> ClusterEpoch:
    """What was counted over all epochs from one on, as one."""
    parts = run.epochs[first:]
    return ClusterEpoch(
        parts[0].machine, parts[0].law, tuple(_sum([e.tenants[t] for e in parts]) for t in range(len(run.private)))
    )


def _sum(parts: Sequence[SharedRunCounters | None]) -> SharedRunCounters:
    known = [part for part in parts if part is not None]
    cycles = sum(part.cycles for part in known)
    names = [name for name in SharedRunCounters.__dataclass_fields__ if name not in ("cycles", "cores", "groups")]
    sums = {name: sum(getattr(part, name) for part in known) for name in names}
    return SharedRunCounters(cycles=cycles, cores=sum(part.cores * part.cycles for part in known) / cycles, **sums)
