"""Round robin over slots' queues ([004] 3.1): tasks are dealt to the shortest queue, queues sort by priority."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heapify, heapreplace

from eddy.policy.dispatch.select import is_complete, tasks_to_place
from eddy.policy.dispatch.view import Configure, Dispatch, DispatchView, JobView, TaskView

Entry = tuple[int, int]
"""Job id, task id."""


@dataclass(frozen=True, slots=True)
class Queues:
    """What waits where.

    Attributes:
        by_slot: Slot index to its entries, in the order they were dealt.
        next_job: Id of the job whose turn it is to be dealt first: the one after the last dealt.
        dealt_from: The jobs as they were when this was written. One that has not changed has nothing new to deal, and
            what of it waits in a queue waits still. None for a job to be looked at again in any case.
    """

    by_slot: Mapping[int, tuple[Entry, ...]] = field(default_factory=dict)
    next_job: int = 0
    dealt_from: Mapping[int, JobView | None] = field(default_factory=dict)


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
        """
        queues = _bring_up_to_date(view, self.pipelined)
        decision = None if view.port_busy else _serve(queues, view)
        if decision is None:
            return Dispatch((), queues)
        queue = tuple(e for e in queues.by_slot[decision.slot] if e != (decision.job, decision.task))
        # A task that is not given its slot after all, for want of memory say, is dealt again: its job counts as new.
        dealt_from = {**queues.dealt_from, decision.job: None}
        return Dispatch((decision,), Queues({**queues.by_slot, decision.slot: queue}, queues.next_job, dealt_from))


def _bring_up_to_date(view: DispatchView, pipelined: bool) -> Queues:
    """Forget what waits no more, and deal what became placeable."""
    memory: Queues = view.memory
    jobs = {job.id: job for job in view.jobs}
    before = memory.dealt_from
    changed = {number for number, job in jobs.items() if before.get(number) is not job}
    stale = changed.union(before.keys() - jobs.keys()) if before else None
    by_slot = {s.index: _still_waiting(memory.by_slot.get(s.index, ()), jobs, stale) for s in view.slots}
    if before and memory.by_slot.keys() != by_slot.keys():
        changed = set(jobs)
        if not memory.by_slot.keys() >= by_slot.keys():
            by_slot = dict.fromkeys(by_slot, ())
    dealt = {entry for queue in by_slot.values() for entry in queue}
    hands = {}
    for number in sorted(changed):
        job = jobs[number]
        hand = [task for task in tasks_to_place(job, pipelined) if (number, task.id) not in dealt]
        if hand:
            hands[number] = hand
    next_job = _deal(hands, by_slot, memory.next_job) if hands else memory.next_job
    return Queues(by_slot, next_job, jobs)


def _still_waiting(queue: tuple[Entry, ...], jobs: Mapping[int, JobView], stale: set[int] | None) -> tuple[Entry, ...]:
    """The entries whose job has not ended and whose task has items left and no slot.

    Args:
        queue: Of one slot.
        jobs: By id.
        stale: Jobs that changed or ended; None where any may have.
    """
    kept = []
    for entry in queue:
        number, place = entry
        if stale is None or number in stale:
            job = jobs.get(number)
            if job is None or job.tasks[place].slot is not None or is_complete(job, job.tasks[place]):
                continue
        kept.append(entry)
    return queue if len(kept) == len(queue) else tuple(kept)


def _deal(hands: dict[int, list[TaskView]], by_slot: dict[int, tuple[Entry, ...]], next_job: int) -> int:
    """Give every task to the shortest queue that may serve it, one of each job a turn; answers whose turn is next.

    Args:
        hands: Job id to its tasks, in topological order; in order of id. It is emptied.
        by_slot: Slot index to its queue; extended.
        next_job: Whose turn it is.
    """
    shortest = [(len(queue), slot) for slot, queue in by_slot.items()]
    heapify(shortest)
    while hands:
        turn = [number for number in hands if number >= next_job] + [number for number in hands if number < next_job]
        for number in turn:
            task = hands[number].pop(0)
            if not hands[number]:
                del hands[number]
            place = _place(shortest, task.slots)
            if place is None:
                continue
            length, slot = shortest[place]
            by_slot[slot] = (*by_slot[slot], (number, task.id))
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


def _serve(queues: Queues, view: DispatchView) -> Configure | None:
    for slot in view.slots:
        if slot.job is None and not slot.loading:
            queue = queues.by_slot[slot.index]
            if queue:
                priority = {job.id: job.priority for job in view.jobs}
                job, task = min(queue, key=lambda entry: -priority[entry[0]])
                return Configure(job, task, slot.index)
    return None
