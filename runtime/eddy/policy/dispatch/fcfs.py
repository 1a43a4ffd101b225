# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""First come, first served, by task ([004] section 3.1).

"... a naive first-come, first-served (FCFS) scheduling algorithm where all tasks that are ready to execute from all
applications are selected from in the order that they were made ready. Applications are able to pipeline and execute
parallel paths simultaneously, but may not have access to as many resources as in the baseline."
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace

from eddy.policy.dispatch.choosing.unblocking import unblock_slots
from eddy.policy.dispatch.views.choice import (
    best_slot,
    find_resident_slot,
    free_slots,
    startable_in_bulk,
    startable_pipelined,
)
from eddy.policy.dispatch.views.jobs import Jobs
from eddy.policy.dispatch.views.sorted_mapping import SortedMapping
from eddy.policy.dispatch.views.view import Configure, Decision, Dispatch, DispatchView, SlotView

Place = tuple[int, float, int, int]
"""Of a ready task in the queue: the call at which it became ready, its job's arrival, the job, the task."""
Fit = tuple[int, ...] | None
"""Slots a task fits in; None for all."""
_EMPTY: SortedMapping[Place, None] = SortedMapping()


@dataclass(frozen=True, slots=True)
class Queue:
    """Ready tasks; what the policy remembers.

    Attributes:
        calls: How often the policy was called.
        lines: The queue, in one line for each choice of slots that tasks fit in: of tasks that fit alike the first is
            served first, so whoever looks for one looks at the heads.
        of: Job id to its ready tasks, each with its place and the line it stands in.
    """

    calls: int = 0
    lines: Mapping[Fit, SortedMapping[Place, None]] = field(default_factory=dict)
    of: SortedMapping[int, Mapping[int, tuple[Place, Fit]]] = field(default_factory=SortedMapping)

    @property
    def entries(self) -> tuple[tuple[int, int], ...]:
        """(job, task), in the order they became ready."""
        return tuple((place[2], place[3]) for place in sorted(place for line in self.lines.values() for place in line))


@dataclass(frozen=True, slots=True)
class FirstComeFirstServed:
    """Ready tasks in the order they became ready.

    A task is ready when it has no slot and its next item could start now: every predecessor has finished the batch or,
    with `pipelined`, that item. Tasks that become ready at the same call stand in order of their job's arrival, then
    job id, then task id. The head of the queue takes a slot where its module is resident, else an empty one, else the
    one of lowest index that fits; a task that must wait for the configuration port keeps a slot back, so that only what
    needs no load overtakes it, and never with its slot. A task for which no free slot fits is passed over. Nothing is
    preempted but what would wait for ever; see `unblock_slots`.

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
        return Queue()

    def decide(self, view: DispatchView) -> Dispatch:
        """Give slots to the head of the queue."""
        startable = startable_pipelined if self.pipelined else startable_in_bulk
        queue: Queue = view.memory or Queue()
        changed = view.changed
        if changed is None:
            changed = frozenset(queue.of).union(job.id for job in view.jobs)
        found = {number: view.jobs.get(number) for number in changed}
        ready = {number: () if job is None else startable(job) for number, job in found.items()}
        queue = _brought_up_to_date(queue, view.jobs, ready)
        free = free_slots(view)
        decisions = self._configure(view, queue, free) if free else ()
        return Dispatch(unblock_slots(view, decisions, self.pipelined), memory=queue)

    def _configure(self, view: DispatchView, queue: Queue, free: list[SlotView]) -> list[Decision]:
        port_busy = view.port_busy
        decisions: list[Decision] = []
        heads = [(next(places), places) for places in map(iter, queue.lines.values())]
        heapify(heads)
        while free and heads:
            (_, _, number, place), line = heads[0]
            job = view.jobs.job(number)
            task = job.tasks[place]
            slot = best_slot(free, job, task)
            if slot is None:
                # No slot that is left fits anyone in this line.
                heappop(heads)
                continue
            _advance(heads, line)
            free.remove(slot)
            if find_resident_slot([slot], job, task) is None:
                if port_busy:
                    continue
                port_busy = True
            decisions.append(Configure(number, place, slot.index))
        return decisions


def _advance(heads: list[tuple[Place, Iterator[Place]]], line: Iterator[Place]) -> None:
    """Let the next one of the line at the head of the heap stand for it."""
    following = next(line, None)
    if following is None:
        heappop(heads)
    else:
        heapreplace(heads, (following, line))


def _brought_up_to_date(queue: Queue, jobs: Jobs, ready: Mapping[int, Iterable[tuple[int, int]]]) -> Queue:
    """The queue without what is not ready any more, and with what became ready behind it.

    Args:
        queue: As of the last call.
        jobs: As they are.
        ready: Job id to the (job, task) that could start, of those that changed or went.
    """
    lines, of, calls = dict(queue.lines), queue.of, queue.calls + 1
    for number, tasks in ready.items():
        before: Mapping[int, tuple[Place, Fit]] = of.get(number) or {}
        after: dict[int, tuple[Place, Fit]] = {}
        for _, task in tasks:
            job = jobs.job(number)
            place = before[task][0] if task in before else (calls, job.arrival_s, number, task)
            after[task] = place, job.tasks[task].slots
        if after == before:
            continue
        for place, fit in set(before.values()) - set(after.values()):
            lines[fit] = lines[fit].drop(place)
        for place, fit in set(after.values()) - set(before.values()):
            lines[fit] = lines.get(fit, _EMPTY).put(place, None)
        of = of.put(number, after) if after else of.drop(number)
    return Queue(calls, {fit: line for fit, line in lines.items() if len(line)}, of)
