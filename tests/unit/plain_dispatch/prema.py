"""PREMA over slots, as [004] 3.1 adapts it: tokens, candidates, the shortest candidate first, no preemption."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop

from eddy.policy.dispatch.choice import best_slot, free_slots
from eddy.policy.dispatch.select import tasks_to_place
from eddy.policy.dispatch.view import Configure, Dispatch, DispatchView
from unit.plain_dispatch.tokens import Tokens, accumulate, candidates, serial_estimate_s


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

    def initial(self) -> Tokens:
        """No job is known."""
        return Tokens()

    def decide(self, view: DispatchView) -> Dispatch:
        """Place one task of the shortest candidate that has one to place; ties by arrival, then id."""
        tokens = accumulate(view.memory, view.jobs, view.now_s, self.alpha)
        wake_s = view.now_s + self.interval_s if view.jobs else None
        free = free_slots(view)
        if view.port_busy or not free:
            return Dispatch((), tokens, wake_s)
        order = [job for job in candidates(tokens, tuple(view.jobs)) if tasks_to_place(job, self.pipelined)]
        heap = [(serial_estimate_s(job), place) for place, job in enumerate(order)]
        heapify(heap)
        while heap:
            job = order[heappop(heap)[1]]
            for task in tasks_to_place(job, self.pipelined):
                slot = best_slot(free, job, task)
                if slot is not None:
                    return Dispatch((Configure(job.id, task.id, slot.index),), tokens, wake_s)
        return Dispatch((), tokens, wake_s)
