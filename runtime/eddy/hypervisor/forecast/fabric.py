# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The slots and jobs of a forecast: what the machine would do to them, in runs of items instead of single ones.

A slot does as many items at once as are ready, `chunk` at most: what a policy sees of them is the same at the ends, and
a forecast of long batches costs no more than of short ones. A slot that is taken gives way at the end of the item under
way, as on the board.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from eddy.policy.dispatch.views.job_view import JobView
from eddy.policy.dispatch.views.jobs import Jobs
from eddy.policy.dispatch.views.view import SlotView

MIN_LEFT = 0.05
"""Part of an item that is left at least where it has taken longer already than items of its task do."""

Seconds = Callable[[JobView], tuple[float, ...]]
"""Seconds an item of each of a job's tasks takes."""


@dataclass(slots=True)
class SimSlot:
    """A slot in a forecast.

    Attributes:
        view: As a policy sees it.
        busy_until_s: When its load, or run of items, ends; None where nothing goes on.
        began_s: When that began.
        items: Of the run of items.
        item_s: Of the run: seconds of each.
        leaving: It is taken from its job at the next boundary.
        round: Grows with whatever is begun: an end of something older is nothing.
    """

    view: SlotView
    busy_until_s: float | None = None
    began_s: float = 0.0
    items: int = 0
    item_s: float = 0.0
    leaving: bool = False
    round: int = 0


@dataclass(frozen=True, slots=True)
class GivenSlot:
    """A slot that a task is given in a forecast.

    Attributes:
        at_s: Board time.
        load_s: Seconds of the load before it; 0 where its module is there.
    """

    job: int
    task: int
    slot: int
    at_s: float
    load_s: float


