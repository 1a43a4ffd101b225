# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Slots that are kept for tasks whose load must wait, and lent to others meanwhile.

Slots kept for a task that waits for the configuration port, lent meanwhile to one that needs no load there.

While the port is busy a kept slot would stand still, and the load to come would overwrite a module that another job
may want at once and would have to load again later. So that job goes first, where its task is done within the time of
a load: that is the least it saves the port.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice

from eddy.policy.dispatch.choosing.eviction import Eviction
from eddy.policy.dispatch.choosing.forecast import Forecast
from eddy.policy.dispatch.choosing.free_slots import FreeSlots
from eddy.policy.dispatch.views.choice import has_image, needs_no_load
from eddy.policy.dispatch.views.job_view import JobView, TaskView
from eddy.policy.dispatch.views.outlook import Outlook, items_ready, modules_of
from eddy.policy.dispatch.views.view import Configure, Decision, DispatchView, Prefetch, SlotView

Look = Callable[[JobView], Outlook]
"""What lies before a job."""


def choose_borrower(
    view: DispatchView,
    outlooks: Mapping[int, Outlook],
    look: Look,
    rank: Callable[[JobView, Outlook, int], float],
    slot: SlotView,
    most_s: float,
    served: Collection[tuple[int, int]],
) -> tuple[JobView, TaskView] | None:
    """Whoever comes first in rank of those whose task needs no load in a slot and is soon done there; None for nobody.

    Args:
        outlooks: What lies before the jobs that have a slot, or will by this decision.
        look: What lies before any other.
        rank: Of a job's next slot.
        slot: A free one that is kept.
        most_s: Seconds in which the task must be done with its whole batch, as far as is known.
        served: (job, task) of those that were given a slot.
    """
    found = [
        (rank(job, outlook, outlook.held), job.id, task.id, job, task)
        for job, outlook in _jobs_wanting(view, outlooks, look, slot)
        for task in outlook.ready
        if (job.id, task.id) not in served
        and needs_no_load(slot, job, task)
        and has_image(slot, task)
        and _soon_done(job, task, outlook, most_s)
    ]
    if not found:
        return None
    return min(found, key=lambda entry: entry[:3])[3:]


def _jobs_wanting(
    view: DispatchView, outlooks: Mapping[int, Outlook], look: Look, slot: SlotView
) -> Iterator[tuple[JobView, Outlook]]:
    """Jobs that may have a task on a slot's module, and what lies before them."""
    module = slot.module
    for number, outlook in outlooks.items():
        if any(task.module == module for task in outlook.ready):
            yield view.jobs.job(number), outlook
    jobs = view.jobs if slot.scrubs else view.jobs.tenants.get(slot.tenant)
    if jobs is None:
        return
    for kind in jobs.paused.values():
        if module in modules_of(kind.tasks):
            others = (job for job in kind.every() if job.id not in outlooks)
            for job in others if kind.due else islice(others, 1):
                yield job, look(job)
    for kind in jobs.kinds.values():
        if module in modules_of(kind.tasks):
            for job in kind.every() if kind.due else kind.front:
                if job.id not in outlooks:
                    yield job, look(job)


def _soon_done(job: JobView, task: TaskView, outlook: Outlook, most_s: float) -> bool:
    left = job.batch - task.items_done
    return items_ready(job, task) >= left and left * outlook.latency_s[task.id] <= most_s


READS = 1
"""Images that are read at a time because they are needed, at most: who comes next shall not wait for more."""


class KeptSlots:
    """The slots that one decision keeps.

    Args:
        view: Jobs, slots and time.
        free: Slots that may be given; one that is kept leaves them.
        decisions: What is decided; reads and loans are added.
        eviction: Which of several slots is wanted least.
        fetched: Module and slot of the image that was read ahead last for a task that waits for the port; or None.
    """

    def __init__(
        self,
        view: DispatchView,
        free: FreeSlots,
        decisions: list[Decision],
        eviction: Eviction,
        fetched: tuple[str, int] | None,
    ) -> None:
        self._view, self._free, self._decisions, self._eviction = view, free, decisions, eviction
        self.fetched = fetched
        self._for_port = False
        """Whether a slot is kept for a task that waits for the port."""
        self._lent: list[SlotView] = []
        """Slots that are kept, and hold a module meanwhile."""
        self._reading = sum(len(slot.coming) for slot in view.slots)
        """Images that are being read because they are needed."""

    def await_port(self, task: TaskView, slot: SlotView) -> None:
        """Keep a slot for a task that waits for the port; the first such task's image is read ahead."""
        self._set_aside(slot)
        wanted = task.module, slot.index
        if not self._for_port and self.fetched != wanted:
            self.fetched = wanted
            self._decisions.append(Prefetch(*wanted))
        self._for_port = True

    def await_image(self, task: TaskView, slots: list[SlotView]) -> bool:
        """Keep a slot for a task whose image is read for it, or begin that read; the port serves others meanwhile.

        Answers whether it will have one: a few reads are under way at a time, see `READS`.
        """
        coming = [slot for slot in slots if task.module in slot.coming]
        if coming:
            self._set_aside(coming[0])
            return True
        if self._reading >= READS:
            return False
        self._reading += 1
        slot = slots[0] if len(slots) == 1 else self._eviction.least_wanted(slots)
        self._set_aside(slot)
        self._decisions.append(Prefetch(task.module, slot.index))
        return True

    def lend(
        self, outlooks: Mapping[int, Outlook], forecast: Forecast, rank: Callable[[JobView, Outlook, int], float]
    ) -> None:
        """Give kept slots to those who need no load there and are done before a load would be."""
        served = {(made.job, made.task) for made in self._decisions if isinstance(made, Configure)}
        for slot in self._lent:
            found = choose_borrower(self._view, outlooks, forecast.look, rank, slot, forecast.load_s, served)
            if found is not None:
                job, task = found
                self._decisions.append(Configure(job.id, task.id, slot.index))
                served.add((job.id, task.id))

    def _set_aside(self, slot: SlotView) -> None:
        self._free.remove_slot(slot)
        if slot.module:
            self._lent.append(slot)
