# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What lies before a job, as far as is known: how much work, how long a way, and which tasks could use a slot."""

from __future__ import annotations

from dataclasses import dataclass

from eddy.policy.dispatch.views.choice import can_start
from eddy.policy.dispatch.views.job_view import Tasks
from eddy.policy.dispatch.views.select import incomplete_tasks, slots_held, tasks_to_place
from eddy.policy.dispatch.views.view import JobView, TaskView
from eddy.policy.dispatch.views.view_cache import cached_fact

KEPT = "eddy.policy.dispatch.views.outlook"
"""Where a job's view keeps the last outlook made of it, and tasks the `Outlooks` of jobs nothing was done for."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is expected of a job.

    Attributes:
        latency_s: Seconds an item of each of its tasks takes, as far as is known.
        load_s: What a load takes, about.
        pipelined: Whether its tasks may work on different items at once.
        work_s: Seconds of work left: items left of every task, laid end to end, and a load for each task without a
            slot.
        path_s: Seconds it needs at least, however many slots it gets: the critical path of the items left, a task's
            items one after another.
        ready: Tasks without a slot that would have enough to do in one at once: first the one from which the way to
            the job's end is longest, as long as all of them are begun now; ties in topological order.
        early: Tasks without a slot that would have to wait in one for their predecessors, in topological order.
    """

    latency_s: tuple[float, ...]
    load_s: float
    pipelined: bool
    work_s: float
    path_s: float
    held: int
    ready: tuple[TaskView, ...]
    early: tuple[TaskView, ...]

    def holds(self, latency_s: tuple[float, ...], load_s: float, pipelined: bool) -> bool:
        """Whether it was made with these figures."""
        same = self.latency_s is latency_s or self.latency_s == latency_s
        return same and self.load_s == load_s and self.pipelined is pipelined


def items_ready(job: JobView, task: TaskView) -> int:
    """Items of a task that could be done one after another, no predecessor doing anything more."""
    if not task.predecessors:
        return job.batch - task.items_done
    return min([job.tasks[p].items_done for p in task.predecessors]) - task.items_done


def items_done_after(job: JobView, latency_s: tuple[float, ...], within_s: float) -> list[int]:
    """Items each task will have done after so many seconds in the slots that the job has, as far as is known."""
    done = [task.items_done for task in job.tasks]
    for task in incomplete_tasks(job):
        if task.slot is not None:
            fed = min([done[p] for p in task.predecessors], default=job.batch)
            done[task.id] = min(fed, task.items_done + int(within_s / max(latency_s[task.id], 1e-9)))
    return done


def items_ready_after(job: JobView, task: TaskView, latency_s: tuple[float, ...], within_s: float) -> int:
    """Items of a task that could be done one after another once so many seconds have passed."""
    if not task.predecessors:
        return job.batch - task.items_done
    done = items_done_after(job, latency_s, within_s)
    return min(done[p] for p in task.predecessors) - task.items_done


def stalled_tasks(job: JobView, pipelined: bool) -> frozenset[int]:
    """Incomplete tasks that cannot do their next item, none of whose predecessors, back to the first task, has a slot.

    Such a task waits until the job gives a slot to another of its tasks, and if it has one itself, it may be that one.
    """
    return _stalled_pipelined(job) if pipelined else _stalled_in_bulk(job)


@cached_fact
def _stalled_pipelined(job: JobView) -> frozenset[int]:
    return _stalled(job, True)


@cached_fact
def _stalled_in_bulk(job: JobView) -> frozenset[int]:
    return _stalled(job, False)


def _stalled(job: JobView, pipelined: bool) -> frozenset[int]:
    moving: set[int] = set()
    """Tasks that have a slot, or get items from one that has."""
    stalled: set[int] = set()
    for task in incomplete_tasks(job):
        fed = not moving.isdisjoint(task.predecessors)
        if fed or task.slot is not None:
            moving.add(task.id)
        if not fed and not can_start(job, task, pipelined):
            stalled.add(task.id)
    return frozenset(stalled)


@cached_fact
def modules_to_come(job: JobView) -> frozenset[str]:
    """Modules of the tasks that have items left and no slot."""
    return frozenset(task.module for task in incomplete_tasks(job) if task.slot is None)


def modules_of(tasks: Tasks) -> frozenset[str]:
    """Modules of tasks nothing was done for."""
    found: frozenset[str] | None = tasks.facts.get("modules")
    if found is None:
        found = tasks.facts["modules"] = frozenset(task.module for task in tasks)
    return found


@cached_fact
def modules_and_estimates(job: JobView) -> tuple[tuple[str, float], ...]:
    """What predicting latencies needs of an application."""
    return tuple((task.module, task.estimate_s) for task in job.tasks)


