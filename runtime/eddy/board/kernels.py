"""Kernels on a slot's GPU cluster: what a launch must be, several side by side, and how each one ended.

Kernels on disjoint cores run at once, each with a memory context of its own and one window, its region. One that reads
outside it, traps or runs too long is ended by itself: the others neither see nor wait for it, and its cores are cleared
by their next start.
"""

from __future__ import annotations

from dataclasses import dataclass

from eddy.board.arena import Arena
from eddy.board.clock import Clock
from eddy.board.fabric import Cluster, Fault, KernelEnd, KernelStart, SlotFabric
from eddy.board.handover import MemoryGate, NotDrained
from eddy.board.lines import RestingLine
from eddy.board.port import Access, Cause, CoreReport, KernelLaunch, Launch
from eddy.core.errors import Conflict, InvalidRequest
from eddy.gpu.layout import REGION_BASE

HALT_BOUND_S = 1e-3
"""How long halted cores may take to let their last stores land: as long as a slot may take to drain."""
MOST_REGION_BYTES = 1 << 30
DEAF = "a core that was halted did not stop"

_CAUSES = {
    "illegal": Cause.ILLEGAL_INSTRUCTION,
    "load_misaligned": Cause.MISALIGNED_ACCESS,
    "store_misaligned": Cause.MISALIGNED_ACCESS,
    "fetch_fault": Cause.READ_OUTSIDE_WINDOW,
    "load_fault": Cause.READ_OUTSIDE_WINDOW,
    "store_fault": Cause.WRITE_OUTSIDE_WINDOW,
}
"""Causes of cores' faults; every other fault is a `KERNEL_TRAP`."""
_ONE_KERNELS = (Cause.READ_OUTSIDE_WINDOW, Cause.WRITE_OUTSIDE_WINDOW)
"""Faults of the slot that end the kernel whose context they name, and leave the memory path as it was."""


@dataclass(frozen=True)
class Ended:
    """A kernel that has ended, and how."""

    launch: Launch
    started_s: float
    cause: Cause = Cause.NONE
    detail: str = ""
    cores: tuple[CoreReport, ...] = ()


@dataclass(frozen=True)
class _Running:
    launch: Launch
    started_s: float
    ticket: int
    context: int
    cores: frozenset[int]

    @property
    def limit_s(self) -> float:
        return self.started_s + self.launch.time_limit_s


class SlotFailed(Exception):
    """The slot as a whole went wrong: every kernel in it ends, and it must be closed."""

    def __init__(self, cause: Cause, detail: str) -> None:
        super().__init__(detail)
        self.cause, self.detail = cause, detail


def check_kernel(launch: Launch, kernel: KernelLaunch, region_bytes: int, cores: int) -> tuple[int, ...]:
    """Check a launch against the cluster it is meant for; answer the cores it takes.

    Args:
        launch: The launch.
        kernel: Its kernel.
        region_bytes: Size of its region.
        cores: How many cores the cluster has.

    Raises:
        InvalidRequest: Says which field, and what it may be.
    """
    if launch.registers or launch.status != -1:
        raise InvalidRequest("a kernel's launch has neither registers nor a status register", field="registers")
    if tuple((grant.buffer, grant.access) for grant in launch.grants) != ((kernel.region, Access.READ_WRITE),):
        raise InvalidRequest(
            f"a kernel is granted its region, buffer {kernel.region}, to read and write, and nothing else",
            field="grants",
            allowed=f"buffer {kernel.region}, rw",
        )
    if region_bytes > MOST_REGION_BYTES:
        raise InvalidRequest(
            f"a region has at most {MOST_REGION_BYTES} bytes, not {region_bytes}",
            field="kernel.region",
            allowed=MOST_REGION_BYTES,
        )
    last = REGION_BASE + region_bytes - 4
    if kernel.entry % 4 or not REGION_BASE <= kernel.entry <= last:
        raise InvalidRequest(
            f"the program's entry is in its region, not at {kernel.entry:#x}",
            field="kernel.entry",
            allowed=f"multiples of 4 from {REGION_BASE:#x} to {last:#x}",
        )
    if not 0 <= kernel.argument < 1 << 32:
        raise InvalidRequest(f"argument {kernel.argument} has more than 32 bits", field="kernel.argument")
    asked = kernel.cores or tuple(range(cores))
    if len(set(asked)) != len(asked) or not all(0 <= core < cores for core in asked):
        raise InvalidRequest(
            f"the cluster has cores 0 to {cores - 1}, each to be named once, not {list(asked)}",
            field="kernel.cores",
            allowed=f"0..{cores - 1}",
        )
    return asked


def check_apart(kernel: KernelLaunch, cores: tuple[int, ...], other: Launch, taken: frozenset[int]) -> None:
    """Refuse a kernel beside another one that runs on the cores `taken`.

    Raises:
        Conflict: They share a core, or their region.
    """
    if shared := sorted(taken.intersection(cores)):
        raise Conflict(
            f"cores {shared} run item {other.item}; wait for it, or name other cores",
            field="kernel.cores",
            item=other.item,
        )
    if other.kernel is not None and other.kernel.region == kernel.region:
        raise Conflict(
            f"buffer {kernel.region} is the region of item {other.item}, which runs; kernels share no memory",
            field="kernel.region",
            item=other.item,
        )


