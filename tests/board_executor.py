# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels on a board, one after the other: the executor port of `eddy.gpu` over the board port.

What `eddy.gpu.launches.launch` and the workloads run on a model of the instruction set, or on a cluster by itself, runs
through this on a cluster in a slot: behind firewall and clock crossing, in buffers of the arena, on any board. For
tests, which have the board to themselves; the hypervisor launches its tenants' kernels itself.
"""

from __future__ import annotations

from eddy.board.port.port import Access, BoardEvent, BoardPort, Cause, Grant, KernelLaunch, Launch
from eddy.core.errors import BoardFault
from eddy.gpu.launches.executor import Execution, Fault
from eddy.gpu.programs.shape import ClusterShape


class BoardExecutor:
    """A cluster that is loaded in a slot.

    Args:
        board: The board; nobody else waits for its events meanwhile.
        shape: What the cluster in it is made of; its `cores` are how many run each kernel.
        first_core: The first of them.
    """

    def __init__(self, board: BoardPort, slot: int, shape: ClusterShape, first_core: int = 0) -> None:
        self._board, self._slot, self.shape = board, slot, shape
        self._cores = tuple(range(first_core, first_core + shape.cores))
        self._hz = next(image.clk_hz for image in board.images() if image.sha256 == board.state().slots[slot].image)
        self._items = 0
        self.events: list[BoardEvent] = []
        """How each kernel ended, in order."""

    def execute(self, region: bytearray, entry: int, argument: int, limit: int) -> Execution:
        """See `eddy.gpu.launches.executor.Executor`; `limit` counts clock cycles of the slot.

        Raises:
            BoardFault: It ended for a reason that is neither its own nor its limit.
        """
        buffer = self._board.allocate(len(region), "executor")
        try:
            self._board.write(buffer.id, 0, bytes(region))
            event = self._run(buffer.id, entry, argument, limit / self._hz)
            region[:] = self._board.read(buffer.id, 0, len(region))
        finally:
            self._board.free(buffer.id)
        faults = tuple(
            Fault(report.core, report.fault, report.fault_pc, report.fault_value)
            for report in event.cores
            if report.fault
        )
        if event.cause not in (Cause.NONE, Cause.TIME_LIMIT) and not faults:
            raise BoardFault(f"the kernel was ended: {event.cause.value}; {event.detail}", cause=event.cause.value)
        counters = tuple(report.counters for report in event.cores)
        cycles = max((core.cycles for core in counters), default=0)
        return Execution(event.cause is not Cause.TIME_LIMIT, cycles, counters, faults)

    def _run(self, region: int, entry: int, argument: int, limit_s: float) -> BoardEvent:
        self._items += 1
        kernel = KernelLaunch(region, entry, argument, self._cores)
        item = f"executor-{self._items}"
        self._board.launch(self._slot, Launch(item, (), (Grant(region, Access.READ_WRITE),), limit_s, kernel=kernel))
        while True:
            for event in self._board.wait(float("inf")):
                self._board.wait(0.0, event.seq)
                if event.item == item:
                    self.events.append(event)
                    return event
