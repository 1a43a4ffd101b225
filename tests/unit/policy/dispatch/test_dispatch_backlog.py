# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A backlog does not change what is decided, and hardly what a decision costs."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from eddy.board.model.model import SHELL, LoadTime, ModelBoard
from eddy.board.model.model_images import model_images
from eddy.board.port.port import BoardDescription
from eddy.core.applications import Application, TaskSpec
from eddy.core.jobs import PRIORITIES, JobState
from eddy.core.slots import Pool, SlotDescription
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.messages import JobSpec
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.machine.virtual import VirtualRun, run_virtual
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.views.job_view import JobView
from eddy.policy.dispatch.views.requests import KindQueue
from eddy.policy.dispatch.views.view import Dispatch, DispatchPolicy, DispatchView
from unit.plain_dispatch import PLAIN

MODULES = tuple(f"m{number}" for number in range(8))


@dataclasses.dataclass(frozen=True)
class Both:
    """A policy beside its independent model: they must decide alike at every call, each with its own memory."""

    kept: DispatchPolicy
    plain: DispatchPolicy
    decisions: list[int] = dataclasses.field(default_factory=list)

    @property
    def name(self) -> str:
        return self.kept.name

    @property
    def pipelined(self) -> bool:
        return self.kept.pipelined

    def initial(self) -> object:
        return self.kept.initial(), self.plain.initial()

    def decide(self, view: DispatchView) -> Dispatch:
        kept, plain = view.memory
        found = self.kept.decide(dataclasses.replace(view, memory=kept))
        expected = self.plain.decide(dataclasses.replace(view, memory=plain))
        assert found.decisions == expected.decisions
        assert found.wake_s == expected.wake_s
        self.decisions.append(len(found.decisions))
        return dataclasses.replace(found, memory=(found.memory, expected.memory))


def application(rng: random.Random, number: int) -> Application:
    """A random graph of random tasks."""
    count = rng.randint(1, 6)
    tasks = tuple(TaskSpec(i, f"t{i}", rng.choice(MODULES), (), rng.uniform(1e-3, 1e-1), 1e3) for i in range(count))
    edges = tuple((a, b) for b in range(count) for a in range(b) if rng.random() < 0.4)
    return Application(f"app{number}", tasks, edges)


def jobs(rng: random.Random, count: int, spread_s: float, due: float, memory: float) -> list[JobSpec]:
    """Arrivals of a few applications, some with deadlines, some that need memory."""
    apps = [application(rng, number) for number in range(rng.randint(1, 5))]
    found, now_s = [], 0.0
    for number in range(count):
        now_s += rng.expovariate(1.0) * spread_s if rng.random() < 0.8 else 0.0
        deadline_s = now_s + rng.uniform(0.1, 20.0) if rng.random() < due else None
        found.append(
            JobSpec(
                id=number,
                tenant=rng.choice("abc"),
                application=rng.choice(apps),
                batch=rng.randint(1, 6),
                priority=rng.choice(PRIORITIES),
                arrival_s=now_s,
                deadline_s=deadline_s,
                needs_memory=rng.random() < memory,
            )
        )
    return found


def play(
    policy: DispatchPolicy,
    specs: list[JobSpec],
    rng: random.Random,
    arena_jobs: int | None,
    items_s: tuple[float, float] = (1e-3, 3e-1),
) -> VirtualRun:
    slots = rng.randint(2, 6)
    described = tuple(SlotDescription(i, f"slot{i}", Pool.PIPELINE, 1000, 1e8) for i in range(slots))
    board = BoardDescription("model", "test", SHELL, 1e8, described, 1 << 20, 1e6, False)
    images = [image for image in model_images(board, MODULES) if image.slot == 0 or rng.random() < 0.8]
    model = ModelBoard(
        board,
        images,
        {module: rng.uniform(*items_s) for module in MODULES},
        load_times={i: LoadTime(rng.uniform(0, 0.01), rng.uniform(0.01, 0.1)) for i in range(slots)},
        blocking=rng.random() < 0.5,
        cache_bytes=3000,
    )
    return run_virtual(model, policy, specs, arena_jobs=arena_jobs)


MAKERS: dict[str, tuple[Callable[..., DispatchPolicy], Callable[..., DispatchPolicy], dict[str, Any]]] = {
    **{name: (POLICIES[name], PLAIN[name], {}) for name in PLAIN},
    "eddy, impatient": (POLICIES["eddy"], PLAIN["eddy"], {"patience_s": 0.2}),
}


EXTRA = [("eddy", 120), ("eddy, impatient", 109), ("eddy, impatient", 116), ("eddy, impatient", 126)]
"""Sequences under which they once differed."""


