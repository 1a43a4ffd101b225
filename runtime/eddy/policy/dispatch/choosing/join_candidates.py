# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tasks that wait for their module in a slot that another job is about to give back, instead of loading it again.

One configuration port serves all slots. While many short jobs come at once it is what they wait for, and a load that is
saved serves everyone behind. So a task joins the job that works on its module, if that will be done soon.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from math import inf

from eddy.policy.dispatch.views.choice import has_image, needs_no_load
from eddy.policy.dispatch.views.job_view import JobView, TaskView
from eddy.policy.dispatch.views.outlook import Outlook, items_ready
from eddy.policy.dispatch.views.select import slots_held
from eddy.policy.dispatch.views.view import DispatchView, SlotView


class JoinCandidates:
    """Slots that tasks wait for in one decision; those who wait for the same one are served one after another.

    Args:
        outlooks: What lies before the jobs that hold slots.
        leaving: Slots that are being taken from their jobs.
        load_s: What a load takes, about.
        most_s: Seconds a task waits at most.
    """

    def __init__(
        self,
        view: DispatchView,
        outlooks: Mapping[int, Outlook],
        leaving: Collection[int],
        load_s: float,
        most_s: float,
    ) -> None:
        self._view, self._outlooks, self._leaving = view, outlooks, leaving
        self._load_s, self._most_s = load_s, most_s
        self._promised_s: dict[int, float] = {}
        """By slot: seconds that those who wait for it will work there."""
        self._given: dict[int, tuple[JobView, float]] = {}
        """By slot that this decision gave without a load: to whom, and seconds until it is given back."""
        self._givers: set[int] = set()
        """The jobs among them."""
        self._known: dict[tuple[str, tuple[int, ...] | None, str], list[tuple[float, int]]] = {}
        """By module, the slots it fits, and tenant, for jobs that hold nothing: the slots with it that will be given
        back, each with the seconds until then but for those of who was promised it. Hundreds of jobs ask in turn."""
        self._leaving_before = len(leaving)
        self.count = 0
        """How many tasks wait for one."""

    def mark_given(self, slot: SlotView, job: JobView, task: TaskView, latency_s: float) -> None:
        """Note that this decision gives a slot to a task that needs no load there: others may wait for it now."""
        left = job.batch - task.items_done
        if items_ready(job, task) >= left:
            self._given[slot.index] = job, left * latency_s
            self._givers.add(job.id)
            self._known.clear()

    def join(self, job: JobView, task: TaskView, latency_s: float) -> bool:
        """Whether the task will find its module in a slot soon; the slot that comes first is promised to it.

        Args:
            latency_s: Seconds one of its items takes.
        """
        slots = self._candidates(job, task)
        if not slots:
            return False
        promised_s = self._promised_s
        found = min([(promised_s.get(slot, 0.0) + wait_s, slot) for wait_s, slot in slots])
        if found[0] >= self._most_s:
            return False
        promised_s[found[1]] = promised_s.get(found[1], 0.0) + self._own_s(job, task, latency_s)
        self.count += 1
        return True

    def join_too(self, jobs: Iterable[JobView], task: TaskView, latency_s: float) -> Iterator[JobView]:
        """Those that join as `join` has it, one after another, up to the first that does not; they are alike, hold
        nothing, and come behind one that joined.

        Args:
            jobs: In order.
            task: Of one of them, as of any.
            latency_s: Seconds one of its items takes.
        """
        promised_s, most_s, own_s = self._promised_s, self._most_s, None
        by_tenant = dict[str, list[tuple[float, int]]]()
        for job in jobs:
            slots = by_tenant.get(job.tenant)
            if slots is None:
                slots = by_tenant[job.tenant] = self._candidates(job, task)
            if own_s is None:
                own_s = self._own_s(job, task, latency_s)
            ends_s, slot = min([(promised_s.get(slot, 0.0) + wait_s, slot) for wait_s, slot in slots], default=(inf, 0))
            if ends_s >= most_s:
                return
            promised_s[slot] = promised_s.get(slot, 0.0) + own_s
            self.count += 1
            yield job

    @staticmethod
    def _own_s(job: JobView, task: TaskView, latency_s: float) -> float:
        """Seconds for which a slot is a task's; for ever where it would wait there for its predecessors."""
        left = job.batch - task.items_done
        return left * latency_s if items_ready(job, task) >= left else inf

    def _candidates(self, job: JobView, task: TaskView) -> list[tuple[float, int]]:
        """Slots with a task's module that will be given back, and after how many seconds, nobody waiting for them."""
        if slots_held(job) or job.id in self._givers:  # it does not wait for itself
            return self._with_module(job, task)
        if len(self._leaving) != self._leaving_before:
            self._leaving_before = len(self._leaving)
            self._known.clear()
        key = task.module, task.slots, job.tenant
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._with_module(job, task)
        return found

    def _with_module(self, job: JobView, task: TaskView) -> list[tuple[float, int]]:
        slots = [slot for slot in self._view.slots if slot.module == task.module]
        waits = [(self._wait_s(slot, job, task), slot.index) for slot in slots]
        return [(wait_s, slot) for wait_s, slot in waits if wait_s is not None]

    def _wait_s(self, slot: SlotView, job: JobView, task: TaskView) -> float | None:
        """Seconds until a slot with the task's module is given back, nobody waiting for it; None where it is not."""
        if slot.index in self._given:
            giver, wait_s = self._given[slot.index]
            able = giver.id != job.id and (slot.scrubs or giver.tenant == job.tenant) and has_image(slot, task)
            return wait_s if able else None
        if slot.job is None or slot.task is None or slot.job == job.id:
            return None
        if slot.index in self._leaving:
            return None
        holder = self._outlooks.get(slot.job)
        if holder is None or not needs_no_load(slot, job, task) or not has_image(slot, task):
            return None
        other = self._view.jobs.job(slot.job)
        own = other.tasks[slot.task]
        left = other.batch - own.items_done
        if items_ready(other, own) < left:
            return None
        if not (slot.loading or slot.running or left):
            return None  # Nothing ends there, so nobody would be asked again: two jobs could wait for each other.
        return left * holder.latency_s[own.id] + (self._load_s if slot.loading else 0.0)
