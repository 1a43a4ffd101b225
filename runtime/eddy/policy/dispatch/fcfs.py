"""First come, first served, by task ([004] section 3.1).

"... a naive first-come, first-served (FCFS) scheduling algorithm where all tasks that are ready to execute from all
applications are selected from in the order that they were made ready. Applications are able to pipeline and execute
parallel paths simultaneously, but may not have access to as many resources as in the baseline."
"""

from __future__ import annotations

from dataclasses import dataclass

from eddy.policy.dispatch.choice import best_slot, by_id, can_start, free_slots, resident
from eddy.policy.dispatch.view import Configure, Decision, Dispatch, DispatchView, JobView, TaskView

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
        ready = self._ready(view)
        known: Queue = view.memory
        queue = tuple(key for key in known if key in ready)
        seen = set(queue)
        queue += tuple(key for key in ready if key not in seen)
        return Dispatch(tuple(self._configure(view, queue, ready)), memory=queue)

    def _ready(self, view: DispatchView) -> dict[tuple[int, int], tuple[JobView, TaskView]]:
        found = {}
        for job in view.jobs:
            tasks = by_id(job)
            for task in job.tasks:
                if task.slot is None and can_start(job, task, tasks, self.pipelined):
                    found[job.id, task.id] = (job, task)
        return found

    def _configure(
        self, view: DispatchView, queue: Queue, ready: dict[tuple[int, int], tuple[JobView, TaskView]]
    ) -> list[Decision]:
        free, port_busy = free_slots(view), view.port_busy
        decisions: list[Decision] = []
        for key in queue:
            if not free:
                break
            job, task = ready[key]
            slot = best_slot(free, job, task)
            if slot is None:
                continue
            free.remove(slot)
            if resident([slot], job, task) is None:
                if port_busy:
                    continue
                port_busy = True
            decisions.append(Configure(job.id, task.id, slot.index))
        return decisions
