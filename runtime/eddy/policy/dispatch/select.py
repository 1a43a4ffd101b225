"""Questions every slot policy asks of a view: which slots are free, which tasks could use one."""

from __future__ import annotations

from collections.abc import Iterator

from eddy.policy.dispatch.view import DispatchView, JobView, SlotView, TaskView


def free_slots(view: DispatchView) -> tuple[SlotView, ...]:
    """Slots that no job holds and that are not being loaded, by index."""
    return tuple(slot for slot in view.slots if slot.job is None and not slot.loading)


def is_complete(job: JobView, task: TaskView) -> bool:
    """Whether the task has done every item of the batch."""
    return task.items_done >= job.batch


def incomplete_tasks(job: JobView) -> tuple[TaskView, ...]:
    """Tasks with items left, in topological order."""
    return tuple(task for task in job.tasks if not is_complete(job, task))


def slots_held(job: JobView) -> int:
    """Slots that hold, or are being loaded with, a task of the job."""
    return sum(task.slot is not None for task in job.tasks)


def is_ready(job: JobView, task: TaskView) -> bool:
    """Whether every predecessor has finished the whole batch."""
    return all(is_complete(job, job.tasks[p]) for p in task.predecessors)


def can_pipeline(job: JobView, task: TaskView) -> bool:
    """Whether each predecessor is complete, or holds a slot, or has finished items this task has not had.

    Such a task will have something to do soon, though its predecessors are not through with the batch ([004] 2.3.3).
    """
    return all(job.tasks[p].items_done > task.items_done or job.tasks[p].slot is not None for p in task.predecessors)


def tasks_to_place(job: JobView, pipelined: bool) -> Iterator[TaskView]:
    """Tasks without a slot that could use one now, in topological order."""
    for task in incomplete_tasks(job):
        if task.slot is None and (is_ready(job, task) or (pipelined and can_pipeline(job, task))):
            yield task


def choose_slot(task: TaskView, tenant: str, slots: tuple[SlotView, ...]) -> SlotView | None:
    """A slot for the task: one where its module is resident for the tenant, else an empty one, else the lowest index.

    None where none of the slots has an image of the module.
    """
    fitting = [slot for slot in slots if task.slots is None or slot.index in task.slots]
    return min(
        fitting,
        key=lambda slot: (not (slot.module == task.module and slot.tenant == tenant), slot.module != "", slot.index),
        default=None,
    )
