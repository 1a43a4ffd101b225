# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Round robin over slots' queues ([004] 3.1): tasks are dealt to the shortest queue, queues sort by priority."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heapreplace

from eddy.policy.dispatch.choosing.unblocking import unblock_slots
from eddy.policy.dispatch.views.jobs import Jobs
from eddy.policy.dispatch.views.select import is_complete, tasks_to_place
from eddy.policy.dispatch.views.sorted_mapping import SortedMapping
from eddy.policy.dispatch.views.view import Configure, Dispatch, DispatchView, JobView, TaskView

Entry = tuple[int, int]
"""Job id, task id."""
Place = tuple[int, int]
"""In a slot's queue: priority, negated; how many were dealt before."""
_EMPTY: SortedMapping[Place, Entry] = SortedMapping()


@dataclass(frozen=True, slots=True)
class Queues:
    """What waits where.

    Attributes:
        lines: Index of every slot seen so far to its queue: what has the highest priority first, then what was dealt
            first.
        of: Job id to its tasks that were dealt, each with its slot and its place there.
        dealt: How many were dealt so far.
        next_job: Id of the job whose turn it is to be dealt first: the one after the last dealt.
        unsettled: Jobs to be looked at again though they have not changed.
    """

    lines: Mapping[int, SortedMapping[Place, Entry]] = field(default_factory=dict)
    of: SortedMapping[int, Mapping[int, tuple[int, Place]]] = field(default_factory=SortedMapping)
    dealt: int = 0
    next_job: int = 0
    unsettled: frozenset[int] = frozenset()

    @property
    def by_slot(self) -> dict[int, tuple[Entry, ...]]:
        """Slot index to its entries, in the order they were dealt."""
        ordered = {slot: sorted(line.items(), key=lambda item: item[0][1]) for slot, line in self.lines.items()}
        return {slot: tuple(entry for _, entry in items) for slot, items in ordered.items()}


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """Deal tasks to per-slot queues, one job after another; each slot serves its queue by priority.

    Attributes:
        pipelined: Whether tasks of a job may work on different items at once.
    """

    pipelined: bool = True
    name: str = "round_robin"

    def initial(self) -> Queues:
        """Empty queues."""
        return Queues()

    def decide(self, view: DispatchView) -> Dispatch:
        """Deal what became placeable; then give the lowest free slot with a queue its first entry.

        Within a queue: higher priority first, then the order dealt. Of equally short queues the lowest slot's is taken.
        What waits in the queue of a slot that is out of sight, as it rests or is another tenant's, any slot may serve
        that it fits, as if it waited there. Where no slot can be served, those are given back in which tasks would wait
        for ever; see `unblock_slots`.
        """
        queues = _bring_up_to_date(view, self.pipelined)
        served = None if view.port_busy else _served(queues, view)
        if served is None:
            return Dispatch(unblock_slots(view, (), self.pipelined), queues)
        slot, (job, task) = served
        # A task that is not given its slot after all, for want of memory say, is dealt again.
        hands = MutableQueues(queues)
        hands.take(job, [task])
        return Dispatch((Configure(job, task, slot),), hands.queues(queues.next_job, frozenset({job})))


class MutableQueues:
    """Queues that are being changed.

    Args:
        queues: As they were.
    """

    def __init__(self, queues: Queues) -> None:
        self.lines, self.of, self.dealt = dict(queues.lines), queues.of, queues.dealt

    def queues(self, next_job: int, unsettled: frozenset[int] = frozenset()) -> Queues:
        """As they are."""
        return Queues(self.lines, self.of, self.dealt, next_job, unsettled)

    def of_job(self, number: int) -> Mapping[int, tuple[int, Place]]:
        """A job's tasks that wait in queues."""
        return self.of.get(number) or {}

    def take(self, number: int, tasks: Iterable[int]) -> None:
        """Take a job's tasks out of the queues they wait in, if these are still there."""
        left = dict(self.of_job(number))
        for task in tasks:
            slot, place = left.pop(task)
            self.lines[slot] = self.lines[slot].drop(place)
        self.of = self.of.put(number, left) if left else self.of.drop(number)

    def put(self, job: JobView, task: TaskView, slot: int) -> None:
        """Put a task behind all others of its priority."""
        place = -job.priority, self.dealt
        self.dealt += 1
        self.lines[slot] = self.lines[slot].put(place, (job.id, task.id))
        self.of = self.of.put(job.id, {**self.of_job(job.id), task.id: (slot, place)})


