# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Programs of [001] Table 2 side by side on the RTL of one cluster, each started again and again on cores of its own.

What a tenant has done is counted where it happens: instructions and stalls by its cores; requests, bytes and row hits
by the memory controller, by context. Lines that its cores asked for and memory did not serve came from the shared
cache.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from eddy.board.port.profile import Dram, load_profile
from eddy.core.errors import EddyError
from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.launches.launch import array_of, extent
from eddy.gpu.launches.packing import Packing
from eddy.gpu.programs.layout import REGION_BASE
from eddy.gpu.programs.ndrange import arrange_ndrange
from eddy.gpu.programs.program import Program
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.workloads.base import Step, Workload, verify
from eddy_sim.boards.dram import dram_parameters
from eddy_sim.gpu.cluster_build import Shape
from eddy_sim.gpu.dram_cluster import DramCluster

from eddy_studies.hsm.rtl_data import CounterTotals
from eddy_studies.hsm.workloads import SMALL, WORKLOADS

CORES = 8
SHAPE = Shape(CORES, 4, 4, l2_bytes=65536)
"""Lanes of a whole cluster have 64 KiB of shared cache, 2 KiB each; [001]'s 2560 have 6 MiB, 2.4 KiB each."""
CLK_HZ = 100e6
MEMORY = replace(load_profile("hsm").dram, base=0, bytes=64 << 20)
"""A channel of [001] Table 1, its bus cycle stretched to 40 ns: a line takes two of them there and here."""
IDEAL = replace(
    MEMORY, rcd_ns=0, rp_ns=0, cl_ns=0, ras_ns=0, faw_ns=0, wtr_ns=0, rtw_ns=0, row_hit_cap=0, bytes_per_s=64e9
)
"""Answers at once, a beat a cycle."""
EPOCH_CYCLES = 20_000
SPACE_BYTES = (16 << 20) + 5 * 8192
"""From one tenant's region to the next one's; regions do not begin in the same bank."""
READ = ("cycles", "instructions", "line_reads", "fetch_misses", "stall_memory")
LIMIT_CYCLES = 50_000_000


class KernelStuck(EddyError):
    """A kernel of the study was stopped, or did not end; the message says which."""

    code = "study-kernel-stuck"


@cache
def _compiler() -> Compiler:
    return Compiler()


@cache
def compiled(name: str, seed: int = 1, small: bool = False) -> tuple[Workload, Program]:
    """A workload of the study, and what the compiler makes of its source."""
    made = (SMALL if small else WORKLOADS)[name](seed)
    return made, _compiler().compile(made.text(), defines=made.defines)


class Rounds:
    """A workload's launches for some cores, one after the other and from the start again; memory as each begins.

    Args:
        shape: Of the cluster as its kernels see it: the cores that are theirs.

    Attributes:
        left: The workload's buffers, as the launches of the first round that ended so far left them.
        groups: Work-groups of each launch packed so far.
    """

    def __init__(self, workload: Workload, program: Program, shape: ClusterShape) -> None:
        self.workload = workload
        self._program, self._shape = program, shape
        self._images: list[tuple[npt.NDArray[np.uint8], int]] = []
        self.left = {name: array.copy() for name, array in workload.buffers.items()}
        self._packing: Packing | None = None
        self._arrays: Mapping[Any, npt.NDArray[Any]] = {}
        self.groups: list[int] = []
        self._checked = False

    @property
    def steps(self) -> int:
        """Launches of a round."""
        return len(self.workload.steps)

    def image(self, step: int) -> tuple[npt.NDArray[np.uint8], int]:
        """What lies in the region before a launch, and the kernel's argument."""
        if step == len(self._images):
            self._images.append(self._packed(self.workload.steps[step]))
        return self._images[step]

    def _packed(self, step: Step) -> tuple[npt.NDArray[np.uint8], int]:
        arguments = [self.left[a] if isinstance(a, str) else a for a in step.arguments]
        arrays: dict[Hashable, npt.NDArray[Any]] = {
            id(array): array for array in map(array_of, arguments) if array is not None
        }
        values = [extent(value) if isinstance(value, np.ndarray) else value for value in arguments]
        made = arrange_ndrange(
            self._shape, self._program, step.kernel, step.global_size, values, local_size=step.local_size
        )
        packing = Packing(self._shape, self._program, step.kernel, made, values)
        image = np.zeros(packing.bytes, np.uint8)
        placed = ((each.offset, arrays[each.key].tobytes()) for each in packing.arrays)
        for at, data in (*packing.fixed(), *placed, packing.block(0, made.groups)):
            image[at : at + len(data)] = np.frombuffer(data, np.uint8)
        self._packing, self._arrays = packing, arrays
        self.groups.append(made.groups)
        return image, packing.block_address

    def ended(self, step: int, region: npt.NDArray[np.uint8]) -> None:
        """Take over what a launch left, in the first round; its end is compared with the reference.

        Raises:
            WrongResult: Something else is there.
        """
        if self._checked or self._packing is None:
            return
        for placed in self._packing.arrays:
            if placed.written:
                array = self._arrays[placed.key]
                array[...] = region[placed.offset : placed.offset + placed.bytes].view(array.dtype).reshape(array.shape)
        if step + 1 == self.steps:
            verify(self.workload, self.left)
            self._checked = True


