# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Round robin as the artefact has it: slots' queues are heaps in which the lowest priority comes out first."""

from __future__ import annotations

from dataclasses import dataclass

from eddy.policy.dispatch.views.view import Configure, Dispatch, DispatchView, JobView, TaskView

from eddy_studies.nimblock.artefact.common import is_ready, jobs_by_id

Entry = tuple[int, int, int]
"""Rank (what is lowest comes out first), job id, task id."""
Heap = tuple[Entry, ...]


def _below(a: Entry, b: Entry) -> bool:
    """Whether `a` comes out after `b`: a higher rank does, and in a job the earlier task.

    Entries of different jobs with equal ranks are equal, so that the heap's shape decides.
    """
    return a[0] > b[0] or (a[1] == b[1] and a[2] < b[2])


def push(heap: Heap, entry: Entry) -> Heap:
    """A binary heap with one more entry: appended, then raised past every parent that is below it."""
    rows = [*heap, entry]
    hole = len(heap)
    while hole and _below(rows[(hole - 1) // 2], entry):
        rows[hole] = rows[(hole - 1) // 2]
        hole = (hole - 1) // 2
    rows[hole] = entry
    return tuple(rows)


def pop(heap: Heap) -> tuple[Entry, Heap]:
    """The top of a heap and what is left: the hole sinks to a leaf, then the last entry is raised from there."""
    top, rows = heap[0], list(heap[:-1])
    if not rows:
        return top, ()
    hole, count = 0, len(rows)
    while 2 * hole + 2 < count:
        child = 2 * hole + 2
        if _below(rows[child], rows[child - 1]):
            child -= 1
        rows[hole] = rows[child]
        hole = child
    if 2 * hole + 2 == count:
        rows[hole] = rows[count - 1]
        hole = count - 1
    moved = heap[-1]
    while hole and _below(rows[(hole - 1) // 2], moved):
        rows[hole] = rows[(hole - 1) // 2]
        hole = (hole - 1) // 2
    rows[hole] = moved
    return top, tuple(rows)


@dataclass(frozen=True, slots=True)
class ArtefactRoundRobin:
    """One ready task of every job a turn goes to the shortest queue; the first idle slot with a queue serves it.

    A slot that is not idle counts as one more entry of its queue.

    Attributes:
        pipelined: Whether a task is ready before its predecessors have finished the batch.
        name: As `--policy` takes it.
        inverted: Whether the lowest priority comes out first, as in the artefact; else the highest.
    """

    pipelined: bool = False
    name: str = "round_robin"
    inverted: bool = True

    def initial(self) -> tuple[Heap, ...]:
        """No queues yet."""
        return ()

    def decide(self, view: DispatchView) -> Dispatch:
        """One turn: deal, then serve one slot."""
        jobs = jobs_by_id(view)
        known: tuple[Heap, ...] = view.memory or tuple(() for _ in view.slots)
        queues = [heap if all(e[1] in jobs for e in heap) else _without(heap, set(jobs)) for heap in known]
        dealt = {(entry[1], entry[2]) for heap in queues for entry in heap}
        for job in view.jobs:
            task = self._next(job, dealt)
            if task is not None:
                sizes = [len(h) + (s.job is not None or s.loading) for h, s in zip(queues, view.slots, strict=True)]
                fitting = [i for i, s in enumerate(view.slots) if task.slots is None or s.index in task.slots]
                if fitting:
                    place = min(fitting, key=lambda i: (sizes[i], i))
                    rank = job.priority if self.inverted else -job.priority
                    queues[place] = push(queues[place], (rank, job.id, task.id))
        decisions: tuple[Configure, ...] = ()
        if not view.port_busy:
            for place, slot in enumerate(view.slots):
                if queues[place] and slot.job is None:
                    top, queues[place] = pop(queues[place])
                    decisions = (Configure(top[1], top[2], slot.index),)
                    break
        return Dispatch(decisions, tuple(queues))

    def _next(self, job: JobView, dealt: set[tuple[int, int]]) -> TaskView | None:
        batch = job.batch
        for task in job.tasks:
            if task.items_done >= batch or task.slot is not None or (job.id, task.id) in dealt:
                continue
            if is_ready(job, task, self.pipelined):
                return task
        return None


def _without(heap: Heap, jobs: set[int]) -> Heap:
    """The heap without entries of jobs that are gone, which the artefact never has: its jobs cannot be cancelled."""
    rows: Heap = ()
    for entry in heap:
        if entry[1] in jobs:
            rows = push(rows, entry)
    return rows
