# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the artefact's schedulers share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from eddy.policy.dispatch.views.view import DispatchView, JobView, SlotView, TaskView

LEVELS = (9.0, 3.0)
"""Priority levels above the lowest, for the threshold."""


def is_ready(job: JobView, task: TaskView, pipelined: bool) -> bool:
    """Whether the task has items left and the next of them could start now.

    Pipelined, that is when every predecessor has finished more items; that a predecessor sits in a slot is not enough,
    as it is in the text (2.3.3).
    """
    done, tasks = task.items_done, job.tasks
    if done >= job.batch:
        return False
    needed = done + 1 if pipelined else job.batch
    # A generator would take twice as long, and this is what a turn does most.
    for before in task.predecessors:  # noqa: SIM110
        if tasks[before].items_done < needed:
            return False
    return True


def first_idle(view: DispatchView, task: TaskView) -> SlotView | None:
    """The idle slot of lowest index; one that still holds the task's module, where the machine leaves modules there."""
    idle = None
    for slot in view.slots:
        if slot.job is None and not slot.loading and (task.slots is None or slot.index in task.slots):
            if slot.module == task.module:
                return slot
            idle = idle or slot
    return idle


def threshold_of(tokens: Iterable[float]) -> float:
    """The highest level that the largest number of tokens exceeds, the lowest level where it exceeds none."""
    most = max(tokens, default=0.0)
    return next((level for level in LEVELS if most > level), 1.0)


def jobs_by_id(view: DispatchView) -> Mapping[int, JobView]:
    """The jobs of a view by id."""
    return {job.id: job for job in view.jobs}