def look_ahead(job: JobView, latency_s: tuple[float, ...], load_s: float, pipelined: bool) -> Outlook:
    """Look ahead for one job; the answer is kept with the view, as what follows from it and these figures.

    Args:
        job: As it is.
        latency_s: Seconds an item of each task takes, as far as is known.
        load_s: What a load takes, about.
        pipelined: Whether tasks of a job may work on different items at once.
    """
    if not job.shape.has_begun:
        return outlooks(job.shape, latency_s, load_s, pipelined).outlook_of(job)
    kept: Outlook | None = job.facts.get(KEPT)
    if kept is None or not kept.holds(latency_s, load_s, pipelined):
        kept = job.facts[KEPT] = _look(job, latency_s, load_s, pipelined)
    return kept


class Outlooks:
    """What lies before jobs nothing was done for that have the same tasks: it depends on their batch alone.

    Args:
        latency_s: Seconds an item of each task takes, as far as is known.
        load_s: What a load takes, about.
        pipelined: Whether tasks of a job may work on different items at once.
    """

    def __init__(self, latency_s: tuple[float, ...], load_s: float, pipelined: bool) -> None:
        self.latency_s, self.load_s, self.pipelined = latency_s, load_s, pipelined
        self.item_s = sum(latency_s)
        """Seconds an item takes in all tasks."""
        self.loads_s = load_s * len(latency_s)
        """Seconds the loads of all tasks take."""
        self._by_batch: dict[int, Outlook] = {}

    def outlook_of(self, job: JobView) -> Outlook:
        """What lies before one of the jobs."""
        found = self._by_batch.get(job.batch)
        if found is None:
            found = self._by_batch[job.batch] = _look(job, self.latency_s, self.load_s, self.pipelined)
        return found


def outlooks(tasks: Tasks, latency_s: tuple[float, ...], load_s: float, pipelined: bool) -> Outlooks:
    """What lies before jobs with these tasks; kept with the tasks as long as the figures hold."""
    kept: Outlooks | None = tasks.facts.get(KEPT)
    if (
        kept is None
        or (kept.latency_s is not latency_s and kept.latency_s != latency_s)
        or kept.load_s != load_s
        or kept.pipelined is not pipelined
    ):
        kept = tasks.facts[KEPT] = Outlooks(latency_s, load_s, pipelined)
    return kept


def _look(job: JobView, latency_s: tuple[float, ...], load_s: float, pipelined: bool) -> Outlook:
    ready: list[TaskView] = []
    early: list[TaskView] = []
    for task in tasks_to_place(job, pipelined):
        items = items_ready_after(job, task, latency_s, load_s) if pipelined else items_ready(job, task)
        enough = items + task.items_done >= job.batch or items * latency_s[task.id] >= 0.5 * load_s
        # Without items it would wait, however short a load is; what is taken for waiting must not ask as if it worked.
        (ready if enough and items > 0 else early).append(task)
    left = incomplete_tasks(job)
    work_s = sum([(job.batch - task.items_done) * latency_s[task.id] for task in left])
    work_s += load_s * sum([task.slot is None for task in left])
    path_s = _path_s(job, latency_s)
    held = slots_held(job)
    if len(ready) > 1:
        tails_s = _tails_s(job, latency_s)
        ready.sort(key=lambda task: -tails_s[task.id])
    return Outlook(latency_s, load_s, pipelined, work_s, path_s, held, tuple(ready), tuple(early))


def _path_s(job: JobView, latency_s: tuple[float, ...]) -> float:
    """The time until a job could end, every task in a slot of its own and loads taking none."""
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    for task in incomplete_tasks(job):
        takes_s, start_s, end_s = latency_s[task.id], 0.0, 0.0
        for number in task.predecessors:
            if number in first:
                if job.tasks[number].items_done <= task.items_done:
                    start_s = max(start_s, first[number] + latency_s[number])
                end_s = max(end_s, last[number] + takes_s)
        first[task.id] = start_s
        last[task.id] = max(end_s, start_s + (job.batch - task.items_done) * takes_s)
    return max(last.values(), default=0.0)


def _tails_s(job: JobView, latency_s: tuple[float, ...]) -> dict[int, float]:
    """By incomplete task, the time until the job could end if the task went on now: the critical path backwards.

    Whoever does what has the longest way before it keeps the way of the whole job short; a task whose predecessors are
    far ahead then goes before them, so that no task is left to do all its items at the end.
    """
    left = incomplete_tasks(job)
    after_s = {task.id: 0.0 for task in left}
    """From the end of a task's last item to the end of the job."""
    tails_s = dict(after_s)
    for task in reversed(left):
        number, takes_s = task.id, latency_s[task.id]
        own_s = takes_s * (job.batch - task.items_done) + after_s[number]
        tails_s[number] = max(tails_s[number] + takes_s, own_s)
        for before in task.predecessors:
            if before in after_s:
                after_s[before] = max(after_s[before], takes_s + after_s[number])
                if job.tasks[before].items_done <= task.items_done:
                    tails_s[before] = max(tails_s[before], tails_s[number])
    return tails_s
