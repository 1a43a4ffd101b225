# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The slots that one decision may still give."""

from __future__ import annotations

from eddy.policy.dispatch.views.choice import find_resident_slot, free_slots, has_image
from eddy.policy.dispatch.views.job_view import JobView, TaskView
from eddy.policy.dispatch.views.view import DispatchView, SlotView


class FreeSlots:
    """Slots of a view that are free, less those that were given or kept since.

    Attributes:
        slots: By index.
    """

    def __init__(self, view: DispatchView) -> None:
        self.slots = free_slots(view)
        self._fitting: dict[tuple[str, tuple[int, ...] | None, str], tuple[list[SlotView], SlotView | None]] = {}
        """By module, the slots it fits, and tenant, until a slot is given: what `find_fitting` answers. Hundreds of
        jobs may ask in turn."""

    def find_fitting(self, job: JobView, task: TaskView) -> tuple[list[SlotView], SlotView | None]:
        """The slots that a task fits, and that of them which needs no load for it."""
        key = task.module, task.slots, job.tenant
        found = self._fitting.get(key)
        if found is None:
            slots = [slot for slot in self.slots if has_image(slot, task)]
            found = self._fitting[key] = slots, find_resident_slot(slots, job, task)
        return found

    def remove_slot(self, slot: SlotView) -> None:
        """A slot is free no longer."""
        self.slots.remove(slot)
        self._fitting.clear()
