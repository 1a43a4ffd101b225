# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Plain questions about a view: what a task has left, whether it may have a slot, and which."""

from __future__ import annotations

from collections.abc import Sequence

from eddy.core.slots import PreemptReason
from eddy.policy.dispatch.views.view import Configure, Decision, DispatchView, JobView, Preempt, SlotView, TaskView


def items_left(job: JobView, task: TaskView) -> int:
    """Items of the batch that a task has not done."""
    return job.batch - task.items_done


def sources(job: JobView, task: TaskView) -> list[TaskView]:
    """The tasks whose results a task needs."""
    return [job.tasks[number] for number in task.predecessors]


def delivered(job: JobView, task: TaskView) -> int:
    """Items for which all sources of a task have done their part."""
    return min((source.items_done for source in sources(job, task)), default=job.batch)


def may_begin(job: JobView, task: TaskView, pipelined: bool) -> bool:
    """Whether the next item could be done now; in bulk mode the sources must have done the whole batch."""
    if items_left(job, task) == 0:
        return False
    return delivered(job, task) > task.items_done if pipelined else delivered(job, task) == job.batch


def placeable(job: JobView, pipelined: bool) -> list[TaskView]:
    """The tasks that could use a slot ([004] 2.3.3).

    Of each source a task needs that it is done, or, in a pipeline, that it is ahead or has a slot.
    """
    unplaced = [task for task in job.tasks if task.slot is None and items_left(job, task)]
    if not pipelined:
        return [task for task in unplaced if delivered(job, task) == job.batch]
    return [
        task
        for task in unplaced
        if not [s for s in sources(job, task) if s.slot is None and s.items_done <= task.items_done]
    ]


def slots_of(job: JobView) -> int:
    """How many slots a job has."""
    return len([task for task in job.tasks if task.slot is not None])


def unheld(view: DispatchView) -> list[SlotView]:
    """The slots that are nobody's."""
    return [slot for slot in view.slots if not slot.loading and slot.job is None]


def has_image(slot: SlotView, task: TaskView) -> bool:
    """Whether the slot could be loaded for the task."""
    return slot.index in (range(slot.index + 1) if task.slots is None else task.slots)


def is_there(slot: SlotView, job: JobView, task: TaskView) -> bool:
    """Whether the task could use a slot as it is, without a load."""
    return has_image(slot, task) and task.module == slot.module and (job.tenant == slot.tenant or slot.scrubs)


def preferred(slots: Sequence[SlotView], job: JobView, task: TaskView) -> SlotView | None:
    """Where the module is, of the tenant's own slots first; else an empty slot; else any: always the lowest index."""

    def order(slot: SlotView) -> tuple[bool, bool, int]:
        there = is_there(slot, job, task)
        return not there, job.tenant != slot.tenant if there else bool(slot.module), slot.index

    return min((slot for slot in slots if has_image(slot, task)), key=order, default=None)


def hangs(job: JobView, task: TaskView, pipelined: bool) -> bool:
    """Whether a task can do nothing, and nothing that has a slot works towards its next item
    (docs/decisions/dispatch-views.md)."""

    def worked_for(one: TaskView) -> bool:
        open_sources = [source for source in sources(job, one) if items_left(job, source)]
        return any(source.slot is not None or worked_for(source) for source in open_sources)

    return items_left(job, task) > 0 and not may_begin(job, task, pipelined) and not worked_for(task)


def unless_stuck(view: DispatchView, decided: Sequence[Decision], pipelined: bool) -> tuple[Decision, ...]:
    """What was decided; where that is nothing and the port is free, hanging tasks lose their slots
    (docs/decisions/dispatch-views.md)."""
    jobs = {job.id: job for job in view.jobs}
    if decided or view.port_busy:
        return tuple(decided)
    idle = [slot for slot in view.slots if slot.job in jobs and not (slot.running or slot.loading)]
    whose = [(slot, jobs[slot.job]) for slot in idle if slot.job is not None]
    return tuple(
        Preempt(slot.index, PreemptReason.STALLED)
        for slot, job in whose
        if slot.task is not None and hangs(job, job.tasks[slot.task], pipelined)
    )


def grant(job: JobView, task: TaskView, slot: SlotView) -> Configure:
    """The decision that gives a task a slot."""
    return Configure(job=job.id, task=task.id, slot=slot.index)
