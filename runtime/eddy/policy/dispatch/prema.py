# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""PREMA over slots, as [004] 3.1 adapts it: tokens, candidates, the shortest candidate first, no preemption.

But what would wait in a slot for ever is taken out of it; see `unblock_slots`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop

from eddy.policy.dispatch.choosing.unblocking import unblock_slots
from eddy.policy.dispatch.sharing.tokens import Candidates, serial_estimate_s
from eddy.policy.dispatch.views.choice import best_slot, free_slots
from eddy.policy.dispatch.views.select import tasks_to_place
from eddy.policy.dispatch.views.view import Configure, Decision, Dispatch, DispatchView, JobView


@dataclass(frozen=True, slots=True)
class Prema:
    """The shortest candidate gets the next slot.

    Attributes:
        alpha: Weight of waiting in the tokens.
        interval_s: Board seconds between periodic reviews.
        pipelined: Whether tasks of a job may work on different items at once.
    """

    alpha: float = 1.0
    interval_s: float = 0.396
    pipelined: bool = True
    name: str = "prema"

    def initial(self) -> None:
        """It remembers nothing: tokens follow from how long a job has waited."""
        return None

    def decide(self, view: DispatchView) -> Dispatch:
        """Place one task of the shortest candidate that has one to place; ties by arrival, then id."""
        wake_s = view.now_s + self.interval_s if len(view.jobs) else None
        return Dispatch(unblock_slots(view, self._place(view), self.pipelined), None, wake_s)

    def _place(self, view: DispatchView) -> tuple[Decision, ...]:
        free = free_slots(view)
        if view.port_busy or not free:
            return ()
        for job in _shortest_first(Candidates(view.jobs, view.now_s, self.alpha)):
            for task in tasks_to_place(job, self.pipelined):
                slot = best_slot(free, job, task)
                if slot is not None:
                    return (Configure(job.id, task.id, slot.index),)
        return ()


def _shortest_first(found: Candidates) -> Iterator[JobView]:
    """Candidates by length; of jobs that are alike in what they could be given, the first only."""
    heap = [(serial_estimate_s(job), job.age, job) for job in found.shortest()]
    heapify(heap)
    while heap:
        yield heappop(heap)[2]
