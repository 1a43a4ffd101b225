"""First come, first served, by task ([004] section 3.1).

"... a naive first-come, first-served (FCFS) scheduling algorithm where all tasks that are ready to execute from all
applications are selected from in the order that they were made ready. Applications are able to pipeline and execute
parallel paths simultaneously, but may not have access to as many resources as in the baseline."
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from eddy.policy.dispatch.choice import (
    best_slot,
    free_slots,
    resident,
    startable_in_bulk,
    startable_pipelined,
)
from eddy.policy.dispatch.view import Configure, Decision, Dispatch, DispatchView, SlotView

Queue = tuple[tuple[int, int], ...]
"""(job, task), in the order they became ready; what the policy remembers."""


@dataclass(frozen=True, slots=True)
class FirstComeFirstServed:
    """Ready tasks in the order they became ready.

    A task is ready when it has no slot and its next item could start now: every predecessor has finished the batch or,
    with `pipelined`, that item. Tasks that become ready at the same call stand in order of their job's arrival, then
    job id, then task id. The head of the queue takes a slot where its module is resident, else an empty one, else the
    one of lowest index that fits; a task that must wait for the configuration port keeps a slot back, so that only what
    needs no load overtakes it, and never with its slot. A task for which no free slot fits is passed over. Nothing is
    preempted.

    Attributes:
        pipelined: Whether a task may work on an item while its predecessors work on later ones.
    """

    pipelined: bool = True

    @property
    def name(self) -> str:
        """As `--policy` takes it."""
        return "fcfs"

    def initial(self) -> Queue:
        """An empty queue."""
        return ()

    def decide(self, view: DispatchView) -> Dispatch:
        """Give slots to the head of the queue."""
        startable = startable_pipelined if self.pipelined else startable_in_bulk
        ready = dict.fromkeys(chain.from_iterable([startable(job) for job in view.jobs]))
        known: Queue = view.memory
        kept = [key for key in known if key in ready]
        if len(kept) < len(ready):
            seen = set(kept)
            kept += [key for key in ready if key not in seen]
        queue = tuple(kept)
        free = free_slots(view)
        return Dispatch(tuple(self._configure(view, queue, free)) if free else (), memory=queue)

    def _configure(self, view: DispatchView, queue: Queue, free: list[SlotView]) -> list[Decision]:
        port_busy, jobs = view.port_busy, {job.id: job for job in view.jobs}
        decisions: list[Decision] = []
        for number, place in queue:
            if not free:
                break
            job = jobs[number]
            task = job.tasks[place]
            slot = best_slot(free, job, task)
            if slot is None:
                continue
            free.remove(slot)
            if resident([slot], job, task) is None:
                if port_busy:
                    continue
                port_busy = True
            decisions.append(Configure(number, place, slot.index))
        return decisions
