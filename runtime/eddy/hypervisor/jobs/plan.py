# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The plan of a kernel job: what its region holds, what the board is told of a slice, what is read at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from eddy.board.port.port import Access, BoardEvent, Buffer, Grant, KernelLaunch, Launch
from eddy.core.applications import Application
from eddy.core.records import KernelRecord
from eddy.gpu.launches.executor import Fault
from eddy.gpu.launches.launch import describe
from eddy.gpu.launches.packing import Packing
from eddy.gpu.launches.request import KernelRequest, RepeatedArray
from eddy.gpu.programs.layout import REGION_BASE
from eddy.gpu.programs.program import Program
from eddy.hypervisor.jobs.buffers import Pieces


@dataclass(frozen=True, slots=True)
class Plan:
    """A kernel job that can run.

    Attributes:
        program: What it was compiled to.
        packing: How it lies in its region.
        record: What it is, for the job's record.
        application: What it is to the state machine.
        soft: Whether it computes with floating point that its cluster has no unit for.
        clusters: Clusters of its kind whose cores may run slices of it at the same time.
    """

    request: KernelRequest
    program: Program
    packing: Packing
    record: KernelRecord
    application: Application
    soft: bool = False
    clusters: int = 1

    def parts(self, fetch: Callable[[str], Pieces]) -> Iterator[tuple[int, bytes]]:
        """What the region holds before the first slice, everything else being zero: offset and bytes.

        Args:
            fetch: Gives the bytes of a digest, in pieces.
        """
        yield from self.packing.fixed()
        for placed in self.packing.arrays:
            array = self.request.array(int(str(placed.key)))
            assert array is not None
            for at, piece in fetch(array.digest):
                yield placed.offset + at, piece

    def block(self, item: int) -> tuple[int, bytes]:
        """The launch block of a slice: offset in the region and bytes."""
        first = item * self.record.slice_groups
        return self.packing.block(first, min(self.record.slice_groups, self.record.groups - first))

    def launch(self, name: str, region: Buffer) -> Launch:
        """What the board is told of a slice; the launch block was put in before."""
        kernel = KernelLaunch(region.id, REGION_BASE, self.packing.block_address)
        limit_s = self.application.tasks[0].time_limit_s
        return Launch(name, (), (Grant(region.id, Access.READ_WRITE),), limit_s, kernel=kernel)

    def outputs(self, read: Callable[[int, int], bytes]) -> Iterator[tuple[str, bytes]]:
        """The arrays the kernel may have written, by argument name.

        Args:
            read: Gives the bytes from an offset on in the region.
        """
        at = {placed.key: placed for placed in self.packing.arrays}
        for output in self.record.outputs:
            value = self.request.arguments[output.argument]
            placed = at[value.argument if isinstance(value, RepeatedArray) else output.argument]
            yield output.name, read(placed.offset, placed.bytes)

    def log(self, read: Callable[[int, int], bytes]) -> bytes:
        """What the kernel printed, bounded; b"" where it never prints.

        Args:
            read: Gives so many bytes from an offset on in the region.
        """
        return self.packing.log(read).encode()

    def explain(self, event: BoardEvent) -> str:
        """Why a slice failed, in words; "" where the cores say nothing about it."""
        for core in event.cores:
            if core.fault:
                return describe(Fault(core.core, core.fault, core.fault_pc, core.fault_value), self.program)
        return ""