def _bring_up_to_date(view: DispatchView, pipelined: bool) -> Queues:
    """Forget what waits no more, and deal what became placeable; all again where a slot is new."""
    memory: Queues = view.memory
    hands, slots = MutableQueues(memory), {*memory.lines, *[slot.index for slot in view.slots]}
    new = memory.lines.keys() != slots
    everyone = new or view.changed is None
    changed = frozenset(hands.of).union(job.id for job in view.jobs) if everyone else view.changed or frozenset()
    if new:
        hands.of, hands.lines = SortedMapping(), dict.fromkeys(sorted(slots), _EMPTY)  # so that it has its part
    to_deal: dict[int, list[TaskView]] = {}
    for number in sorted(changed | memory.unsettled):
        job, waiting = view.jobs.get(number), hands.of_job(number)
        gone = [task for task in waiting if not _waits(job, task)]
        if gone:
            hands.take(number, gone)
        found = tasks_to_place(job, pipelined) if job is not None else ()
        hand = [task for task in found if task.id not in hands.of_job(number)]
        if hand:
            to_deal[number] = hand
    next_job = _deal(to_deal, view.jobs, hands, memory.next_job) if to_deal else memory.next_job
    return hands.queues(next_job)


def _waits(job: JobView | None, task: int) -> bool:
    """Whether a task that was dealt waits still: it has items left and no slot."""
    return job is not None and job.tasks[task].slot is None and not is_complete(job, job.tasks[task])


def _deal(to_deal: dict[int, list[TaskView]], jobs: Jobs, hands: MutableQueues, next_job: int) -> int:
    """Give every task to the shortest queue that may serve it, one of each job a turn; answers whose turn is next.

    Args:
        to_deal: Job id to its tasks, in topological order; in order of id. It is emptied.
        next_job: Whose turn it is.
    """
    shortest = [(len(line), slot) for slot, line in hands.lines.items()]
    heapify(shortest)
    while to_deal:
        turn = [number for number in to_deal if number >= next_job]
        turn += [number for number in to_deal if number < next_job]
        for number in turn:
            task = to_deal[number].pop(0)
            if not to_deal[number]:
                del to_deal[number]
            place = _place(shortest, task.slots)
            if place is None:
                continue
            length, slot = shortest[place]
            hands.put(jobs.job(number), task, slot)
            if place == 0:
                heapreplace(shortest, (length + 1, slot))
            else:
                shortest[place] = (length + 1, slot)
                heapify(shortest)
            next_job = number + 1
    return next_job


def _place(shortest: list[tuple[int, int]], allowed: tuple[int, ...] | None) -> int | None:
    """Where in the heap the shortest queue is that may serve a task; of equally short ones the lowest slot's."""
    if allowed is None:
        return 0 if shortest else None
    return min((i for i, (_, slot) in enumerate(shortest) if slot in allowed), key=shortest.__getitem__, default=None)


def _served(queues: Queues, view: DispatchView) -> tuple[int, Entry] | None:
    """The lowest slot that is free and has something to serve, and what it serves; or None."""
    seen = {slot.index for slot in view.slots}
    elsewhere = [line for slot, line in queues.lines.items() if slot not in seen and len(line)]
    for slot in view.slots:
        if slot.job is None and not slot.loading:
            lines = [queues.lines[slot.index], *elsewhere]
            firsts = [next((item for item in line.items() if _fits(view, item[1], slot.index)), None) for line in lines]
            if found := [item for item in firsts if item is not None]:
                return slot.index, min(found)[1]
    return None


def _fits(view: DispatchView, entry: Entry, slot: int) -> bool:
    job, task = entry
    allowed = view.jobs.job(job).tasks[task].slots
    return allowed is None or slot in allowed
