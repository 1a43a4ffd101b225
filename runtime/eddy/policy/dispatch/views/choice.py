# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What dispatch policies share: which task could use a slot, and which slot suits it."""

from __future__ import annotations

from collections.abc import Iterable

from eddy.policy.dispatch.views.view import DispatchView, JobView, SlotView, TaskView
from eddy.policy.dispatch.views.view_cache import cached_fact


def can_start(job: JobView, task: TaskView, pipelined: bool) -> bool:
    """Whether the next item of a task could start now, were the task in a slot ([004] 2.2.2).

    In bulk mode every predecessor must have finished the whole batch; in pipelined mode, the same item.
    """
    if task.items_done >= job.batch:
        return False
    needed = task.items_done + 1 if pipelined else job.batch
    return all(job.tasks[before].items_done >= needed for before in task.predecessors)


@cached_fact
def startable_pipelined(job: JobView) -> tuple[tuple[int, int], ...]:
    """(job, task) of the tasks without a slot whose next item could start now, in pipelined mode."""
    return tuple((job.id, task.id) for task in job.tasks if task.slot is None and can_start(job, task, True))


@cached_fact
def startable_in_bulk(job: JobView) -> tuple[tuple[int, int], ...]:
    """(job, task) of the tasks without a slot whose next item could start now, in bulk mode."""
    return tuple((job.id, task.id) for task in job.tasks if task.slot is None and can_start(job, task, False))


def free_slots(view: DispatchView) -> list[SlotView]:
    """Slots no job holds, by index."""
    return [slot for slot in view.slots if slot.job is None and not slot.loading]


def find_resident_slot(slots: Iterable[SlotView], job: JobView, task: TaskView) -> SlotView | None:
    """The first slot that needs no load for the task, one that served the same tenant before others."""
    found = [slot for slot in slots if needs_no_load(slot, job, task) and has_image(slot, task)]
    return min(found, key=lambda slot: slot.tenant != job.tenant, default=None)


def needs_no_load(slot: SlotView, job: JobView, task: TaskView) -> bool:
    """Whether a slot holds the task's module, and that served the same tenant or is scrubbed between tenants."""
    return slot.module == task.module and (slot.scrubs or slot.tenant == job.tenant)


def has_image(slot: SlotView, task: TaskView) -> bool:
    """Whether there is an image of the task's module for the slot."""
    return task.slots is None or slot.index in task.slots


def best_slot(slots: Iterable[SlotView], job: JobView, task: TaskView) -> SlotView | None:
    """A slot for a task: one that needs no load, else an empty one, else the one of lowest index; None if none fits."""
    slots = list(slots)
    ready = find_resident_slot(slots, job, task)
    if ready is not None:
        return ready
    fitting = [slot for slot in slots if has_image(slot, task)]
    return min(fitting, key=lambda slot: (slot.module != "", slot.index), default=None)
