"""What lies before a job, as far as is known: how much work, how long a way, and which tasks could use a slot."""

from __future__ import annotations

from dataclasses import dataclass

from eddy.policy.dispatch.facts import fact
from eddy.policy.dispatch.select import incomplete_tasks, slots_held, tasks_to_place
from eddy.policy.dispatch.view import JobView, TaskView

KEPT = "unit.plain_dispatch.outlook"
"""Where a job's view keeps the last outlook made of it."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is expected of a job.

    Attributes:
        job: The view it was made from.
        latency_s: Seconds an item of each of its tasks takes, as far as is known.
        load_s: What a load takes, about.
        pipelined: Whether its tasks may work on different items at once.
        work_s: Seconds of work left: items left of every task, laid end to end, and a load for each task without a
            slot.
        path_s: Seconds it needs at least, however many slots it gets: the critical path of the items left, a task's
            items one after another.
        held: Slots it has.
        ready: Tasks without a slot that would have enough to do in one at once, the longest way to the end first.
        early: Tasks without a slot that would have to wait in one for their predecessors, in topological order.
    """

    job: JobView
    latency_s: tuple[float, ...]
    load_s: float
    pipelined: bool
    work_s: float
    path_s: float
    held: int
    ready: tuple[TaskView, ...]
    early: tuple[TaskView, ...]


def items_ready(job: JobView, task: TaskView) -> int:
    """Items of a task that could be done one after another, no predecessor doing anything more."""
    return min([job.tasks[p].items_done for p in task.predecessors], default=job.batch) - task.items_done


def done_soon(job: JobView, latency_s: tuple[float, ...], within_s: float, task: TaskView) -> int:
    """Items a task will have done after so many seconds in the slots that the job has."""
    if task.slot is None or task.items_done >= job.batch:
        return task.items_done
    fed = min([done_soon(job, latency_s, within_s, job.tasks[p]) for p in task.predecessors], default=job.batch)
    return min(fed, task.items_done + int(within_s / max(latency_s[task.id], 1e-9)))


def items_soon(job: JobView, task: TaskView, outlook: Outlook) -> int:
    """Items of a task that could be done one after another when a load has passed, as its outlook has it."""
    soon = [done_soon(job, outlook.latency_s, outlook.load_s, job.tasks[p]) for p in task.predecessors]
    return min(soon, default=job.batch) - task.items_done


@fact
def modules_to_come(job: JobView) -> frozenset[str]:
    """Modules of the tasks that have items left and no slot."""
    return frozenset(task.module for task in incomplete_tasks(job) if task.slot is None)


@fact
def modules_and_estimates(job: JobView) -> tuple[tuple[str, float], ...]:
    """What predicting latencies needs of an application."""
    return tuple((task.module, task.estimate_s) for task in job.tasks)


def look(job: JobView, latency_s: tuple[float, ...], load_s: float, pipelined: bool) -> Outlook:
    """Look ahead for one job; the answer is kept with the view, as what follows from it and these figures.

    Args:
        job: As it is.
        latency_s: Seconds an item of each task takes, as far as is known.
        load_s: What a load takes, about.
        pipelined: Whether tasks of a job may work on different items at once.
    """
    kept: Outlook | None = job.facts.get(KEPT)
    if (
        kept is not None
        and (kept.latency_s is latency_s or kept.latency_s == latency_s)
        and kept.load_s == load_s
        and kept.pipelined is pipelined
    ):
        return kept
    outlook = job.facts[KEPT] = _look(job, latency_s, load_s, pipelined)
    return outlook


def _look(job: JobView, latency_s: tuple[float, ...], load_s: float, pipelined: bool) -> Outlook:
    ready: list[TaskView] = []
    early: list[TaskView] = []
    for task in tasks_to_place(job, pipelined):
        items = items_ready(job, task)
        if pipelined and task.predecessors:
            soon = [done_soon(job, latency_s, load_s, job.tasks[p]) for p in task.predecessors]
            items = min(soon) - task.items_done
        enough = items + task.items_done >= job.batch or items * latency_s[task.id] >= 0.5 * load_s
        # Without items it would wait, however short a load is; what is taken for waiting must not ask as if it worked.
        (ready if enough and items > 0 else early).append(task)
    left = incomplete_tasks(job)
    work_s = sum([(job.batch - task.items_done) * latency_s[task.id] for task in left])
    work_s += load_s * sum([task.slot is None for task in left])
    path_s = _path_s(job, latency_s)
    held = slots_held(job)
    ready.sort(key=lambda task: -_tail_s(job, latency_s, task))
    return Outlook(job, latency_s, load_s, pipelined, work_s, path_s, held, tuple(ready), tuple(early))


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


def _tail_s(job: JobView, latency_s: tuple[float, ...], task: TaskView) -> float:
    """The time until the job could end if the task went on now: of all ways through the tasks that come after it."""
    followers = [other for other in incomplete_tasks(job) if task.id in other.predecessors]
    found = [(job.batch - task.items_done) * latency_s[task.id] + _after_s(job, latency_s, task)]
    # A follower that is behind may go on at once; one that is not, when this task's next item has ended.
    hungry = [other for other in followers if task.items_done <= other.items_done]
    found += [_tail_s(job, latency_s, other) for other in hungry]
    found += [latency_s[task.id] + max([_tail_s(job, latency_s, other) for other in hungry], default=0.0)]
    return max(found)


def _after_s(job: JobView, latency_s: tuple[float, ...], task: TaskView) -> float:
    """From the end of a task's last item to the end of the job."""
    followers = [other for other in incomplete_tasks(job) if task.id in other.predecessors]
    return max([latency_s[other.id] + _after_s(job, latency_s, other) for other in followers], default=0.0)
