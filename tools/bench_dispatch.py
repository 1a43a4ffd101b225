"""How long a dispatch decision takes, by policy and number of pending applications.

The world is ten slots and chains of three to nine tasks. Between calls one thing happens, as live: an item ends, a slot
is freed or taken, an application arrives or goes. The first calls, in which a policy sees every application for the
first time, count like all others. Printed are medians and 99th percentiles in microseconds, and how the median grows
when pending applications double. With `--json`, one object on standard output.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import statistics
import sys
import time
from collections.abc import Iterator

from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.view import (
    Configure,
    Dispatch,
    DispatchPolicy,
    DispatchView,
    JobView,
    Observation,
    Preempt,
    SlotView,
    TaskView,
)
from yardstick import python_turns_per_s

SLOTS = 10
PENDING = (25, 50, 100, 200, 400)
GOAL_TURNS = 2000.0
"""Turns of the Python yardstick that a decision may take, for ten slots and 100 pending applications, at the median."""
CALLS = 600
LOAD_S = 0.09


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
        self.jobs: dict[int, JobView] = {}
        for _ in range(pending):
            self._arrive()
        self.slots = [SlotView(i, "", "", None, None, False, False, LOAD_S) for i in range(SLOTS)]
        self.seen: list[Observation] = []

    def _arrive(self) -> None:
        rng, number = self.rng, self.number
        self.number += 1
        kind = rng.randrange(6)
        tasks = tuple(
            TaskView(i, f"a{kind}.{i}", 0.01 * (1 + kind), 0, None, (i - 1,) if i else ()) for i in range(3 + kind)
        )
        batch, priority = rng.randint(1, 20), rng.choice((1, 3, 9))
        self.jobs[number] = JobView(number, f"a{kind}", "t", batch, priority, self.now_s, None, 3, tasks)

    def view(self, memory: object) -> DispatchView:
        """What a policy is shown now."""
        seen, self.seen = tuple(self.seen), []
        return DispatchView(self.now_s, tuple(self.jobs.values()), tuple(self.slots), False, seen, memory)

    def follow(self, dispatch: Dispatch) -> None:
        """Carry out what was decided, loads taking no time."""
        for decision in dispatch.decisions:
            if isinstance(decision, Configure):
                task = self.jobs[decision.job].tasks[decision.task]
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
        job = self.jobs[slot.job]
        task = job.tasks[slot.task]
        if any(job.tasks[before].items_done <= task.items_done for before in task.predecessors):
            self.slots[slot.index] = dataclasses.replace(slot, running=False)
            return
        self.seen.append(Observation(task.module, 2 * task.estimate_s, job.application, task.id, task.estimate_s))
        task = dataclasses.replace(task, items_done=task.items_done + 1)
        self._set(job.id, task)
        if task.items_done == job.batch:
            self._free(slot.index)
        if all(each.items_done == job.batch for each in self.jobs[job.id].tasks):
            del self.jobs[job.id]
            self._arrive()

    def _free(self, index: int) -> None:
        slot = self.slots[index]
        assert slot.job is not None
        assert slot.task is not None
        self._set(slot.job, dataclasses.replace(self.jobs[slot.job].tasks[slot.task], slot=None))
        self.slots[index] = dataclasses.replace(slot, job=None, task=None, running=False)

    def _set(self, number: int, task: TaskView) -> None:
        job = self.jobs[number]
        tasks = (*job.tasks[: task.id], task, *job.tasks[task.id + 1 :])
        self.jobs[number] = dataclasses.replace(job, tasks=tasks)


def decisions_us(policy: DispatchPolicy, pending: int, calls: int) -> Iterator[float]:
    """Microseconds of each of a number of decisions in a row."""
    world, memory = World(pending, seed=pending), policy.initial()
    for _ in range(calls):
        view = world.view(memory)
        begin = time.perf_counter_ns()
        dispatch = policy.decide(view)
        yield (time.perf_counter_ns() - begin) * 1e-3
        memory = dispatch.memory
        world.follow(dispatch)
        world.happen()


def measure(name: str, calls: int) -> dict[int, tuple[float, float]]:
    """Median and 99th percentile in microseconds, by number of pending applications."""
    found = {}
    for pending in PENDING:
        times = sorted(decisions_us(POLICIES[name](), pending, calls))
        found[pending] = statistics.median(times), times[int(0.99 * len(times))]
    return found


def main() -> int:
    """Measure every policy, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--calls", type=int, default=CALLS, help="decisions for each figure")
    parser.add_argument("policies", nargs="*", help="names; else all")
    options = parser.parse_args()
    figures = {name: measure(name, options.calls) for name in options.policies or sorted(POLICIES)}
    if options.json:
        named = {
            name: {str(n): {"median_us": median, "p99_us": p99} for n, (median, p99) in row.items()}
            for name, row in figures.items()
        }
        json.dump(named, sys.stdout)
        return 0
    print(f"a dispatch decision, {SLOTS} slots: median (99th percentile) in microseconds")
    print(f"{'pending':12}" + "".join(f"{n:>16}" for n in PENDING) + "   growth 100 to 400")
    for name, row in figures.items():
        cells = "".join(f"{f'{m:.1f} ({p:.0f})':>16}" for m, p in row.values())
        print(f"{name:12}{cells}   {row[400][0] / row[100][0]:.2f}x")
    turn_us = 1e6 / python_turns_per_s()
    over = [name for name, row in figures.items() if row[100][0] >= GOAL_TURNS * turn_us]
    what = f"goal at 100 pending, {GOAL_TURNS:.0f} turns of the Python loop ({GOAL_TURNS * turn_us:.0f} us here)"
    print(f"{what}: " + (f"missed by {', '.join(over)}" if over else "met by all"))
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
