# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs that wait for the end of a maintenance window.

Where every slot of a pool is about to close, or has closed, a job that could not end before is not shown to the policy:
it does not begin, only to lose its slots. That is judged by its longest task alone, whose items follow each other, so a
job is held back only where it certainly could not end, if its estimates are right. What has begun goes on up to the
moment its slots close, and keeps the items that are done. Where a slot of the pool stays open, jobs move there, and
nothing is held back. Kernels whose cores are shared by price go slice by slice, and are not held back either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from eddy.core.slots import Pool
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.messages import CloseSoon
from eddy.hypervisor.slots.machine_state import MachineState


class ClosingCalendar:
    """Holds back jobs that could not end before their pool closes."""

    def __init__(self, state: MachineState) -> None:
        self.state = state
        self._closes: Mapping[int, tuple[float, str]] = {}
        """By slot that closes: the board time, and the window that closes it."""

    def close_soon(self, message: CloseSoon) -> None:
        """Slots are about to close, or are not any more."""
        now_s = self.state.now_s
        self._closes = {slot: (now_s + in_s, window) for slot, (in_s, window) in message.closing.items()}
        for job in self.state.jobs.values():
            self.look(job)

    def look(self, job: Job) -> None:
        """Hold a job back, or let it go, as the calendar has it now."""
        window = self._window(job)
        if window == job.postponed:
            return
        if job.postponed and not window:
            job.views.show(max(job.arrival_s, self.state.pools[job.spec.pool].asked_s))
        job.postponed = window
        self.state.invalidate_view(job)
        self.state.mark_changed(job)

    def _window(self, job: Job) -> str:
        """The window that a job waits for; "" for none."""
        if not self._closes or job.slots or job.ending is not None or job.spec.spread is not None:
            return ""
        closes_s, window = self._closing(job.spec.pool)
        needs_s = least_time_s(job) if job.started_s is None else 0.0
        return window if self.state.now_s + needs_s >= closes_s else ""

    def _closing(self, pool: Pool) -> tuple[float, str]:
        """When the last slot of a pool closes, and which window closes it; never where one stays open."""
        known = [self._closes.get(slot, (math.inf, "")) for slot in self.state.pools[pool].slots]
        return max(known, default=(math.inf, ""))


def least_time_s(job: Job) -> float:
    """What a job takes at least: its longest task's items, one after the other."""
    left = (job.spec.batch - done for done in job.items.done)
    tasks = zip(job.spec.application.tasks, left, strict=True)
    return max((task.estimate_s * items for task, items in tasks), default=0.0)
