# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How much of a job is left, how many slots it holds, and which of its tasks could use one more ([004] 2.3.3)."""

from __future__ import annotations

from eddy.policy.dispatch.views.view import JobView, TaskView
from eddy.policy.dispatch.views.view_cache import cached_fact


def is_complete(job: JobView, task: TaskView) -> bool:
    """Whether the task has done every item of the batch."""
    return task.items_done >= job.batch


@cached_fact
def incomplete_tasks(job: JobView) -> tuple[TaskView, ...]:
    """Tasks with items left, in topological order."""
    return tuple(task for task in job.tasks if task.items_done < job.batch)


@cached_fact
def slots_held(job: JobView) -> int:
    """Slots that hold, or are being loaded with, a task of the job."""
    return sum(task.slot is not None for task in job.tasks)


def is_ready(job: JobView, task: TaskView) -> bool:
    """Whether every predecessor has finished the whole batch."""
    return all(job.tasks[p].items_done >= job.batch for p in task.predecessors)


def can_pipeline(job: JobView, task: TaskView) -> bool:
    """Whether each predecessor is complete, or holds a slot, or has finished items this task has not had.

    Such a task will have something to do soon, though its predecessors have not finished the batch ([004] 2.3.3).
    """
    return all(job.tasks[p].items_done > task.items_done or job.tasks[p].slot is not None for p in task.predecessors)


@cached_fact
def _ready_tasks(job: JobView) -> tuple[TaskView, ...]:
    return tuple(task for task in incomplete_tasks(job) if task.slot is None and is_ready(job, task))


@cached_fact
def _pipelined_tasks(job: JobView) -> tuple[TaskView, ...]:
    # A predecessor that has finished the batch has finished more items than a task with some left.
    return tuple(task for task in incomplete_tasks(job) if task.slot is None and can_pipeline(job, task))


def tasks_to_place(job: JobView, pipelined: bool) -> tuple[TaskView, ...]:
    """Tasks without a slot that could use one now, in topological order."""
    return _pipelined_tasks(job) if pipelined else _ready_tasks(job)
