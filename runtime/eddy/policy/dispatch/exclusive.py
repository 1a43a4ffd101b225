# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""No sharing: one application owns the board at a time ([004] section 3.1, "baseline").

"Our baseline algorithm is a 'no-sharing' algorithm where only one application is able to use the board at a time;
applications wait in a pending application queue until it is their turn to execute. In this scheme, when an application
is selected to run, it is able to make use of all slots on the board to execute parallel branches of its task-graph or
pipeline across batches."
"""

from __future__ import annotations

from dataclasses import dataclass

from eddy.policy.dispatch.choosing.unblocking import unblock_slots
from eddy.policy.dispatch.views.choice import best_slot, free_slots, needs_no_load
from eddy.policy.dispatch.views.view import Configure, Decision, Dispatch, DispatchView, JobView, TaskView


@dataclass(frozen=True, slots=True)
class Exclusive:
    """One application owns all slots, in order of arrival, its tasks in topological order.

    The owner is the job that arrived first (ties: lower id) of those that have not ended. Its tasks are given slots in
    topological order, one load at a time. A task may have a slot when each of its predecessors has finished the batch
    or, with `pipelined`, has finished it or holds a slot itself: loads then hide behind its predecessors' work, and no
    task can wait for one that never gets a slot. Of the free slots it takes one where its module is resident, else an
    empty one, else the one of lowest index. Nothing is preempted but what would wait for ever; see `unblock_slots`.

    Attributes:
        pipelined: Whether a task may work on an item while its predecessors work on later ones.
    """

    pipelined: bool = True

    @property
    def name(self) -> str:
        """As `--policy` takes it."""
        return "exclusive"

    def initial(self) -> None:
        """It remembers nothing."""
        return None

    def decide(self, view: DispatchView) -> Dispatch:
        """Give the owner's next tasks their slots."""
        if not len(view.jobs):
            return Dispatch(())
        owner = view.jobs.oldest()
        if any(slot.job is not None and slot.job != owner.id for slot in view.slots):
            return Dispatch(unblock_slots(view, (), self.pipelined))
        return Dispatch(unblock_slots(view, self._configure(view, owner), self.pipelined))

    def _configure(self, view: DispatchView, owner: JobView) -> list[Decision]:
        free = free_slots(view)
        placed = {task.id for task in owner.tasks if task.slot is not None}
        port_busy = view.port_busy
        decisions: list[Decision] = []
        for task in owner.tasks:
            if not free:
                break
            if task.id in placed or task.items_done >= owner.batch or not self._eligible(owner, task, placed):
                continue
            slot = best_slot(free, owner, task)
            if slot is None:
                continue
            if not needs_no_load(slot, owner, task):
                if port_busy:
                    continue
                port_busy = True
            decisions.append(Configure(owner.id, task.id, slot.index))
            placed.add(task.id)
            free.remove(slot)
        return decisions

    def _eligible(self, owner: JobView, task: TaskView, placed: set[int]) -> bool:
        return all(
            owner.tasks[before].items_done >= owner.batch or (self.pipelined and before in placed)
            for before in task.predecessors
        )
