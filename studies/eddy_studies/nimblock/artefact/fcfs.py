# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""First come, first served, and no sharing, as the artefact has them."""

from __future__ import annotations

from dataclasses import dataclass

from eddy.policy.dispatch.views.view import Configure, Dispatch, DispatchView

from eddy_studies.nimblock.artefact.common import first_idle, is_ready, jobs_by_id

Entry = tuple[int, int]
"""Job id, task id."""


@dataclass(frozen=True, slots=True)
class Lists:
    """What waits.

    Attributes:
        admitted: Jobs whose tasks are in the lists.
        pending: Tasks that were not ready when last looked at, in order of arrival, then id.
        ready: Tasks that were, in the order in which they were found to be.
    """

    admitted: tuple[int, ...] = ()
    pending: tuple[Entry, ...] = ()
    ready: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class ArtefactFirstCome:
    """Ready tasks in the order in which they were found ready; the first of them waits for the first idle slot.

    Attributes:
        pipelined: Whether a task is ready before its predecessors have finished the batch.
        sharing: Whether jobs share the board; else the next is admitted when the last has ended.
        name: As `--policy` takes it.
    """

    pipelined: bool = False
    sharing: bool = True
    name: str = "fcfs"

    def initial(self) -> Lists:
        """Nothing waits."""
        return Lists()

    def decide(self, view: DispatchView) -> Dispatch:
        """One turn: find what has become ready, give the head of the list the first idle slot."""
        jobs = jobs_by_id(view)
        lists: Lists = view.memory
        admitted = tuple(job for job in lists.admitted if job in jobs)
        pending = list(lists.pending)
        for job in view.jobs:
            if job.id not in admitted and (self.sharing or not admitted):
                admitted += (job.id,)
                pending += [(job.id, task.id) for task in job.tasks]
        ready = [entry for entry in lists.ready if entry[0] in jobs]
        still: list[Entry] = []
        for entry in pending:
            if entry[0] in jobs:
                job = jobs[entry[0]]
                (ready if is_ready(job, job.tasks[entry[1]], self.pipelined) else still).append(entry)
        decisions: tuple[Configure, ...] = ()
        if ready and not view.port_busy:
            slot = first_idle(view, jobs[ready[0][0]].tasks[ready[0][1]])
            if slot is not None:
                job_id, task_id = ready.pop(0)
                decisions = (Configure(job_id, task_id, slot.index),)
        return Dispatch(decisions, Lists(admitted, tuple(still), tuple(ready)))
