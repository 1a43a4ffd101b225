# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""In which form a job is run: its tasks as they are, or fused ones for some of them; whatever ends earliest."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import inf

from eddy.core.applications import Application
from eddy.policy.dispatch.views.view import DispatchView, JobView, SlotView


def choose_form(
    forms: Sequence[Application], job: JobView, view: DispatchView, fits: Mapping[str, Collection[int]]
) -> Application:
    """The form in which a job nothing was done for would end first; of those that end at once, the one listed first.

    Each form is laid over the slots that are free now, task by task in topological order: a task takes a slot that
    holds its module, else the slot that is free first, and is loaded as soon as slot and port are free. A load counts
    as often as there are jobs that want the port, up to the number of slots: they take turns. Items take what was
    estimated.

    Args:
        forms: What there is to choose from; see `eddy.core.fusion`.
        job: As policies see it.
        fits: Slots for which there is an image, by module; a form with a module that has none is left out.
    """
    free = [slot for slot in view.slots if slot.job is None and not slot.loading]
    turns = min(len(view.jobs), len(view.slots))
    found = [(_ends_in_s(form, job, free, turns, view.port_busy, fits), i) for i, form in enumerate(forms)]
    return forms[min(found)[1]]


def _ends_in_s(
    form: Application,
    job: JobView,
    free: Sequence[SlotView],
    turns: int,
    port_busy: bool,
    fits: Mapping[str, Collection[int]],
) -> float:
    """Seconds from now until the job would end."""
    slots = {slot.index: slot for slot in free}
    held = {slot.index: slot.module if slot.scrubs or slot.tenant == job.tenant else "" for slot in free}
    free_s = dict.fromkeys(slots, 0.0)
    port_s = min((slot.load_s for slot in free), default=0.0) if port_busy else 0.0
    first: list[float] = []
    last: list[float] = []
    for task in form.tasks:
        fitting = [index for index in slots if index in fits.get(task.module, ())]
        if not fitting:
            return inf
        before = form.predecessors(task.id)
        ready_s = max((first[other] for other in before), default=0.0)
        there = [index for index in fitting if held[index] == task.module]
        index = min(there or fitting, key=lambda each: (free_s[each], each))
        start_s = max(free_s[index], ready_s)
        if not there:
            port_s = max(port_s, free_s[index]) + turns * slots[index].loads_in_s(task.module)
            start_s = max(port_s, ready_s)
        first.append(start_s + task.estimate_s)
        behind_s = max((last[other] + task.estimate_s for other in before), default=0.0)
        last.append(max(start_s + job.batch * task.estimate_s, behind_s))
        held[index], free_s[index] = task.module, last[-1]
    return max(last)
