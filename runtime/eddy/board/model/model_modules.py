# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a slot of the `model` board holds: one protocol for an accelerator and for a GPU cluster."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from eddy.board.model.model_memory import GrantedMemory, ModelMemory
from eddy.board.port.kernels import cause_of, check_apart, check_kernel, check_no_kernel, kernel_of
from eddy.board.port.pages import PAGE
from eddy.board.port.port import Cause, CoreReport, Launch
from eddy.core.counters import ContextCounters, CoreCounters
from eddy.gpu.launches.executor import Executor
from eddy.gpu.programs.shape import ClusterShape

Behaviour = Callable[[Mapping[int, int], GrantedMemory], None]
"""What a module does with its registers and the memory it was granted.

A GPU cluster's registers are those of the first core that runs the kernel (`KERNEL_REGISTERS`)."""
KERNEL_REGISTERS: Mapping[str, int] = {"entry": 0x100, "argument": 0x104, "region": 0x118}
"""Byte offsets of a kernel's entry, its argument, and the page of its region (hw/regs/gpu_cluster.rdl, core 0)."""

Usage = Callable[[Launch, int, int], ContextCounters]
"""What a kernel has done by now, for `sharing`: from its launch, the cores it has, and cycles since its start."""

MAX_INSTRUCTIONS = 1 << 40
"""After which a kernel that is computed is given up, where it has no limit of its own."""
SLICE_S = 25e-6
"""What starting a slice of a kernel and seeing to its end take beside its work-groups, as on the `rtl` board."""


@dataclass(frozen=True, slots=True)
class RunningItem:
    """Something that runs: how it will end, and the cores it takes of a GPU cluster.

    Attributes:
        launch: What was asked for.
        started_s: When it began.
        verdict: How it will end.
        cores: Of a cluster.
        reports: What its cores report, where it was computed; otherwise they report its time alone.
    """

    launch: Launch
    started_s: float
    verdict: Cause
    cores: frozenset[int]
    reports: tuple[CoreReport, ...] = ()


@dataclass(frozen=True, slots=True)
class Computed:
    """How a kernel that was computed ended.

    Attributes:
        reports: Of its cores.
        cause: Why it went wrong, or `Cause.NONE`.
    """

    reports: tuple[CoreReport, ...]
    cause: Cause


def cores_only(launch: Launch, cores: int, cycles: int) -> ContextCounters:
    """What is known of any kernel: its cores were its own all the time."""
    return ContextCounters(core_cycles=cores * cycles)


Clusters = Callable[[ClusterShape], Executor]
"""Makes what computes kernels: an executor that is a cluster of a shape."""


class ModelModule(Protocol):
    """A module, as far as its kind matters for what it takes and reports."""

    @property
    def shares(self) -> bool:
        """Whether an item may start beside others that run."""

    def check(self, slot: int, launch: Launch, memory: ModelMemory, running: Iterable[RunningItem]) -> tuple[int, ...]:
        """Refuse a launch that the module cannot take; answer the cores it takes of a cluster.

        Raises:
            InvalidRequest: It is for another kind of module, or says something this one cannot do.
            Conflict: What it needs is taken by an item that runs.
        """

    def duration_s(self, slot: int, launch: Launch, listed_s: float) -> float:
        """How long an item takes where the table of latencies says `listed_s`."""

    def compute(self, launch: Launch, memory: ModelMemory, clusters: Clusters, clk_hz: float) -> Computed | None:
        """Have a kernel computed, a cycle an instruction; None of what is no kernel."""

    def registers(self, slot: int, launch: Launch, memory: ModelMemory) -> Mapping[int, int]:
        """What the item finds in the module's registers, by offset."""

    def reports(self, cores: Iterable[int], cycles: int) -> tuple[CoreReport, ...]:
        """What the cores of an item report that took so many cycles."""


