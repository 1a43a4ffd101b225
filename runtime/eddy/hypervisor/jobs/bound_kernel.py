# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A kernel that is bound to a cluster, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass, field

from eddy.hypervisor.jobs.messages import KernelVariant


@dataclass(slots=True)
class BoundKernel:
    """A kernel that is bound to a cluster.

    Attributes:
        variant: The kernel on it.
        issued, done: Work-groups given out, and done; those given out come in order.
        back: Ranges that were given out and did not start: first and count.
        slices: Given out so far.
        running: Slices that run.
        trial: It runs a slice of about a quantum here, to be measured, and begins again elsewhere (`cluster_trials`).
        tried_s: Core-seconds its slices on trial took.
        will_restart: Its slot failed: once none of its slices runs, it begins again.
        rests_s: Board time since which none of its slices runs, or it is bound.
    """

    slot: int
    module: str
    variant: KernelVariant
    issued: int = 0
    done: int = 0
    back: list[tuple[int, int]] = field(default_factory=list)
    slices: int = 0
    running: int = 0
    trial: bool = False
    tried_s: float = 0.0
    will_restart: bool = False
    rests_s: float = 0.0

    @property
    def groups_left(self) -> int:
        """Work-groups to give out."""
        return self.variant.groups - self.issued + sum(count for _, count in self.back)

    def take_groups(self, count: int) -> tuple[int, int]:
        """The next range of at most so many work-groups."""
        if self.back:
            first, back = self.back.pop()
            if back > count:
                self.back.append((first + count, back - count))
            return first, min(back, count)
        first, self.issued = self.issued, min(self.variant.groups, self.issued + count)
        return first, self.issued - first
