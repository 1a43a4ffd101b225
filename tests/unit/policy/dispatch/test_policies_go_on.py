# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whatever a policy finds, every job comes to its end: slots in which tasks would wait for ever are given back."""

from __future__ import annotations

import dataclasses
import random

import pytest
from eddy.core.slots import PreemptReason
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.views.choice import can_start
from eddy.policy.dispatch.views.view import (
    Configure,
    DispatchPolicy,
    DispatchView,
    Jobs,
    JobView,
    Preempt,
    SlotView,
    TaskView,
)

LOAD_S = 0.1
MAX_CALLS = 400


class Board:
    """Slots in which loads and items take no time; a slot may be lost, or another policy decide.

    Args:
        chance: Draws jobs and what happens.
    """

    def __init__(self, chance: random.Random, policy: DispatchPolicy) -> None:
        self.chance, self.policy, self.memory = chance, policy, policy.initial()
        self.reasons: set[PreemptReason] = set()
        self.slots: list[tuple[int, int] | None] = [None] * chance.randint(1, 3)
        self.jobs = {number: _job(number, len(self.slots), chance) for number in range(chance.randint(1, 4))}

    def view(self) -> DispatchView:
        """What the policy sees."""
        shown = []
        for index, held in enumerate(self.slots):
            job, task = held or (None, None)
            shown.append(SlotView(index, "m", "t", job, task, False, False, LOAD_S))
        return DispatchView(0.0, Jobs(list(self.jobs.values())), tuple(shown), False, (), self.memory)

    def ask(self) -> bool:
        """Ask the policy and carry out what it says; answers whether a slot was given or taken."""
        dispatch = self.policy.decide(self.view())
        self.memory = dispatch.memory
        changed = False
        for decision in dispatch.decisions:
            if isinstance(decision, Configure) and self.slots[decision.slot] is None:
                self.hold(decision.slot, decision.job, decision.task)
                changed = True
            elif isinstance(decision, Preempt) and self.slots[decision.slot] is not None:
                self.reasons.add(decision.reason)
                self.lose(decision.slot)
                changed = True
        return changed

    def hold(self, slot: int, job: int, task: int) -> None:
        """A task has a slot."""
        self.slots[slot] = job, task
        self._change(job, task, slot=slot)

    def lose(self, slot: int) -> None:
        """A task has its slot no more."""
        held, self.slots[slot] = self.slots[slot], None
        if held is not None and held[0] in self.jobs:
            self._change(*held, slot=None)

    def work(self) -> bool:
        """Every task that has a slot and can do its next item does it; answers whether any did."""
        before = dict(self.jobs)
        for slot, held in enumerate(self.slots):
            if held is None:
                continue
            job = before[held[0]]
            task = job.tasks[held[1]]
            if can_start(job, task, self.policy.pipelined):
                self._change(*held, items_done=task.items_done + 1)
                if task.items_done + 1 == job.batch:
                    self.lose(slot)
        worked = self.jobs != before
        self.jobs = {n: job for n, job in self.jobs.items() if any(t.items_done < job.batch for t in job.tasks)}
        return worked

    def _change(self, job: int, task: int, **fields: int | None) -> None:
        tasks = list(self.jobs[job].tasks)
        tasks[task] = dataclasses.replace(tasks[task], **fields)  # type: ignore[arg-type]
        self.jobs[job] = dataclasses.replace(self.jobs[job], tasks=tuple(tasks))


def _job(number: int, slots: int, chance: random.Random) -> JobView:
    """A job with a random graph of tasks, some of which fit into some slots only."""
    tasks: list[TaskView] = []
    for task in range(chance.randint(1, 5)):
        before = tuple(p for p in range(task) if p == task - 1 or chance.random() < 0.2)
        fits = tuple(sorted(chance.sample(range(slots), chance.randint(1, slots)))) if chance.random() < 0.3 else None
        tasks.append(TaskView(task, f"m{number}_{task}", 1e-3, 0, None, before, fits))
    priority = chance.choice((1, 3, 9))
    return JobView(number, "app", f"t{number % 2}", chance.randint(1, 4), priority, 0.1 * number, None, 3, tuple(tasks))


def disturb(board: Board) -> None:
    """Slots are lost; or a policy that knows nothing of it finds slots held by whatever tasks."""
    chance = board.chance
    for slot in range(len(board.slots)):
        if chance.random() < 0.2:
            board.lose(slot)
    if chance.random() < 0.3:
        for slot, held in enumerate(board.slots):
            free = [
                (j, t.id) for j in board.jobs.values() for t in j.tasks if t.slot is None and t.items_done < j.batch
            ]
            if held is None and free and chance.random() < 0.6:
                job, task = chance.choice(free)
                board.hold(slot, job.id, task)
        board.memory = board.policy.initial()


REASONS = {"eddy": {PreemptReason.RANK}, "nimblock": {PreemptReason.STALLED, PreemptReason.ALLOCATION}}
"""Why policies take slots; the others do only where tasks would wait for ever."""


@pytest.mark.parametrize("pipelined", [True, False])
@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_job_ends_whatever_the_policy_finds(name: str, pipelined: bool) -> None:
    reasons: set[PreemptReason] = set()
    for seed in range(20):
        board = Board(random.Random(seed), POLICIES[name](pipelined=pipelined))
        for _ in range(20):
            board.ask()
            board.work()
            disturb(board)
        for _ in range(MAX_CALLS):
            if not board.jobs:
                break
            changed = board.ask()
            assert board.work() or changed, f"seed {seed}: nothing happens any more: {board.jobs} {board.slots}"
        assert not board.jobs, f"seed {seed}: slots change hands for ever: {board.jobs} {board.slots}"
        reasons |= board.reasons
    assert reasons == REASONS.get(name, {PreemptReason.STALLED})
