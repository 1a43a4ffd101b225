# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Models of the policies with tokens: `prema` and `nimblock`, both after the algorithms of [004]."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from eddy.core.jobs import PRIORITIES
from eddy.core.slots import PreemptReason
from eddy.policy.dispatch.views.view import Decision, Dispatch, DispatchView, JobView, Preempt
from unit.plain_dispatch.questions import grant, items_left, placeable, preferred, slots_of, unheld, unless_stuck


@dataclass(frozen=True)
class Purse:
    """Tokens of each job, and the time up to which waiting was paid for."""

    tokens: dict[int, float]
    paid_s: float


def estimate_s(job: JobView) -> float:
    """The whole batch, one task after another ([004] 2.3.1)."""
    return job.batch * sum(task.estimate_s for task in job.tasks)


def paid(before: Purse, view: DispatchView, alpha: float) -> Purse:
    """Algorithm 1: a job brings its priority, and earns while it waits, in lengths of itself, times its priority."""
    tokens = {}
    for job in view.jobs:
        unpaid_s = view.now_s - max(before.paid_s, job.arrival_s)
        earned = alpha * job.priority * max(unpaid_s, 0.0) / max(estimate_s(job), 1e-9)
        tokens[job.id] = before.tokens.get(job.id, job.priority) + earned
    return Purse(tokens, view.now_s)


def candidates(purse: Purse, view: DispatchView) -> list[JobView]:
    """Algorithm 1: who exceeds the largest count rounded down to a level of priority; if nobody, who reaches it."""
    richest = max(purse.tokens.values(), default=0.0)
    threshold = [level for level in sorted(PRIORITIES) if level <= max(richest, PRIORITIES[0])][-1]
    rich = [job for job in view.jobs if purse.tokens[job.id] > threshold]
    return rich if rich else [job for job in view.jobs if purse.tokens[job.id] == threshold]


@dataclass(frozen=True)
class WithTokens:
    """A policy that decides one thing at a time, for one of the candidates."""

    interval_s: float = 0.396
    pipelined: bool = True

    name: ClassVar[str]
    alpha: ClassVar[float]

    def initial(self) -> Purse:
        return Purse({}, 0.0)

    def decide(self, view: DispatchView) -> Dispatch:
        purse = paid(view.memory, view, self.alpha)
        made = None if view.port_busy else self.one(view, candidates(purse, view))
        again_s = view.now_s + self.interval_s if list(view.jobs) else None
        return Dispatch(unless_stuck(view, [] if made is None else [made], self.pipelined), purse, again_s)

    def one(self, view: DispatchView, chosen: list[JobView]) -> Decision | None:
        raise NotImplementedError


class PlainPrema(WithTokens):
    """[004] 3.1: the shortest candidate that can use a slot gets one."""

    name = "prema"
    alpha = 1.0

    def one(self, view: DispatchView, chosen: list[JobView]) -> Decision | None:
        for job in sorted(chosen, key=lambda job: (estimate_s(job), job.arrival_s, job.id)):
            for task in placeable(job, self.pipelined):
                slot = preferred(unheld(view), job, task)
                if slot is not None:
                    return grant(job, task, slot)
        return None


class PlainNimblock(WithTokens):
    """[004] 2.3: candidates, their shares of the slots, one task, and a victim if no slot is free for it."""

    name = "nimblock"
    alpha = 0.125

    def one(self, view: DispatchView, chosen: list[JobView]) -> Decision | None:
        """Algorithm 3: the first task of the oldest candidate that has less than its share."""
        share = shares(chosen, len(view.slots))
        wanting = [job for job in chosen if slots_of(job) < share[job.id] and placeable(job, self.pipelined)]
        if not wanting:
            return None
        job = wanting[0]
        task = placeable(job, self.pipelined)[0]
        slot = preferred(unheld(view), job, task)
        return victim(view, share) if slot is None else grant(job, task, slot)


def shares(chosen: list[JobView], slots: int) -> Counter[int]:
    """Algorithm 2, slot by slot: each candidate one, then each up to its goal, then up to its open tasks."""
    share: Counter[int] = Counter()

    def open_tasks(job: JobView) -> int:
        return len([task for task in job.tasks if items_left(job, task)])

    for limit in (lambda job: 1, lambda job: min(job.goal_slots, open_tasks(job)), open_tasks):
        for job in chosen:
            while share[job.id] < limit(job) and share.total() < slots:
                share[job.id] += 1
    return share


def victim(view: DispatchView, share: Counter[int]) -> Preempt | None:
    """Algorithm 4: of the jobs with an idle slot the one furthest above its share, the youngest of several.

    It loses the slot of its last task, and nothing as long as that one is at work.
    """
    idle = [slot for slot in view.slots if slot.job is not None and not slot.running and not slot.loading]
    excess = {job.id: slots_of(job) - share[job.id] for job in view.jobs if job.id in [slot.job for slot in idle]}
    worst = max(excess.values(), default=0)
    if worst <= 0:
        return None
    loser = [job.id for job in view.jobs if excess.get(job.id) == worst][-1]
    by_task = {slot.task: slot for slot in view.slots if slot.job == loser and slot.task is not None}
    last = by_task[max(task for task in by_task if task is not None)]
    return Preempt(last.index, PreemptReason.ALLOCATION) if last in idle else None