@dataclass(slots=True)
class SlotsAhead:
    """Slots and jobs as they would go on.

    Attributes:
        now_s: Board time.
        jobs: As a policy would see them.
        slots: By index.
        chunk: Most items that are done in a row without asking anybody, as a part of a batch.
        pipelined: Whether a task may work on items while its predecessor works on later ones.
        port_busy_s: Board time until which the configuration port is taken.
        started_s, ended_s: By job: when it first had a slot, when it ended.
        given: Slots that were given, in order.
        changed: Jobs that changed since the policy was asked last.
        ends: Ends that were begun since they were taken last: time, slot, round.
    """

    now_s: float
    jobs: Jobs
    slots: dict[int, SimSlot]
    seconds: Seconds
    chunk: float
    pipelined: bool
    port_busy_s: float
    started_s: dict[int, float] = field(default_factory=dict)
    ended_s: dict[int, float] = field(default_factory=dict)
    given: list[GivenSlot] = field(default_factory=list)
    changed: set[int] = field(default_factory=set)
    ends: list[tuple[float, int, int]] = field(default_factory=list)

    def views(self) -> tuple[SlotView, ...]:
        """The slots as a policy sees them."""
        return tuple(slot.view for _, slot in sorted(self.slots.items()))

    @property
    def port_busy(self) -> bool:
        """Whether the configuration port is taken."""
        return self.port_busy_s > self.now_s

    # What ends ----------------------------------------------------------------------------------------------------

    def finish_run(self, slot: SimSlot) -> None:
        """The load, or run of items, of a slot ends now."""
        view, loading = slot.view, slot.view.loading
        slot.busy_until_s = None
        slot.view = replace(view, loading=False, running=False)
        if view.job is None or view.task is None or (job := self.jobs.get(view.job)) is None:
            self._free(slot)
            return
        if not loading:
            job = self._count(job, view.task, slot.items)
            if job is None or job.tasks[view.task].items_done >= job.batch:
                self._free(slot)
                return
        if slot.leaving:
            self.release(slot)

    def _count(self, job: JobView, task: int, items: int) -> JobView | None:
        """Items of a task are done; None where the job's last are."""
        done = job.tasks[task].items_done + items
        job = self._put(job, task, items_done=done, slot=None if done >= job.batch else job.tasks[task].slot)
        if all(each.items_done >= job.batch for each in job.tasks):
            self.ended_s[job.id] = self.now_s
            self.jobs = self.jobs.drop(job.id)
            return None
        return job

    def _put(self, job: JobView, task: int, *, items_done: int | None = None, slot: int | None) -> JobView:
        before = job.tasks[task]
        after = replace(before, items_done=before.items_done if items_done is None else items_done, slot=slot)
        new = replace(job, tasks=(*job.tasks[:task], after, *job.tasks[task + 1 :]))
        self.jobs = self.jobs.put(new)
        self.changed.add(job.id)
        return new

    def release(self, slot: SimSlot) -> None:
        """Take a slot in which nothing goes on from its job."""
        view = slot.view
        job = self.jobs.get(view.job) if view.job is not None else None
        if job is not None and view.task is not None:
            self._put(job, view.task, slot=None)
        self._free(slot)

    @staticmethod
    def _free(slot: SimSlot) -> None:
        slot.view = replace(slot.view, job=None, task=None, loading=False, running=False)
        slot.leaving = False

    # What begins --------------------------------------------------------------------------------------------------

    def launch(self, waiting: Iterable[int] = ()) -> None:
        """Start items wherever some may start, but in slots that are `waiting` for what is decided."""
        for index, slot in sorted(self.slots.items()):
            if slot.view.job is not None and slot.busy_until_s is None and index not in waiting:
                self._launch(slot)

    def _launch(self, slot: SimSlot) -> None:
        job = self.jobs.get(slot.view.job) if slot.view.job is not None else None
        if job is None or slot.view.task is None:
            return
        task = job.tasks[slot.view.task]
        behind = [job.tasks[before].items_done for before in task.predecessors]
        if not self.pipelined:
            behind = [job.batch if done >= job.batch else 0 for done in behind]
        ready = min(behind, default=job.batch) - task.items_done
        if ready <= 0:
            return
        slot.items = min(ready, max(1, math.ceil(self.chunk * job.batch)))
        slot.item_s = self.seconds(job)[task.id]
        slot.view = replace(slot.view, running=True)
        self._begin(slot, slot.items * slot.item_s)

    def _begin(self, slot: SimSlot, takes_s: float) -> None:
        slot.began_s, slot.busy_until_s = self.now_s, self.now_s + takes_s
        slot.round += 1
        self.ends.append((slot.busy_until_s, slot.view.index, slot.round))

    def configure(self, slot: SimSlot, job: JobView, task: int) -> bool:
        """Give a slot to a task; answers whether it has it without a load."""
        module, view = job.tasks[task].module, slot.view
        resident = view.module == module and (view.tenant == job.tenant or view.scrubs)
        if not resident and self.port_busy:
            return False
        load_s = 0.0 if resident else view.loads_in_s(module)
        self._put(job, task, slot=view.index)
        self.started_s.setdefault(job.id, self.now_s)
        self.given.append(GivenSlot(job.id, task, view.index, self.now_s, load_s))
        scrubs = view.scrubs and view.module == module
        slot.view = replace(
            view, module=module, tenant=job.tenant, job=job.id, task=task, loading=not resident, scrubs=scrubs
        )
        if not resident:
            self.port_busy_s = self.now_s + load_s
            self._begin(slot, load_s)
        return resident

    def preempt(self, slot: SimSlot) -> bool:
        """Take a slot from its job: at once where nothing runs, else after the item that does; answers whether at
        once."""
        if slot.busy_until_s is None:
            self.release(slot)
            return True
        if slot.view.running and not slot.leaving and slot.item_s > 0:
            done = math.floor((self.now_s - slot.began_s) / slot.item_s + 1e-9) + 1
            slot.items = min(max(done, 1), slot.items)
            slot.busy_until_s = max(slot.began_s + slot.items * slot.item_s, self.now_s)
            slot.round += 1
            self.ends.append((slot.busy_until_s, slot.view.index, slot.round))
        slot.leaving = True
        return False


def slot_standing(view: SlotView, began_s: float | None, now_s: float, leaving: bool, item_s: float) -> SimSlot:
    """A slot as it stands when a forecast begins.

    Args:
        view: As a policy sees it.
        began_s: Board time at which its load or item began, if one goes on.
        now_s: Board time.
        leaving: Whether it is taken from its job at the next boundary.
        item_s: Seconds an item of its task takes.
    """
    slot = SimSlot(view, leaving=leaving)
    if view.loading or view.running:
        takes_s = view.loads_in_s(view.module) if view.loading else item_s
        since_s = now_s if began_s is None else began_s
        slot.began_s, slot.items, slot.item_s = since_s, 1, item_s
        slot.busy_until_s = max(since_s + takes_s, now_s + MIN_LEFT * takes_s)
    return slot
