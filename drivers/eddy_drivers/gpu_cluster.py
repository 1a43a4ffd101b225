# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A GPU cluster's register bank (hw/regs/gpu_cluster.rdl): kernels started, watched, halted, and counted.

Nothing here waits for a kernel. `launch` answers at once with a ticket: the kernel starts if its cores are free, and
queues otherwise. Whoever gets the cluster's interrupt, or a turn, calls `poll`: it takes the interrupt back, tells what
has ended, and starts what can start now. Kernels on disjoint cores run side by side, each with a memory context and a
region of its own. `wait` is `poll` with a bound, for scripts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from eddy_drivers.bank import Registers
from eddy_drivers.gpu_kernel import (
    PAGE,
    REGION_AT,
    REGION_MOST,
    CoreEnd,
    End,
    Fault,
    Kernel,
    RegionOverlap,
    TrapCause,
    check,
)
from eddy_drivers.gpu_queue import KernelQueue, QueuedKernel, QueueFull
from eddy_drivers.regs import gpu_cluster as regs

__all__ = [
    "COUNTERS", "DEPTH", "KIND", "MAP_MAJOR", "NOWHERE", "PAGE", "REGION_AT", "REGION_MOST", "ClusterConfiguration",
    "CoreEnd", "End", "Fault", "GpuCluster", "Kernel", "QueueFull", "RegionOverlap", "TrapCause",
]  # fmt: skip

