# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels on a slot's GPU cluster: several side by side, and how each one ended.

Kernels on disjoint cores run at once, each with a memory context of its own and one window, its region (which slices of
one kernel have in common). One that reads
outside it, traps or runs too long is ended by itself: the others neither see nor wait for it, and its cores are cleared
by their next start.
"""

from __future__ import annotations

from dataclasses import dataclass

from eddy.board.port.kernels import cause_of, check_apart, check_kernel, kernel_of
from eddy.board.port.port import Cause, KernelLaunch, Launch
from eddy.board.pynq.fabric import ClusterDriver, Fault, KernelEnd, KernelStart
from eddy.board.pynq.memory_gate import NotDrained
from eddy.board.pynq.runner import EndedItem, RunnerParts, SlotFailed, StartFailed
from eddy.core.counters import CoreCounters
from eddy.core.errors import BoardFault

HALT_BOUND_S = 1e-3
"""How long halted cores may take to let their last stores land: as long as a slot may take to drain."""
DEAF = "a core that was halted did not stop"

_ONE_KERNELS = (Cause.READ_OUTSIDE_WINDOW, Cause.WRITE_OUTSIDE_WINDOW)
"""Faults of the slot that end the kernel whose context they name, and leave the memory path as it was."""


@dataclass(frozen=True)
class _RunningKernel:
    launch: Launch
    started_s: float
    ticket: int
    context: int
    cores: frozenset[int]

    @property
    def limit_s(self) -> float:
        return self.started_s + self.launch.time_limit_s


class ClusterRunner:
    """The kernels that run on the cluster of one slot.

    Args:
        parts: What it works with.
        cluster: The cluster in the slot.
    """

    can_share = True

    def __init__(self, parts: RunnerParts, cluster: ClusterDriver) -> None:
        self._parts, self._cluster = parts, cluster
        self._gate, self._clock = parts.gate, parts.clock
        self._running: dict[str, _RunningKernel] = {}
        self._cores = cluster.shape.cores
        parts.accounts.caches = cluster.shares_cache or parts.hardware.control.shares_cache
        self._ends: dict[int, KernelEnd] = {}
        self._ended: list[EndedItem] = []

    @property
    def launches(self) -> tuple[Launch, ...]:
        """What runs, in the order of its start."""
        return tuple(running.launch for running in self._running.values())

    def next_limit_s(self) -> float:
        """When the first time limit comes."""
        return min((running.limit_s for running in self._running.values()), default=float("inf"))

    def start(self, launch: Launch) -> None:
        """Start a kernel beside those that run.

        Raises:
            InvalidRequest: It is not a launch this cluster can take.
            NotFound: Its region is not there.
            Conflict: A core it wants runs another kernel, or its region is another one's.
            StartFailed: It could not be started, and what it had asked of memory did not end.
        """
        started = self._plan(launch, kernel_of(self._parts.index, launch))
        try:
            self._begin(launch, started)
        except NotDrained as late:
            message = f"slot {self._parts.index} was closed: {late}; load it again"
            error = BoardFault(message, cause=Cause.MODULE_ERROR.value)
            raise StartFailed(error, f"after a start that failed, {late}") from late

    def service(self, fault: bool, done: bool) -> None:
        """See which kernels have ended; halt what has run longer than it may.

        Raises:
            SlotFailed: The slot as a whole has a fault, or a core does not stop.
        """
        late = self._clock.now_s() >= self.next_limit_s()
        if fault or done or late:
            self._settle()
        if late:
            self._end_late()

    def stop(self, item: str) -> None:
        """Halt one kernel, or all with ``""``.

        Raises:
            SlotFailed: A core does not stop.
        """
        for name, running in list(self._running.items()):
            if item in ("", name):
                self._stop(running, Cause.STOPPED, "stopped on request")

    def abandon_all(self, cause: Cause, detail: str) -> None:
        """End everything without asking the cluster, which may not answer; the slot is about to be closed."""
        self._ended += [
            EndedItem(running.launch, running.started_s, cause, detail) for running in self._running.values()
        ]
        self._running.clear()

    def take_ended(self) -> tuple[EndedItem, ...]:
        """What has ended since this was last asked, in order."""
        ended, self._ended = tuple(self._ended), []
        return ended

    def take_interrupt(self) -> str:
        """Nothing: nobody listens but this."""
        return ""

    def running_counters(self) -> tuple[tuple[str, CoreCounters], ...]:
        """What the cores of kernels on somebody's account have counted so far."""
        owner = {core: r.launch.account for r in self._running.values() if r.launch.account for core in r.cores}
        found = self._cluster.counters(sorted(owner)) if owner else {}
        return tuple((owner[core], counters) for core, counters in found.items())

    # Behind the calls

    def _plan(self, launch: Launch, kernel: KernelLaunch) -> KernelStart:
        """What the cluster is told of a kernel that it can take beside those that run."""
        region = self._parts.arena.get(kernel.region)
        cores = check_kernel(launch, kernel, region.bytes, self._cores)
        for other in self._running.values():
            check_apart(kernel, cores, other.launch, other.cores)
        # Cores are disjoint, so that the lowest one's number is nobody else's: the context, and the window's place.
        place = region.address, region.bytes
        return KernelStart(kernel.entry, kernel.argument, *place, cores, context=min(cores), family=kernel.family)

    def _begin(self, launch: Launch, started: KernelStart) -> None:
        self._parts.done.arm()
        self._parts.hardware.fault.arm()
        self._parts.accounts.begin(started.context, launch.account)
        self._gate.open(launch.grants, started.context, place=started.context)
        started_s = self._clock.now_s()
        try:
            ticket = self._cluster.start(started)
        except BaseException:
            self._gate.close(started.context)
            raise
        self._running[launch.item] = _RunningKernel(
            launch, started_s, ticket, started.context, frozenset(started.cores)
        )

    def _settle(self) -> None:
        """See which kernels have ended by themselves, or by a fault.

        Raises:
            SlotFailed: The slot as a whole has a fault.
        """
        faulty, before = True, len(self._ended)
        while faulty:
            self._poll()
            # After the reads, because a module that does not answer them shows there, and what was read is poison.
            fault = self._parts.hardware.control.fault()
            faulty = fault.cause is not Cause.NONE
            if faulty:
                self._blame(fault)
            for running in list(self._running.values()):
                if running.ticket in self._ends:
                    self._end(running)
        if self._running:
            self._parts.done.rearm(something=len(self._ended) > before)

    def _end_late(self) -> None:
        """Halt what has run longer than it may.

        Raises:
            SlotFailed: A core does not stop.
        """
        for running in list(self._running.values()):
            if self._clock.now_s() >= running.limit_s:
                detail = f"not done after {running.launch.time_limit_s:g} s of board time"
                self._stop(running, Cause.TIME_LIMIT, detail)

    def _poll(self) -> None:
        self._ends.update((end.ticket, end) for end in self._cluster.poll())

    def _blame(self, fault: Fault) -> None:
        """End the kernel that a fault of the firewall belongs to; forget the fault, so that the next one shows."""
        culprit = next((r for r in self._running.values() if r.context == fault.context), None)
        if fault.cause not in _ONE_KERNELS or culprit is None:
            raise SlotFailed(fault.cause, fault.detail)
        # Only once its cores have stopped: until then they may add further faults.
        self._stop(culprit, fault.cause, fault.detail)
        self._parts.hardware.control.clear_fault()

    def _stop(self, running: _RunningKernel, cause: Cause, detail: str) -> None:
        """Halt a kernel, wait until its cores have stopped, and say why it ended."""
        deadline_s = self._clock.now_s() + HALT_BOUND_S
        if running.ticket not in self._ends:
            self._cluster.halt(running.ticket)
            self._poll()
        while running.ticket not in self._ends:
            if self._clock.now_s() >= deadline_s:
                del self._running[running.launch.item]
                self._ended.append(EndedItem(running.launch, running.started_s, cause, f"{detail}; {DEAF}"))
                raise SlotFailed(Cause.MODULE_ERROR, f"{DEAF}, and the slot was closed")
            self._poll()
        fault = self._parts.hardware.control.fault()
        if fault.cause not in (Cause.NONE, *_ONE_KERNELS):
            raise SlotFailed(fault.cause, fault.detail)
        self._end(running, cause, detail)

    def _end(self, running: _RunningKernel, cause: Cause = Cause.NONE, detail: str = "") -> None:
        """Take out a kernel whose cores have stopped; their faults say why, where nothing else does.

        Raises:
            SlotFailed: Its cores say that they have stopped, and its memory accesses go on.
        """
        try:
            self._gate.close(running.context)
        except NotDrained as late:
            raise SlotFailed(Cause.MODULE_ERROR, f"a kernel has ended, but its {late}") from late
        reports = self._ends.pop(running.ticket).cores
        self._parts.accounts.ran(running.launch.account, (report.counters for report in reports))
        del self._running[running.launch.item]
        trapped, cores = cause_of(reports)
        cause, detail = trapped if cause is Cause.NONE else cause, "; ".join(filter(None, [detail, cores]))
        self._ended.append(EndedItem(running.launch, running.started_s, cause, detail, reports))