class Kernels:
    """The kernels that run on the cluster of one slot.

    Args:
        hardware: The slot.
        done: The interrupt of the cluster.
        gate: What it may reach of memory.
        cluster: The cluster in it.
        clock: Board time, for bounded waits.
        arena: Where regions are.
    """

    def __init__(
        self,
        hardware: SlotFabric,
        done: RestingLine,
        gate: MemoryGate,
        cluster: Cluster,
        clock: Clock,
        arena: Arena,
    ) -> None:
        self._hardware, self._done, self._gate, self._cluster = hardware, done, gate, cluster
        self._clock, self._arena = clock, arena
        self._running: dict[str, _Running] = {}
        self._cores = cluster.shape.cores
        self._ends: dict[int, KernelEnd] = {}
        self._ended: list[Ended] = []

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
        """
        kernel = launch.kernel
        assert kernel is not None
        region = self._arena.get(kernel.region)
        cores = check_kernel(launch, kernel, region.bytes, self._cores)
        for other in self._running.values():
            check_apart(kernel, cores, other.launch, other.cores)
        # Cores are disjoint, so that the lowest one's number is nobody else's: the context, and the window's place.
        context = min(cores)
        started = KernelStart(kernel.entry, kernel.argument, region.address, region.bytes, cores, context)
        self._done.arm()
        self._hardware.fault.arm()
        self._gate.open(launch.grants, context, place=context)
        started_s = self._clock.now_s()
        try:
            ticket = self._cluster.start(started)
        except BaseException:
            self._gate.close(context)
            raise
        self._running[launch.item] = _Running(launch, started_s, ticket, context, frozenset(cores))

    def settle(self) -> None:
        """See which kernels have ended by themselves, or by a fault.

        Raises:
            SlotFailed: The slot as a whole has a fault.
        """
        faulty, before = True, len(self._ended)
        while faulty:
            self._poll()
            # After the reads, because a module that does not answer them shows there, and what was read is poison.
            fault = self._hardware.control.fault()
            faulty = fault.cause is not Cause.NONE
            if faulty:
                self._blame(fault)
            for running in list(self._running.values()):
                if running.ticket in self._ends:
                    self._end(running)
        if self._running:
            self._done.told(something=len(self._ended) > before)

    def end_late(self) -> None:
        """Halt what has run longer than it may.

        Raises:
            SlotFailed: A core does not stop.
        """
        for running in list(self._running.values()):
            if self._clock.now_s() >= running.limit_s:
                detail = f"not done after {running.launch.time_limit_s:g} s of board time"
                self._stop(running, Cause.TIME_LIMIT, detail)

    def stop(self, item: str) -> None:
        """Halt one kernel, or all with ``""``.

        Raises:
            SlotFailed: A core does not stop.
        """
        for name, running in list(self._running.items()):
            if item in ("", name):
                self._stop(running, Cause.STOPPED, "stopped on request")

    def give_up(self, cause: Cause, detail: str) -> None:
        """End everything without asking the cluster, which may not answer; the slot is about to be closed."""
        self._ended += [Ended(running.launch, running.started_s, cause, detail) for running in self._running.values()]
        self._running.clear()

    def take_ended(self) -> tuple[Ended, ...]:
        """What has ended since this was last asked, in order."""
        ended, self._ended = tuple(self._ended), []
        return ended

    # Behind the calls

    def _poll(self) -> None:
        self._ends.update((end.ticket, end) for end in self._cluster.poll())

    def _blame(self, fault: Fault) -> None:
        """End the kernel that a fault of the firewall belongs to; forget the fault, so that the next one shows."""
        culprit = next((r for r in self._running.values() if r.context == fault.context), None)
        if fault.cause not in _ONE_KERNELS or culprit is None:
            raise SlotFailed(fault.cause, fault.detail)
        # Only once its cores have stopped: until then they may add further faults.
        self._stop(culprit, fault.cause, fault.detail)
        self._hardware.control.clear_fault()

    def _stop(self, running: _Running, cause: Cause, detail: str) -> None:
        """Halt a kernel, wait until its cores have stopped, and say why it ended."""
        deadline_s = self._clock.now_s() + HALT_BOUND_S
        if running.ticket not in self._ends:
            self._cluster.halt(running.ticket)
            self._poll()
        while running.ticket not in self._ends:
            if self._clock.now_s() >= deadline_s:
                del self._running[running.launch.item]
                self._ended.append(Ended(running.launch, running.started_s, cause, f"{detail}; {DEAF}"))
                raise SlotFailed(Cause.MODULE_ERROR, f"{DEAF}, and the slot was closed")
            self._poll()
        fault = self._hardware.control.fault()
        if fault.cause not in (Cause.NONE, *_ONE_KERNELS):
            raise SlotFailed(fault.cause, fault.detail)
        self._end(running, cause, detail)

    def _end(self, running: _Running, cause: Cause = Cause.NONE, detail: str = "") -> None:
        """Take out a kernel whose cores have stopped; their faults say why, where nothing else does.

        Raises:
            SlotFailed: Its cores say that they have stopped, and its memory accesses go on.
        """
        try:
            self._gate.close(running.context)
        except NotDrained as late:
            raise SlotFailed(Cause.MODULE_ERROR, f"item {running.launch.item} has ended, but its {late}") from late
        reports = self._ends.pop(running.ticket).cores
        del self._running[running.launch.item]
        faults = [report for report in reports if report.fault]
        if faults and cause is Cause.NONE:
            cause = _CAUSES.get(faults[0].fault, Cause.KERNEL_TRAP)
        detail = "; ".join(filter(None, [detail, *map(_describe, faults)]))
        self._ended.append(Ended(running.launch, running.started_s, cause, detail, reports))


def _describe(report: CoreReport) -> str:
    where = f" at {report.fault_pc:#010x}" if report.fault_pc else ""
    return f"core {report.core}: {report.fault}{where}, value {report.fault_value:#010x}"
