# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Nimblock: candidates by tokens, slots by goals, pipelining, preemption at batch boundaries ([004] 2.3)."""

from __future__ import annotations

from dataclasses import dataclass

from eddy.core.slots import PreemptReason
from eddy.policy.dispatch.choosing.unblocking import unblock_slots
from eddy.policy.dispatch.sharing.tokens import Candidates
from eddy.policy.dispatch.views.choice import best_slot, free_slots
from eddy.policy.dispatch.views.select import incomplete_tasks, slots_held, tasks_to_place
from eddy.policy.dispatch.views.view import Configure, Decision, Dispatch, DispatchView, JobView, Preempt, TaskView

Allocation = dict[int, int]
"""Job id to the number of slots it should have."""


def allocate_slots(chosen: tuple[JobView, ...], slots: int) -> Allocation:
    """Share `slots` among candidates ([004] Algorithm 2), oldest first in every round.

    One slot each; then up to the goal or the number of incomplete tasks, whichever is less; then up to the number of
    incomplete tasks. The text does not say how the second and third round stop: here no round gives more than is left,
    so allocations never exceed the slots there are.
    """
    given = dict.fromkeys([job.id for job in chosen], 0)
    served = chosen[:slots]
    for job in served:
        given[job.id] = 1
    left = slots - len(served)
    for bound in (_up_to_goal, _up_to_tasks):
        for job in served if left else ():
            more = min(max(bound(job) - given[job.id], 0), left)
            given[job.id] += more
            left -= more
    return given


def _up_to_goal(job: JobView) -> int:
    return min(job.goal_slots, len(incomplete_tasks(job)))


def _up_to_tasks(job: JobView) -> int:
    return len(incomplete_tasks(job))


def select_task(chosen: tuple[JobView, ...], given: Allocation, pipelined: bool) -> tuple[JobView, TaskView] | None:
    """The first task of the oldest candidate that holds fewer slots than allocated ([004] Algorithm 3)."""
    for job in chosen:
        allowed = given[job.id]
        if allowed and slots_held(job) < allowed:
            for task in tasks_to_place(job, pipelined):
                return job, task
    return None


def select_victim(view: DispatchView, given: Allocation) -> int | None:
    """The slot to take ([004] Algorithm 4), or None.

    The job that exceeds its allocation most (ties: the youngest) gives up its task that is latest in topological order,
    if that task waits at a batch boundary. Where it is in the middle of an item, nobody is preempted yet.
    """
    idle = [s for s in view.slots if s.job is not None and not s.running and not s.loading]
    holders = {s.job for s in idle if s.job is not None}
    found = [view.jobs.get(number) for number in sorted(holders)]
    jobs = [job for job in found if job is not None]
    over = {job.id: slots_held(job) - given.get(job.id, 0) for job in jobs}
    waiting = [s for s in idle if s.job is not None and over.get(s.job, 0) > 0]
    if not waiting:
        return None
    age = {job.id: job.age for job in jobs}
    loser = max((s.job for s in waiting if s.job is not None), key=lambda job: (over[job], age[job]))
    held = [s for s in view.slots if s.job == loser and s.task is not None]
    last = max(held, key=lambda s: s.task if s.task is not None else -1)
    return last.index if last in waiting else None


@dataclass(frozen=True, slots=True)
class Nimblock:
    """[004]'s own policy.

    Attributes:
        alpha: Weight of waiting in the tokens.
        interval_s: Board seconds between periodic reallocations.
        pipelined: Whether tasks of a job may work on different items at once.
    """

    alpha: float = 0.125
    interval_s: float = 0.396
    pipelined: bool = True
    name: str = "nimblock"

    def initial(self) -> None:
        """It remembers nothing: tokens follow from how long a job has waited."""
        return None

    def decide(self, view: DispatchView) -> Dispatch:
        """Candidates, allocation, one task for the configuration port, or one slot taken for it.

        Of the candidates, those that come after as many as there are slots are allocated none. Where that decides
        nothing, slots are given back in which tasks would wait for ever; see `unblock_slots`.
        """
        wake_s = view.now_s + self.interval_s if len(view.jobs) else None
        decisions: tuple[Decision, ...] = ()
        if not view.port_busy:
            chosen = Candidates(view.jobs, view.now_s, self.alpha).oldest(len(view.slots))
            given = allocate_slots(chosen, len(view.slots))
            decisions = unblock_slots(view, self._place(view, chosen, given), self.pipelined)
        return Dispatch(decisions, None, wake_s)

    def _place(self, view: DispatchView, chosen: tuple[JobView, ...], given: Allocation) -> tuple[Decision, ...]:
        selected = select_task(chosen, given, self.pipelined)
        if selected is None:
            return ()
        job, task = selected
        slot = best_slot(free_slots(view), job, task)
        if slot is not None:
            return (Configure(job.id, task.id, slot.index),)
        victim = select_victim(view, given)
        return () if victim is None else (Preempt(victim, PreemptReason.ALLOCATION),)
