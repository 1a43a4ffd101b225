# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What would have made a job faster: the same forecast, of a queue in which one thing is different."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from eddy.core.jobs import PRIORITIES
from eddy.hypervisor.forecast.fabric import Seconds
from eddy.hypervisor.forecast.queue import QueuePicture
from eddy.hypervisor.forecast.simulate import JobForecast, forecast
from eddy.policy.dispatch.views.job_view import JobView
from eddy.policy.dispatch.views.jobs import Jobs
from eddy.policy.dispatch.views.view import SlotView

NO_LOAD_S = 1e-9
"""What a load takes where none is needed: next to nothing."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """One thing that could be different.

    Attributes:
        what: `priority`, `slot`, `undrain`, `resident` or `solo_queue`.
        words: The same for people.
        end_s: Board time at which it would end.
        saves_s: Seconds sooner that it would end, negative where later; None where now it would not end at all.
    """

    what: str
    words: str
    end_s: float
    saves_s: float | None


def explore_what_ifs(queue: QueuePicture, job: int, seconds: Seconds) -> tuple[JobForecast | None, tuple[WhatIf, ...]]:
    """What is expected of a job, and what would be if one thing were different; the most that is saved comes first.

    What would not let it end either is left out.
    """
    now = _expected(queue, job, seconds)
    found = []
    for what, words, changed in _changes(queue, queue.view.jobs.job(job)):
        then = _expected(changed, job, seconds)
        if then is not None:
            found.append(WhatIf(what, words, then.end_s, None if now is None else now.end_s - then.end_s))
    return now, tuple(sorted(found, key=lambda each: (-(each.saves_s or 0.0), each.end_s)))


def _expected(queue: QueuePicture, job: int, seconds: Seconds) -> JobForecast | None:
    """What is expected of a job; None where it cannot end, because slots are drained, or where
    that cannot be known."""
    return forecast(queue, seconds).jobs.get(job) if queue.can_end(queue.view.jobs.job(job)) else None


def _changes(queue: QueuePicture, job: JobView) -> Iterator[tuple[str, str, QueuePicture]]:
    view = queue.view
    highest = PRIORITIES[-1]
    if job.priority < highest:
        words = f"priority {highest} instead of {job.priority}"
        yield "priority", words, queue.with_job(replace(job, priority=highest))
    index = max((slot.index for slot in view.slots), default=-1) + 1 + len(queue.unseen)
    load_s = sum(slot.load_s for slot in view.slots) / max(len(view.slots), 1)
    yield "slot", "one more slot", _with_slots(queue, {index: load_s}, job)
    if queue.unseen:
        words = "its drained slot" if len(queue.unseen) == 1 else f"the {len(queue.unseen)} drained slots"
        yield "undrain", f"{words} in use again", _with_slots(queue, dict.fromkeys(queue.unseen, load_s), job)
    slots = tuple(replace(slot, load_s=NO_LOAD_S) for slot in view.slots)
    yield "resident", "its modules, and all others, in the slots already", _variant(queue, slots=slots)
    if len(view.jobs) > 1 or queue.arena is not None:
        yield "alone", "no other job", solo_queue(queue, job)


def solo_queue(queue: QueuePicture, job: JobView) -> QueuePicture:
    """A queue in which there is nothing but one job; what others hold is free."""
    slots = tuple(
        slot if slot.job == job.id else replace(slot, job=None, task=None, loading=False, running=False)
        for slot in queue.view.slots
    )
    kept = frozenset(slot.index for slot in slots if slot.job is not None)
    since_s = {slot: at_s for slot, at_s in queue.since_s.items() if slot in kept}
    alone = replace(_variant(queue, slots=slots, jobs=Jobs([job])), arena=None)
    return replace(alone, since_s=since_s, leaving=queue.leaving & kept)


def _variant(queue: QueuePicture, *, slots: tuple[SlotView, ...], jobs: Jobs | None = None) -> QueuePicture:
    """A queue with other slots, or jobs; where jobs are gone, the policy forgets what it remembers of them."""
    view = queue.view
    memory = view.memory if jobs is None else queue.policy.initial()
    kept = view.jobs if jobs is None else jobs
    return replace(queue, view=replace(view, slots=slots, jobs=kept, memory=memory, changed=None))


def _with_slots(queue: QueuePicture, more: Mapping[int, float], job: JobView) -> QueuePicture:
    """With more slots, by index what a load takes; the job's tasks have images for them."""
    new = tuple(SlotView(index, "", "", None, None, False, False, load_s) for index, load_s in sorted(more.items()))
    fits: Callable[[tuple[int, ...] | None], tuple[int, ...] | None]
    fits = lambda slots: None if slots is None else tuple(sorted({*slots, *more}))  # noqa: E731
    tasks = tuple(replace(task, slots=fits(task.slots)) for task in job.tasks)
    queue = queue.with_job(replace(job, tasks=tasks))
    return _variant(queue, slots=tuple(sorted((*queue.view.slots, *new), key=lambda slot: slot.index)))
