# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What was counted of every tenant on every cluster over an epoch, and how far that says each progressed ([001]).

Totals are read from the board by account when an epoch ends; an account is a tenant. Nothing is read, and launches are
on nobody's account, where the board's memory was never calibrated: no prediction could rest on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from eddy.core.counters import ContextCounters, SharingCounters
from eddy.model.measured_predictor import MeasuredPredictor, measure_progress
from eddy.model.progress import ClusterEpoch, HsmPredictor, ProgressPredictor
from eddy.model.slowdown import SharedRunCounters
from eddy.policy.price.view import ClusterMachine, ClusterView, Floats

EARLY = 0.25
"""Part of an epoch after which it may end because other kernels run ([001] 4.2). Sooner, and whoever changes kernels
all the time would keep everybody at the even start."""
Rows = tuple[tuple[SharedRunCounters | None, ...], ...]


@dataclass(frozen=True, slots=True)
class RunningKernels:
    """What a tenant has running on clusters.

    Attributes:
        kernels: Names of its kernels, sorted.
        groups: Work-groups of them: more cores than that bring nothing.
        least_progress: The most that one of them was promised; 0 for none.
    """

    kernels: tuple[str, ...] = ()
    groups: int = 0
    least_progress: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class EpochProgress:
    """What came of an epoch, by tenant and cluster.

    Attributes:
        sharing: What was counted; None where a tenant ran nothing.
        progress: Predicted normalised progress, (n, m); NaN where nothing was counted.
        traffic_bytes: Moved to and from memory, (n, m).
        measured: Where progress is not a prediction but was measured, by kernels' speed alone, (n, m).
    """

    sharing: Rows = ()
    progress: Floats = field(default_factory=lambda: np.full((0, 0), np.nan))
    traffic_bytes: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    measured: Floats = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass
class ProgressWatch:
    """Reads counters by epoch.

    Args:
        machines: What predictors are told of each kind of cluster, by module; empty where nothing was calibrated.
        read: Gives a slot's totals by account; None until there is a board.
        predictor: Says what is kept of progress, whatever policy is in force.
    """

    machines: Mapping[str, ClusterMachine] = field(default_factory=dict)
    read: Callable[[int], SharingCounters] | None = None
    predictor: ProgressPredictor = field(default_factory=lambda: MeasuredPredictor(HsmPredictor()))

    def __post_init__(self) -> None:
        self._before: dict[int, SharingCounters] = {}

    @property
    def on(self) -> bool:
        """Whether anything is counted."""
        return bool(self.machines) and self.read is not None

    def begin(self, slots: Sequence[int]) -> None:
        """An epoch begins now; where one ended just now, its last reading is the first."""
        if self.read is not None and self.machines:
            known = self._before
            self._before = {slot: known[slot] if slot in known else self.read(slot) for slot in slots}

    def forget(self) -> None:
        """Nobody has work, or the board is another one."""
        self._before = {}

    def end(
        self,
        tenants: Sequence[str],
        clusters: Sequence[ClusterView],
        groups: Mapping[str, int] | None = None,
        alone_s: Mapping[tuple[str, int], float] | None = None,
    ) -> EpochProgress | None:
        """The epoch ends now; None where nothing is counted.

        Args:
            groups: Work-groups of what each tenant runs, where those may be fewer than cores.
            alone_s: By tenant and slot, seconds that what it did takes alone; not of those of whom that is not known.
        """
        if self.read is None or not self.machines:
            return None
        n, m = len(tenants), len(clusters)
        columns: list[list[SharedRunCounters | None]] = []
        progress, traffic, known = np.full((n, m), np.nan), np.zeros((n, m)), np.zeros((n, m))
        for column, cluster in enumerate(clusters):
            now = self.read(cluster.slot)
            before = self._before.get(cluster.slot, now)
            self._before[cluster.slot] = now
            cycles = (now.at_s - before.at_s) * now.clk_hz
            counted = [now.of(tenant).subtract_counters(before.of(tenant)) for tenant in tenants]
            rows = [
                _sharing(
                    each,
                    cycles,
                    (groups or {}).get(tenant),
                    (alone_s or {}).get((tenant, cluster.slot), 0.0) * now.clk_hz,
                )
                for tenant, each in zip(tenants, counted, strict=True)
            ]
            columns.append(rows)
            traffic[:, column] = [each.bytes for each in counted]
            machine = self.machines.get(cluster.module)
            if machine is not None:
                curves = self.predictor.predict(ClusterEpoch(machine.cores, machine.law, tuple(rows)))
                progress[:, column] = [np.nan if curve is None else curve.progress for curve in curves]
                known[:, column] = [each is not None and measure_progress(each) is not None for each in rows]
        return EpochProgress(tuple(zip(*columns, strict=True)), progress, traffic, known)


def _sharing(
    counted: ContextCounters, cycles: float, groups: int | None, alone_cycles: float
) -> SharedRunCounters | None:
    if cycles <= 0 or counted.core_cycles <= 0:
        return None
    return SharedRunCounters(
        cycles,
        counted.core_cycles / cycles,
        counted.instructions,
        counted.requests,
        counted.row_hits,
        groups,
        counted.cache_hits,
        counted.cache_misses,
        counted.stall_cycles,
        alone_cycles=alone_cycles,
    )


def select_present(
    ended: EpochProgress | None,
    was: tuple[Sequence[str], Sequence[ClusterView]],
    tenants: Sequence[str],
    clusters: Sequence[ClusterView],
) -> Rows:
    """What was counted in an epoch, for the tenants and clusters of the next; () where nothing was."""
    if ended is None or not ended.sharing:
        return ()
    row_of = {tenant: row for row, tenant in enumerate(was[0])}
    column_of = {cluster: column for column, cluster in enumerate(was[1])}

    def found(tenant: str, cluster: ClusterView) -> SharedRunCounters | None:
        row, column = row_of.get(tenant), column_of.get(cluster)
        return None if row is None or column is None else ended.sharing[row][column]

    return tuple(tuple(found(tenant, cluster) for cluster in clusters) for tenant in tenants)
