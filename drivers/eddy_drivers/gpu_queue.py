# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels that wait for their cores, and those that have them; no register is read or written here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eddy_drivers.gpu_kernel import Kernel, check_apart


class QueueFull(RuntimeError):
    """As many kernels wait as may."""


@dataclass
class QueuedKernel:
    """A kernel that waits or runs.

    Attributes:
        kernel: What to run.
        mask: Its cores.
        halted: Whether somebody asked for its end.
        stopping: Whether its cores were told to stop.
    """

    kernel: Kernel
    mask: int
    halted: bool = False
    stopping: bool = False


class KernelQueue:
    """The kernels of one cluster, by ticket.

    Args:
        depth: Kernels that may wait.

    Attributes:
        waiting: In order of arrival.
        running: Those that were given their cores, until they are taken out.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.waiting: dict[int, QueuedKernel] = {}
        self.running: dict[int, QueuedKernel] = {}
        self._next = 1

    @property
    def free(self) -> int:
        """How many more kernels may wait."""
        return self.depth - len(self.waiting)

    def add(self, kernel: Kernel) -> int:
        """Let a kernel wait; answers its ticket.

        Raises:
            ValueError: Another kernel that may run at the same time uses its context.
            RegionOverlap: Its region overlaps that of a kernel that may run at the same time.
            QueueFull: `depth` kernels wait already.
        """
        mask = sum(1 << core for core in kernel.cores)
        for ticket, other in (*self.running.items(), *self.waiting.items()):
            # Kernels that share a core never run at once: their order of arrival is the order of their starts.
            if not other.mask & mask:
                check_apart(kernel, other.kernel, ticket)
        if self.free <= 0:
            raise QueueFull(f"{self.depth} kernels wait for their cores; poll until one has started")
        ticket, self._next = self._next, self._next + 1
        self.waiting[ticket] = QueuedKernel(kernel, mask)
        return ticket

    def find(self, ticket: int) -> QueuedKernel:
        """A kernel that runs or waits.

        Raises:
            ValueError: There is none of that ticket.
        """
        entry = self.running.get(ticket) or self.waiting.get(ticket)
        if entry is None:
            raise ValueError(f"no kernel {ticket} runs or waits here; its end was reported, or it never was")
        return entry

    def start_ready(self, busy: int) -> Iterator[QueuedKernel]:
        """Let those run whose cores nobody has or waited for earlier.

        Args:
            busy: Mask of cores that are at work, whoever runs on them.
        """
        taken = busy | sum(entry.mask for entry in self.running.values())
        for ticket, entry in list(self.waiting.items()):
            if not taken & entry.mask:
                self.running[ticket] = self.waiting.pop(ticket)
                yield entry
            taken |= entry.mask

    def clear(self) -> None:
        """Forget every kernel."""
        self.waiting, self.running = {}, {}