@pytest.mark.parametrize(("name", "seed"), [*((name, seed) for name in sorted(MAKERS) for seed in range(1)), *EXTRA])
def test_a_policy_decides_as_its_independent_model(name: str, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    kept, plain, constants = MAKERS[name]
    pipelined, due = rng.random() < 0.7, rng.choice([0.0, 0.3])
    specs = jobs(rng, 80, rng.choice([0.0, 0.05, 0.5]), due, rng.choice([0.0, 0.5]))
    both = Both(kept(pipelined=pipelined, **constants), plain(pipelined=pipelined, **constants))
    run = play(both, specs, rng, rng.choice([None, 2, 8]))
    assert {record.state for record in run.jobs.values()} == {JobState.SUCCEEDED}
    assert sum(both.decisions) >= len(specs)


def short_jobs(rng: random.Random, count: int) -> list[JobSpec]:
    """Bursts of jobs alike whose items are far shorter than loads, so that dozens wait for one slot in turn."""
    apps = [
        dataclasses.replace(each, tasks=tuple(dataclasses.replace(task, estimate_s=1e-4) for task in each.tasks))
        for each in (application(rng, number) for number in range(rng.randint(1, 2)))
    ]
    bursts, batches, memory = rng.randint(1, 3), rng.choice([(1,), (1,), (1, 2)]), rng.random() < 0.7
    return [
        JobSpec(
            id=number + 1,
            tenant=rng.choice("ab"),
            application=rng.choice(apps),
            batch=rng.choice(batches),
            priority=rng.choice(PRIORITIES[:2]),
            arrival_s=0.02 * (number * bursts // count),
            deadline_s=None,
            needs_memory=memory,
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_jobs_that_wait_for_a_slot_in_turn_are_decided_about_one_by_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined, behind = list[int](), KindQueue.requests_behind

    def counted(*arguments: Any) -> Iterator[JobView]:
        for job in behind(*arguments):
            yield job
            joined.append(job.id)

    monkeypatch.setattr(KindQueue, "requests_behind", counted)
    rng = random.Random(f"short {seed}")
    specs = short_jobs(rng, 60)
    both = Both(POLICIES["eddy"](), PLAIN["eddy"]())
    run = play(both, specs, rng, rng.choice([None, 8, 20]), items_s=(5e-5, 2e-4))
    assert {record.state for record in run.jobs.values()} == {JobState.SUCCEEDED}
    assert len(joined) > len(specs), "many join at once"


class Calls:
    """Counts function calls, in Python and C, made while it is entered."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Calls:
        sys.setprofile(self._seen)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _seen(self, _frame: object, event: str, _argument: object) -> None:
        self.count += event in ("call", "c_call")


def events_of(commands: list[m.Command], now_s: float) -> list[m.Input]:
    """What a board would report of commands, at once."""
    found: list[m.Input] = []
    for command in commands:
        if isinstance(command, m.Load):
            found.append(m.Configured(command.slot, now_s, now_s))
        elif isinstance(command, m.LaunchItem | m.StopItem):
            found.append(m.ItemEnded(command.slot, now_s, now_s))
        elif isinstance(command, m.Allocate):
            found.append(m.Allocated(command.job))
        elif isinstance(command, m.Collect):
            found.append(m.Collected(command.job, command.item, now_s))
    return found


def calls_of_a_step(name: str, waiting: int, memory: bool) -> float:
    """Calls that a step of the machine makes on average, with so many jobs waiting."""
    rng = random.Random(5)
    apps = [application(rng, number) for number in range(4)]
    policy, slots = POLICIES[name](), dict.fromkeys(range(4), 0.01)
    machine = Machine(slots, policy, {module: dict.fromkeys(slots, "image") for module in MODULES})

    def arrive(number: int) -> m.Input:
        batch, priority = rng.randint(1, 5), rng.choice(PRIORITIES)
        return m.Arrive(JobSpec(number, rng.choice("ab"), rng.choice(apps), batch, priority, now_s, None, memory))

    now_s, coming, number = 0.0, list[m.Input](), 0
    while number < waiting:
        coming.append(arrive(number))
        number += 1
    counter, launched = Calls(), 0
    for step in range(150):
        now_s += 0.01
        with counter if step >= 50 else contextlib.nullcontext():
            outcome = machine.step(now_s, coming)
        launched += sum(isinstance(command, m.LaunchItem) for command in outcome.commands)
        coming = events_of(outcome.commands, now_s) or [m.Wake()]
        if step % 5 == 0:
            coming.append(arrive(number))
            number += 1
    # Round robin deals a job that waits for its memory again, behind all others.
    assert launched > 20 or (name == "round_robin" and memory), "work goes on"
    return counter.count / 100


@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize("name", sorted(POLICIES))
def test_a_step_with_forty_times_the_backlog_looks_at_hardly_more(name: str, memory: bool) -> None:
    few, many = (calls_of_a_step(name, waiting, memory) for waiting in (50, 2000))
    assert many < 2 * few, f"{few:.0f} calls with 50 jobs waiting, {many:.0f} with 2000"