@cache
def rounds(name: str, cores: int, seed: int = 1, small: bool = False) -> Rounds:
    """The launches of a workload of the study; results are verified once, and memory is kept."""
    return Rounds(*compiled(name, seed, small), ClusterShape(cores, SHAPE.warps, SHAPE.threads))


class ClusterTenant:
    """A workload on cores of a cluster, started again when it ends.

    Attributes:
        marks: What it had counted at its start, and at the end of each round.
        ends: Cycle in which each launch ended.
    """

    def __init__(self, machine: DramCluster, number: int, work: Rounds, cores: Sequence[int]) -> None:
        self.cores, self.work = tuple(cores), work
        self._machine, self._number, self._base = machine, number, number * SPACE_BYTES
        self._step = 0
        self._groups = 0
        machine.assign_cores(self.cores, number, self._base)
        self._before = {core: machine.counters(core, READ) for core in self.cores}
        self.marks: list[CounterTotals] = []
        self.ends: list[int] = []

    def start(self) -> None:
        """Launch the next kernel."""
        image, argument = self.work.image(self._step)
        self._machine.memory[self._base : self._base + len(image)] = image
        self._machine.start(REGION_BASE, argument, self.cores)
        if not self.marks:
            self.marks.append(self.counted())

    def idle(self) -> None:
        """All cores ended: take the result, and go on.

        Raises:
            Stuck: A core was stopped.
            WrongResult: The first round left something else than the reference.
        """
        faults = [fault for fault in self._machine.faults() if fault.core in self.cores]
        if faults:
            raise KernelStuck(f"{self.work.workload.name} was stopped: {faults[0]}")
        self.ends.append(self._machine.cycles)
        length = len(self.work.image(self._step)[0])
        self.work.ended(self._step, self._machine.memory[self._base : self._base + length])
        self._step = (self._step + 1) % self.work.steps
        if self._step == 0:
            self._groups += sum(self.work.groups)
            self.marks.append(self.counted())
        self.start()

    def counted(self) -> CounterTotals:
        """What it did so far."""
        machine, total = self._machine, dict.fromkeys(READ, 0)
        for core in self.cores:
            for name, value in machine.counters(core, READ).items():
                total[name] += value - self._before[core][name]
        served = machine.traffic(self._number)
        lines = total["line_reads"]
        return CounterTotals(
            **{"cycles": machine.cycles, "core_cycles": total["cycles"], "instructions": total["instructions"]},
            **{"requests": served.reads + served.writes, "bytes": served.bytes, "row_hits": served.row_hits},
            **{"cache_hits": max(0, lines - served.reads), "cache_misses": served.reads},
            **{"stall_cycles": total["stall_memory"], "groups": self._groups},
        )


@dataclass(frozen=True, slots=True)
class TenantRun:
    """What one tenant did in a run.

    Attributes:
        marks: At its start, and at the end of each round.
        epochs: Between the ends of epochs.
        ends: Cycle in which each launch ended.
    """

    marks: tuple[CounterTotals, ...]
    epochs: tuple[CounterTotals, ...]
    ends: tuple[int, ...] = ()

    @property
    def whole(self) -> CounterTotals:
        """Over all complete rounds."""
        return self.marks[-1].minus(self.marks[0])


Enough = Callable[[Sequence[ClusterTenant]], bool]


def run_workloads(
    works: Sequence[tuple[str, Sequence[int]]],
    enough: Enough,
    *,
    shape: Shape = SHAPE,
    dram: Dram = MEMORY,
    seed: int = 1,
    small: bool = False,
) -> tuple[TenantRun, ...]:
    """Run workloads side by side, each on its cores, until it is enough.

    Args:
        works: Name and cores of each.
        enough: Asked after every epoch and whenever a kernel ended.
        shape: The cluster; its warps and lanes are `SHAPE`'s.
        small: In the sizes of tests.

    Raises:
        Stuck: A kernel was stopped, or it is never enough.
        WrongResult: A program left something else than its reference.
    """
    machine = DramCluster(shape, dram_parameters(dram), clk_hz=CLK_HZ)
    tenants = [
        ClusterTenant(machine, number, rounds(name, len(cores), seed, small), cores)
        for number, (name, cores) in enumerate(works)
    ]
    for tenant in tenants:
        tenant.start()
    sampled = [[tenant.counted()] for tenant in tenants]
    due = machine.cycles + EPOCH_CYCLES
    while not enough(tenants):
        running = machine.run(max(1, due - machine.cycles))
        for tenant in tenants:
            if not running.intersection(tenant.cores):
                tenant.idle()
        if machine.cycles >= due:
            due += EPOCH_CYCLES
            for samples, tenant in zip(sampled, tenants, strict=True):
                samples.append(tenant.counted())
        if machine.cycles > LIMIT_CYCLES:
            raise KernelStuck(f"{[name for name, _ in works]} did not end within {LIMIT_CYCLES} cycles")
    found = []
    for samples, tenant in zip(sampled, tenants, strict=True):
        epochs = tuple(after.minus(before) for before, after in pairwise(samples))
        found.append(TenantRun(tuple(tenant.marks), epochs, tuple(tenant.ends)))
    return tuple(found)
