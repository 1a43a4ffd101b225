# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which slot `eddy` takes from the job that has it, for a task that counts more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from eddy.policy.dispatch.choosing.rank import Constants
from eddy.policy.dispatch.views.choice import can_start, has_image
from eddy.policy.dispatch.views.job_view import JobView, TaskView
from eddy.policy.dispatch.views.outlook import Outlook, items_ready_after, stalled_tasks
from eddy.policy.dispatch.views.view import DispatchView, SlotView

Rank = Callable[[JobView, Outlook, int], float]
"""The rank of a job's next slot when it has so many."""


DIGITS = 9
"""Decimals to which slots count alike."""


class PreemptibleSlot(NamedTuple):
    """A slot that could be taken from its job.

    Attributes:
        waits: Whether the task waits there for its predecessors, longer than a load takes.
        value: What the slot counts for the job: the rank at which it would ask for it.
        wait_s: Seconds until it could be had, at most: those of the item that runs.
    """

    slot: SlotView
    job: int
    task: int
    waits: bool
    value: float
    wait_s: float

    def gain(self, work_s: float) -> tuple[float, int]:
        """By how much taking it for a job with so much work lowers the mean; of gains that are alike, by the task.

        Tasks on one module may be expected to take equally long by different sums: their last bits decide nothing.
        """
        return round(self.value / (work_s + self.wait_s + 1e-9), DIGITS), self.task


class PreemptionPlan:
    """Slots taken by one decision.

    Args:
        constants: What is weighed with what.
        outlooks: What lies before the jobs that hold slots.
        rank: Of a job's slot.
        leaving: Slot to the (job, task) it was being taken from when the last decision was made.

    Attributes:
        leaving: The same after this decision.
        coming: Slots on their way back that nobody was promised yet.
        settled: Whether no slot counts so little that whoever comes next in rank could take it.
        held: Slots of the jobs for which this decision changes them.
    """

    def __init__(
        self,
        constants: Constants,
        view: DispatchView,
        outlooks: Mapping[int, Outlook],
        rank: Rank,
        leaving: Mapping[int, tuple[int, int]],
    ) -> None:
        self._constants, self._view, self._outlooks, self._rank = constants, view, outlooks, rank
        holders = {slot.index: (slot.job, slot.task) for slot in view.slots} if leaving else {}
        self.leaving = {slot: whose for slot, whose in leaving.items() if holders.get(slot) == whose}
        self.coming = len(self.leaving)
        self.settled = False
        self.held: dict[int, int] = {}
        self._takeable: list[PreemptibleSlot] | None = None
        """None where it must be recomputed."""

    def choose_victim(
        self, job: JobView, outlook: Outlook, task: TaskView, rank: float, *, at_once: bool = False
    ) -> int | None:
        """The slot that counts least for the job that has it, if it counts enough more for this task; else None.

        Of slots that count alike, one in which nothing runs, else that of the task latest in topological order. Of the
        job's own slots only one may be taken in which a task waits: a later one, or one that nothing in a slot works
        towards, which would wait for ever if the job's other slots were like it.
        """
        if self._takeable is None:
            self._takeable = [held for held in map(self._held, self._view.slots) if held is not None]
        least = rank * self._constants.reluctance
        if all(held.value <= least for held in self._takeable):
            self.settled = not at_once
            return None
        pipelined = self._constants.pipelined
        able = [
            held
            for held in self._takeable
            if held.value > least
            and not (at_once and held.slot.running)
            and has_image(held.slot, task)
            and (
                held.job != job.id
                or (held.waits and (held.task > task.id or held.task in stalled_tasks(job, pipelined)))
            )
        ]
        if not able:
            return None
        work_s = outlook.work_s
        taken = max(able, key=lambda held: (*held.gain(work_s), held.slot.index))
        self.leaving[taken.slot.index] = taken.job, taken.task
        self.held[taken.job] = self.held.get(taken.job, self._outlooks[taken.job].held) - 1
        self._takeable = None
        return taken.slot.index

    def record_grant(self, job: JobView, outlook: Outlook) -> int:
        """Note that a job is given a slot by this decision; answers how many it has now.

        Each of its slots counts less for it from now on, so one may be taken that could not be before.
        """
        held = self.held[job.id] = self.held.get(job.id, outlook.held) + 1
        self._takeable, self.settled = None, False
        return held

    def record_first_grant(self, jobs: Iterable[JobView], outlook: Outlook) -> None:
        """The same of jobs alike for which nothing was done before."""
        self.held.update(dict.fromkeys([job.id for job in jobs], outlook.held + 1))

    def _works(self, job: JobView, task: TaskView, outlook: Outlook) -> bool:
        """Whether a task does an item in its slot, or will within a load: as it was asked for, so that slots in which
        tasks wait for their predecessors do not change hands for ever."""
        if not self._constants.pipelined:
            return can_start(job, task, False)
        return items_ready_after(job, task, outlook.latency_s, outlook.load_s) > 0

    def _held(self, slot: SlotView) -> PreemptibleSlot | None:
        """A slot that could be taken from its job."""
        if slot.job is None or slot.task is None or slot.loading or slot.index in self.leaving:
            return None
        holder = self._outlooks.get(slot.job)
        if holder is None:
            return None
        job = self._view.jobs.job(slot.job)
        waits = not slot.running and not self._works(job, job.tasks[slot.task], holder)
        held = self.held.get(slot.job, holder.held)
        value = self._rank(job, holder, max(held - 1, 0)) * (self._constants.idle if waits else 1.0)
        wait_s = holder.latency_s[slot.task] if slot.running else 0.0
        return PreemptibleSlot(slot, slot.job, slot.task, waits, value, wait_s)