KIND = 2
"""The identity block's kind for a cluster."""
MAP_MAJOR = 1
"""The register-map version this driver was made for."""
DEPTH = 16
"""Kernels that may wait for their cores, unless said otherwise."""
NOWHERE = (1 << 28) - (REGION_MOST // PAGE)
"""Page that the other base registers get: the last gibibyte of 40-bit addresses, which no memory is at."""

COUNTERS = (
    *("cycles", "instructions", "loads", "stores", "fetch_misses", "data_hits", "data_misses"),
    *("line_reads", "line_writes", "stall_fetch", "stall_memory", "stall_unit", "stall_barrier", "stall_pipeline"),
    *("replays", "total_active_cycles"),
)
"""Names of a core's counters, in the order of COUNTER; CYCLE_THREAD_X for X = 1, 2, ... follow."""
_CYCLES = COUNTERS.index("cycles")


@dataclass(frozen=True)
class ClusterConfiguration:
    """What a cluster is made of; sizes in bytes, of one core. `l2_bytes` is what the cores share, 0 for nothing."""

    cores: int
    warps: int
    threads: int
    fpu: bool
    icache_bytes: int
    dcache_bytes: int
    local_bytes: int
    l2_bytes: int = 0


class GpuCluster(Registers):
    """Driver of one cluster's register window.

    Args:
        description: What PYNQ knows of the window. Nothing is read or written while this is made.
        depth: Kernels that may wait for their cores.
    """

    bindto = ["eddy:gpu:gpu_1c4w4t:1.0"]  # noqa: RUF012 - the form PYNQ reads

    def __init__(self, description: dict[str, Any], depth: int = DEPTH) -> None:
        super().__init__(description=description)
        self._configuration: ClusterConfiguration | None = None
        self._queue = KernelQueue(depth)
        self._ended: list[End] = []
        self._fenced_cores = 0
        self._interrupts = False

    # What it is

    @property
    def configuration(self) -> ClusterConfiguration:
        """What the cluster is made of; read once."""
        if self._configuration is None:
            shape, sizes = self._fields(regs.CONFIG), self._fields(regs.LIMITS)
            self._configuration = ClusterConfiguration(
                cores=shape["cores"],
                warps=shape["warps"],
                threads=shape["threads"],
                fpu=bool(shape["fpu"]),
                icache_bytes=1 << sizes["icache"],
                dcache_bytes=1 << sizes["dcache"],
                local_bytes=1 << sizes["local_memory"],
                l2_bytes=1 << sizes["l2"] if sizes["l2"] else 0,
            )
        return self._configuration

    @property
    def free(self) -> int:
        """How many more kernels may wait."""
        return self._queue.free

    @property
    def running(self) -> tuple[int, ...]:
        """Tickets of kernels that have started and were not reported as ended."""
        return tuple(self._queue.running)

    @property
    def waiting(self) -> tuple[int, ...]:
        """Tickets of kernels that wait for their cores, in order."""
        return tuple(self._queue.waiting)

    def busy_cores(self) -> tuple[int, ...]:
        """Cores that run, or drain their stores."""
        status = self._get(regs.STATUS.offset)
        return tuple(core for core in range(self.configuration.cores) if status >> core & 1)

    # Kernels

    def launch(self, kernel: Kernel) -> int:
        """Start a kernel, or queue it until its cores are free; never waits.

        Returns:
            Its ticket, by which `poll` reports its end.

        Raises:
            ValueError: It names cores or addresses that are not there, or a context another kernel uses.
            RegionOverlap: Its region overlaps that of a kernel that may run at the same time.
            QueueFull: `depth` kernels wait already; poll, and try again.
        """
        check(kernel, self.configuration.cores)
        ticket = self._queue.add(kernel)
        self._start_ready()
        return ticket

    def poll(self) -> tuple[End, ...]:
        """Take the interrupt back and tell which kernels have ended since the last call; start what can start.

        A kernel ends when all its cores have. If one of them was stopped by a fault, the others are halted.
        """
        # First the interrupt, then the status: an end in between raises the interrupt again.
        self._put(regs.INTERRUPT_STATUS.offset, 0)
        status = self._get(regs.STATUS.offset)
        for ticket, entry in list(self._queue.running.items()):
            if not status & entry.mask:
                self._ended.append(self._collect(ticket, entry))
                del self._queue.running[ticket]
            elif status & entry.mask != entry.mask and not entry.stopping:
                self._halt_after_fault(entry, status)
        self._start_ready()
        ended, self._ended = self._ended, []
        return tuple(ended)

    def wait(self, ticket: int, polls: int = 100_000) -> End:
        """Poll until a kernel has ended; what else ends meanwhile is kept for `poll`.

        Raises:
            ValueError: No such kernel.
            TimeoutError: It has not ended after so many polls; `halt` it.
        """
        self._queue.find(ticket)
        kept: list[End] = []
        for _ in range(polls):
            ended = self.poll()
            kept += [end for end in ended if end.ticket != ticket]
            found = [end for end in ended if end.ticket == ticket]
            if found:
                self._ended = kept + self._ended
                return found[0]
        self._ended = kept + self._ended
        raise TimeoutError(f"kernel {ticket} has not ended after {polls} polls; halt it")

    def halt(self, ticket: int) -> None:
        """Ask a kernel to stop: its cores issue nothing more, what is on its way to memory lands, others go on.

        `poll` reports the end. One that still waits ends without having begun.

        Raises:
            ValueError: No such kernel.
        """
        entry = self._queue.find(ticket)
        entry.halted = entry.stopping = True
        if ticket in self._queue.waiting:
            del self._queue.waiting[ticket]
            self._ended.append(End(ticket, (), halted=True))
        else:
            self._put(regs.HALT.offset, regs.HALT.encode(mask=entry.mask))

    def quiesce(self) -> None:
        """No interrupt any more; stop every core, forget every kernel."""
        self._put(regs.INTERRUPT_ENABLE.offset, 0)
        self._put(regs.HALT.offset, regs.HALT_MASK.mask)
        self._put(regs.INTERRUPT_STATUS.offset, 0)
        self._interrupts = False
        self._queue.clear()
        self._ended = []

    # Counters and faults

    def counters(self, core: int) -> Mapping[str, int]:
        """What a core has counted since its kernel began, all in one instant; it may be running.

        Returns:
            Numbers by the names of `COUNTERS`, then ``cycle_thread_1`` and so on for the lanes of a warp.
        """
        self._put(regs.SNAPSHOT.offset, regs.SNAPSHOT.encode(core=core))
        # Nothing counts faster than cycles: while those have no high word, no counter has.
        wide = self._get(regs.COUNTER_HI.at(_CYCLES)) != 0
        lanes = (f"cycle_thread_{x}" for x in range(1, self.configuration.threads + 1))
        return MappingProxyType({name: self._counter(index, wide) for index, name in enumerate((*COUNTERS, *lanes))})

    def fault(self, core: int) -> Fault | None:
        """Why a core's last kernel was stopped; None where it was not."""
        word = regs.CORE_CAUSE.decode(self._get(regs.CORE_CAUSE.at(core)))
        if not word["fault"]:
            return None
        pc, value = self._get(regs.CORE_FAULT_PC.at(core)), self._get(regs.CORE_FAULT_VALUE.at(core))
        return Fault(TrapCause(word["cause"]), pc, value)

    # Behind the calls

    def _start_ready(self) -> None:
        """Start what waits and whose cores nobody has or waited for earlier."""
        if self._queue.waiting:
            # A core may still drain what a program before this one left running.
            for entry in self._queue.start_ready(self._get(regs.STATUS.offset)):
                self._start(entry)

    def _start(self, entry: QueuedKernel) -> None:
        kernel = entry.kernel
        for place, core in enumerate(kernel.cores):
            if not self._fenced_cores >> core & 1:
                for base in (regs.CORE_BASE0, regs.CORE_BASE1, regs.CORE_BASE3):
                    self._put(base.at(core), NOWHERE)
                self._fenced_cores |= 1 << core
            self._put(regs.CORE_BASE2.at(core), kernel.address // PAGE)
            self._put(regs.CORE_START.at(core), kernel.entry)
            self._put(regs.CORE_ARGUMENT.at(core), kernel.argument)
            self._put(regs.CORE_CONTEXT.at(core), kernel.context)
            self._put(regs.CORE_PLACE.at(core), regs.CORE_PLACE.encode(id=place, count=len(kernel.cores)))
        if not self._interrupts:
            every = (1 << self.configuration.cores) - 1
            self._put(regs.INTERRUPT_ENABLE.offset, regs.INTERRUPT_ENABLE.encode(cores=every))
            self._interrupts = True
        self._put(regs.LAUNCH.offset, regs.LAUNCH.encode(mask=entry.mask))

    def _halt_after_fault(self, entry: QueuedKernel, status: int) -> None:
        ended: Sequence[int] = [core for core in entry.kernel.cores if not status >> core & 1]
        if any(self.fault(core) is not None for core in ended):
            entry.stopping = True
            self._put(regs.HALT.offset, regs.HALT.encode(mask=entry.mask & status))

    def _collect(self, ticket: int, entry: QueuedKernel) -> End:
        cores = tuple(CoreEnd(core, self.counters(core), self.fault(core)) for core in entry.kernel.cores)
        return End(ticket, cores, entry.halted)

    def _counter(self, index: int, wide: bool) -> int:
        high = self._get(regs.COUNTER_HI.at(index)) if wide else 0
        return high << 32 | self._get(regs.COUNTER_LO.at(index))