class ModelAccelerator:
    """An accelerator: one item at a time, which finds its registers as the launch has them."""

    shares = False

    def check(self, slot: int, launch: Launch, memory: ModelMemory, running: Iterable[RunningItem]) -> tuple[int, ...]:
        """Refuse kernels."""
        check_no_kernel(slot, launch)
        return ()

    def duration_s(self, slot: int, launch: Launch, listed_s: float) -> float:
        """What the table says."""
        return listed_s

    def compute(self, launch: Launch, memory: ModelMemory, clusters: Clusters, clk_hz: float) -> Computed | None:
        """Nothing: it runs no kernels."""
        return None

    def registers(self, slot: int, launch: Launch, memory: ModelMemory) -> Mapping[int, int]:
        """Those of the launch."""
        return dict(launch.registers)

    def reports(self, cores: Iterable[int], cycles: int) -> tuple[CoreReport, ...]:
        """Nothing: it has no cores."""
        return ()


@dataclass(frozen=True, slots=True)
class ModelCluster:
    """A GPU cluster: kernels on disjoint cores beside each other.

    Attributes:
        shape: What it is made of.
    """

    shape: ClusterShape

    shares = True

    def check(self, slot: int, launch: Launch, memory: ModelMemory, running: Iterable[RunningItem]) -> tuple[int, ...]:
        """Refuse what is no kernel, or cannot run here or now."""
        kernel = kernel_of(slot, launch)
        cores = check_kernel(launch, kernel, memory.buffer(kernel.region).bytes, self.shape.cores)
        for item in running:
            check_apart(kernel, cores, item.launch, item.cores)
        return cores

    def duration_s(self, slot: int, launch: Launch, listed_s: float) -> float:
        """What the table says: for the whole, or for each work-group where the kernel counts them."""
        groups = kernel_of(slot, launch).groups
        return SLICE_S + groups * listed_s if groups else listed_s

    def compute(self, launch: Launch, memory: ModelMemory, clusters: Clusters, clk_hz: float) -> Computed | None:
        """What the kernel does to its region, on as many cores as it was given."""
        kernel = launch.kernel
        assert kernel is not None
        cores = sorted(kernel.cores or range(self.shape.cores))
        cluster = clusters(replace(self.shape, cores=len(cores)))
        limit = round(min(launch.time_limit_s * clk_hz, MAX_INSTRUCTIONS))
        run = cluster.execute(memory.bytes_of(kernel.region), kernel.entry, kernel.argument, limit)
        faults = {fault.core: (fault.cause, fault.pc, fault.value) for fault in run.faults}
        reports = tuple(
            CoreReport(core, replace(counters, cycles=counters.instructions), *faults.get(place, ("", 0, 0)))
            for place, (core, counters) in enumerate(zip(cores, run.counters, strict=True))
        )
        cause, _ = cause_of(reports)
        return Computed(reports, Cause.TIME_LIMIT if cause is Cause.NONE and not run.finished else cause)

    def registers(self, slot: int, launch: Launch, memory: ModelMemory) -> Mapping[int, int]:
        """Those of a core that runs the kernel."""
        kernel = kernel_of(slot, launch)
        page = memory.buffer(kernel.region).address // PAGE
        values = {"entry": kernel.entry, "argument": kernel.argument, "region": page}
        return {KERNEL_REGISTERS[name]: value for name, value in values.items()}

    def reports(self, cores: Iterable[int], cycles: int) -> tuple[CoreReport, ...]:
        """The cycles of the item's time; no instruction was executed."""
        idle = (0,) * self.shape.threads
        return tuple(CoreReport(core, CoreCounters(cycles, 0, 0, idle)) for core in sorted(cores))


@functools.lru_cache(maxsize=256)
def cluster_shape(module: str) -> ClusterShape | None:
    """The GPU cluster that a module's name says it is, as ``gpu_1c4w4t`` or ``gpu_1c4w4tx_80mhz``; None where it says
    nothing of the kind."""
    found = re.fullmatch(r"gpu_(\d+)c(\d+)w(\d+)t(x?)(_\d+mhz)?", module)
    return ClusterShape(int(found[1]), int(found[2]), int(found[3]), fpu=not found[4]) if found else None


def module_of(name: str, clusters: Mapping[str, ClusterShape]) -> ModelModule:
    """The module of a name: a cluster where `clusters` or the name says so, else an accelerator."""
    shape = clusters.get(name) or cluster_shape(name)
    return ModelCluster(shape) if shape else ModelAccelerator()
