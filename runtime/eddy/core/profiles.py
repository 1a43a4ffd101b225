# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a profile of a kernel is made from: what its launches counted, how they fill lanes, and what the cluster is."""

from __future__ import annotations

from dataclasses import dataclass

from eddy.core.counters import CoreCounters


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """How an ND-range fills the lanes of a core.

    Attributes:
        global_size, local_size: By dimension, as many as were given; of groups not asked for, what suits the cluster.
        lane_fill: Of the lanes that warps of its work-groups have, the part that has work-items, in (0, 1].
        core_warps: Warps it keeps on one core side by side, at most.
    """

    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    lane_fill: float
    core_warps: int


@dataclass(frozen=True, slots=True)
class KernelTotals:
    """What launches of one kernel did on one kind of cluster.

    Attributes:
        core_s: Core-seconds they took.
        counters: Of all cores together; None where nothing was counted.
        shape: Of the last launch; None where it is not known.
    """

    name: str
    module: str
    launches: int
    core_s: float
    counters: CoreCounters | None = None
    shape: LaunchShape | None = None

    def add(self, core_s: float, cores: tuple[CoreCounters, ...], shape: LaunchShape | None) -> KernelTotals:
        """With one launch more."""
        ran = [core for core in cores if core.cycles]
        counters = total([*([] if self.counters is None else [self.counters]), *ran])
        return KernelTotals(self.name, self.module, self.launches + 1, self.core_s + core_s, counters, shape)


def total(cores: list[CoreCounters]) -> CoreCounters | None:
    """What cores of one kind counted together; None of none."""
    whole = None
    for core in cores:
        whole = core if whole is None else whole.add_counters(core)
    return whole


@dataclass(frozen=True, slots=True)
class ClusterBounds:
    """What a kind of cluster can do at most.

    Attributes:
        cores: It has so many.
        warps: Of a core.
        threads: Lanes of a warp.
        clk_hz: Clock of the cores.
        line_bytes: What one access to memory moves.
        memory_bytes_per_s: Of the board's memory, for all who use it; 0 where that is not known.
    """

    cores: int
    warps: int
    threads: int
    clk_hz: float
    line_bytes: int
    memory_bytes_per_s: float = 0.0

    @property
    def memory_bytes_per_cycle(self) -> float:
        """Of one core's cycle while all cores of the cluster use memory; 0 where that is not known."""
        return self.memory_bytes_per_s / self.clk_hz / self.cores
