"""Round robin over slots' queues ([004] 3.1): tasks are dealt to the shortest queue, queues sort by priority."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from eddy.policy.dispatch.select import is_complete, tasks_to_place
from eddy.policy.dispatch.view import Configure, Dispatch, DispatchView

Entry = tuple[int, int]
"""Job id, task id."""


@dataclass(frozen=True, slots=True)
class Queues:
    """What waits where.

    Attributes:
        by_slot: Slot index to its entries, in the order they were dealt.
        next_job: Id of the job whose turn it is to be dealt first: the one after the last dealt.
    """

    by_slot: Mapping[int, tuple[Entry, ...]] = field(default_factory=dict)
    next_job: int = 0


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
        queues = _deal(_keep(view), view, self.pipelined)
        decision = None if view.port_busy else _serve(queues, view)
        if decision is None:
            return Dispatch((), queues)
        queue = tuple(e for e in queues.by_slot[decision.slot] if e != (decision.job, decision.task))
        return Dispatch((decision,), replace(queues, by_slot={**queues.by_slot, decision.slot: queue}))


def _keep(view: DispatchView) -> Queues:
    """Forget entries whose job ended, whose task is complete or sits in a slot."""
    jobs = {job.id: job for job in view.jobs}

    def waits(entry: Entry) -> bool:
        job = jobs.get(entry[0])
        return job is not None and job.tasks[entry[1]].slot is None and not is_complete(job, job.tasks[entry[1]])

    memory: Queues = view.memory
    by_slot = {s.index: tuple(filter(waits, memory.by_slot.get(s.index, ()))) for s in view.slots}
    return replace(memory, by_slot=by_slot)


def _deal(queues: Queues, view: DispatchView, pipelined: bool) -> Queues:
    """Give every placeable task that waits in no queue to the shortest queue, one of each job a turn."""
    by_slot = dict(queues.by_slot)
    dealt = {entry for queue in by_slot.values() for entry in queue}
    hands = {
        job.id: [(task.id, task.slots) for task in tasks_to_place(job, pipelined) if (job.id, task.id) not in dealt]
        for job in view.jobs
    }
    next_job = queues.next_job
    while any(hands.values()):
        for job_id in sorted(hands, key=lambda job: (job < next_job, job)):
            if not hands[job_id]:
                continue
            task_id, allowed = hands[job_id].pop(0)
            fitting = [s for s in by_slot if allowed is None or s in allowed]
            if fitting:
                shortest = min(fitting, key=lambda s: (len(by_slot[s]), s))
                by_slot[shortest] = (*by_slot[shortest], (job_id, task_id))
                next_job = job_id + 1
    return Queues(by_slot, next_job)


def _serve(queues: Queues, view: DispatchView) -> Configure | None:
    priority = {job.id: job.priority for job in view.jobs}
    for slot in view.slots:
        queue = queues.by_slot[slot.index]
        if queue and slot.job is None and not slot.loading:
            job, task = min(queue, key=lambda entry: -priority[entry[0]])
            return Configure(job, task, slot.index)
    return None
