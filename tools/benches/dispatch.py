# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How long a dispatch decision takes, by policy and number of pending applications.

The world is ten slots and chains of three to nine tasks. Between calls one thing happens, as live: an item ends, a slot
is freed or taken, an application arrives or goes. The first calls, in which a policy sees every application for the
first time, count like all others. Printed are medians and 99th percentiles in microseconds, and how the mean, what
changes in the view included, grows from 100 pending applications to 10,000: of decisions that give or take a slot, or
of those that do not.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import statistics
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.views.job_view import Tasks
from eddy.policy.dispatch.views.view import (
    Configure,
    Dispatch,
    DispatchPolicy,
    DispatchView,
    Jobs,
    JobView,
    Observation,
    Preempt,
    SlotView,
    TaskView,
)
from yardstick import python_turns_per_s

SLOTS = 10
PENDING = (25, 100, 400, 10_000)
FEW, MANY = 100, 10_000
CALLS = 600
LOAD_S = 0.09
TASKS = [
    Tasks(TaskView(i, f"a{kind}.{i}", 0.01 * (1 + kind), 0, None, (i - 1,) if i else ()) for i in range(3 + kind))
    for kind in range(6)
]
"""Of the six applications, as jobs have them that nothing was done for."""


class World:
    """Jobs and slots that change a little between calls.

    Args:
        pending: How many applications there are at any time.
        seed: Of everything random.
    """

    def __init__(self, pending: int, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now_s = 0.0
        self.number = 0
        self.jobs = Jobs()
        self.changed: set[int] = set()
        for _ in range(pending):
            self._arrive()
        self.slots = [SlotView(i, "", "", None, None, False, False, LOAD_S) for i in range(SLOTS)]
        self.seen: list[Observation] = []

    def _arrive(self) -> None:
        rng, number = self.rng, self.number
        self.number += 1
        kind = rng.randrange(6)
        batch, priority = rng.randint(1, 20), rng.choice((1, 3, 9))
        self._put(JobView(number, f"a{kind}", "t", batch, priority, self.now_s, None, 3, TASKS[kind]))

    def view(self, memory: object) -> DispatchView:
        """What a policy is shown now."""
        seen, self.seen = tuple(self.seen), []
        changed = frozenset(self.changed)
        self.changed.clear()
        return DispatchView(self.now_s, self.jobs, tuple(self.slots), False, seen, memory, changed)

    def follow(self, dispatch: Dispatch) -> None:
        """Carry out what was decided, loads taking no time."""
        for decision in dispatch.decisions:
            if isinstance(decision, Configure):
                task = self.jobs.job(decision.job).tasks[decision.task]
                self._set(decision.job, dataclasses.replace(task, slot=decision.slot))
                self.slots[decision.slot] = SlotView(
                    decision.slot, task.module, "t", decision.job, task.id, False, True, LOAD_S
                )
            elif isinstance(decision, Preempt):
                self._free(decision.slot)

    def happen(self) -> None:
        """One thing: an item ends somewhere, and what follows from it."""
        self.now_s += 0.01
        held = [slot for slot in self.slots if slot.job is not None]
        if not held:
            return
        slot = self.rng.choice(held)
        assert slot.job is not None
        assert slot.task is not None
        job = self.jobs.job(slot.job)
        task = job.tasks[slot.task]
        if any(job.tasks[before].items_done <= task.items_done for before in task.predecessors):
            self.slots[slot.index] = dataclasses.replace(slot, running=False)
            return
        self.seen.append(Observation(task.module, 2 * task.estimate_s, job.application, task.id, task.estimate_s))
        task = dataclasses.replace(task, items_done=task.items_done + 1)
        self._set(job.id, task)
        if task.items_done == job.batch:
            self._free(slot.index)
        if all(each.items_done == job.batch for each in self.jobs.job(job.id).tasks):
            self.jobs = self.jobs.drop(job.id)
            self.changed.add(job.id)
            self._arrive()

    def _free(self, index: int) -> None:
        slot = self.slots[index]
        assert slot.job is not None
        assert slot.task is not None
        self._set(slot.job, dataclasses.replace(self.jobs.job(slot.job).tasks[slot.task], slot=None))
        self.slots[index] = dataclasses.replace(slot, job=None, task=None, running=False)

    def _set(self, number: int, task: TaskView) -> None:
        job = self.jobs.job(number)
        tasks = (*job.tasks[: task.id], task, *job.tasks[task.id + 1 :])
        self._put(dataclasses.replace(job, tasks=tasks))

    def _put(self, job: JobView) -> None:
        self.jobs = self.jobs.put(job)
        self.changed.add(job.id)


class Figure(NamedTuple):
    """What decisions take, in microseconds.

    Attributes:
        median_us: Of all.
        p99_us: The 99th percentile.
        idle_us: The mean of those in which nothing was decided, but for the longest tenth; with what happened before.
        busy_us: The mean of the others, likewise.
    """

    median_us: float
    p99_us: float
    idle_us: float
    busy_us: float


def decisions_us(policy: DispatchPolicy, pending: int, calls: int) -> Iterator[tuple[float, float, bool]]:
    """Of each of a number of decisions in a row, microseconds, with what happened before, and whether it is none."""
    world, memory = World(pending, seed=pending), policy.initial()
    for _ in range(calls):
        begin = time.perf_counter_ns()
        world.happen()
        view = world.view(memory)
        asked = time.perf_counter_ns()
        dispatch = policy.decide(view)
        end = time.perf_counter_ns()
        yield (end - asked) * 1e-3, (end - begin) * 1e-3, not dispatch.decisions
        memory = dispatch.memory
        world.follow(dispatch)


def measure(name: str, calls: int) -> dict[int, Figure]:
    """What a policy's decisions take, by number of pending applications."""
    found = {}
    for pending in PENDING:
        taken = sorted(decisions_us(POLICIES[name](), pending, calls))
        times = [time_us for time_us, _, _ in taken]
        idle, busy = (sorted(whole_us for _, whole_us, none in taken if none is which) for which in (True, False))
        found[pending] = Figure(statistics.median(times), times[int(0.99 * len(times))], usual(idle), usual(busy))
    return found


def usual(times: list[float]) -> float:
    """The mean of times in ascending order, but for the longest tenth; 0 where there are none."""
    return statistics.mean(times[: max(int(0.9 * len(times)), 1)]) if times else 0.0


def growth(row: Mapping[int, Figure]) -> float:
    """How many times as much a decision costs with many applications pending: of its kind, and the worse of both."""
    few, many = row[FEW], row[MANY]
    pairs = ((few.idle_us, many.idle_us), (few.busy_us, many.busy_us))
    return max(after / before for before, after in pairs if before > 0)


OPTIONS: dict[str, dict[str, Any]] = {
    "--calls": {"type": int, "default": CALLS, "help": "decisions for each figure"},
    "policies": {"nargs": "*", "help": "names; else all"},
}
GROWTH, IN_TURNS = "growth", f"turns of the Python loop at {FEW} pending"
MOST = {GROWTH: 3.0, IN_TURNS: 2000.0}
"""Goals: how many times as much a decision may cost with 10,000 applications pending as with 100, on average; and what
it may cost at the median, for ten slots."""


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Microseconds of decisions by policy and applications pending."""
    found, per_us = {}, python_turns_per_s() * 1e-6
    for name in options.policies or sorted(POLICIES):
        row = measure(name, options.calls)
        by_pending = {str(pending): figure._asdict() for pending, figure in row.items()}
        found[name] = {**by_pending, GROWTH: growth(row), IN_TURNS: row[FEW].median_us * per_us}
    return found
