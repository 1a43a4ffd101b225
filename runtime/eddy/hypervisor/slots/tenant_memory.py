# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a job takes of a board's memory, and the most that the jobs of one tenant hold together.

The bound is a fixed part of the memory and not a part by weight: what a single job may need is the same on every day,
however many tenants there are and whatever they do. The rest is the reserve: memory is never taken from a job that has
begun, so without it one long job would keep all others out until it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eddy.core.applications import Application, BufferRole
from eddy.core.errors import InvalidRequest
from eddy.core.units import format_bytes
from eddy.hypervisor.jobs.buffers import PAGE

MAX_PART = 0.75
"""Part of the memory, where nothing else is said."""


def arena_bytes(application: Application, batch: int) -> int:
    """What the buffers of a job take, in whole pages each; as `needed` has them, without making them."""
    pages = 0
    for spec in application.buffers:
        of_one = -(-spec.bytes // PAGE)
        pages += of_one if spec.role is BufferRole.CONSTANT else of_one * batch
    return pages * PAGE


@dataclass(slots=True)
class TenantMemory:
    """The bound, where there are several tenants.

    Attributes:
        part: Of the board's memory, above 0, up to 1.
        several: Whether there are tenants that could keep each other out; else one has all.
        arena: Bytes of the board's memory; 0 before that is known.
    """

    part: float = MAX_PART
    several: Callable[[], bool] = lambda: False
    arena: int = 0

    @property
    def most(self) -> int:
        """Bytes that the jobs of a tenant hold together at most."""
        return int(self.arena * self.part) // PAGE * PAGE if self.several() else self.arena

    def check(self, application: Application, batch: int) -> None:
        """Check that a job could ever have its memory.

        Args:
            application: As its work has it.
            batch: Items of it.

        Raises:
            InvalidRequest: It needs more than its tenant may have.
        """
        need, most = arena_bytes(application, batch), self.most
        if need <= most:
            return
        fits = next((items for items in range(batch - 1, 0, -1) if arena_bytes(application, items) <= most), 0)
        kernel = application.name.startswith("kernel:")
        raise InvalidRequest(
            f"This job needs {format_bytes(need)} of board memory; "
            + (
                f"the jobs of one tenant hold at most {format_bytes(most)} of {format_bytes(self.arena)} together, so"
                " that others can run at the same time"
                if most < self.arena
                else f"the board has {format_bytes(most)}"
            )
            + (f": at most {fits} items fit." if fits else "."),
            field="kernel.arguments" if kernel else "batch",
            asked=need,
            allowed=most if kernel else f"1..{fits}" if fits else "none",
        )
