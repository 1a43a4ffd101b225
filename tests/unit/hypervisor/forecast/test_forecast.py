# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Forecasts of a queue: what the live policy would do with it, in virtual time."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from eddy.board.model.model import SHELL, LoadTime, ModelBoard
from eddy.board.model.model_images import model_images
from eddy.board.port.port import BoardDescription
from eddy.core.applications import Application, TaskSpec
from eddy.core.records import JobRecord
from eddy.core.slots import Pool, SlotDescription
from eddy.hypervisor.forecast.queue import QueuePicture, as_if_joined, picture_queue
from eddy.hypervisor.forecast.simulate import QueueForecast, forecast
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.machine.virtual import run_virtual
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.views.job_view import JobView
from eddy.policy.dispatch.views.view import DispatchPolicy

LOAD_S = 0.05


def application(name: str, times_s: Sequence[float], edges: Sequence[tuple[int, int]]) -> Application:
    tasks = [TaskSpec(i, f"t{i}", f"{name}.{i}", (), time_s, 1e9) for i, time_s in enumerate(times_s)]
    return Application(name, tuple(tasks), tuple(edges), max_batch=100)


def some_jobs(seed: int, count: int, most_items: int = 3) -> list[m.JobSpec]:
    """Jobs of a few small graphs, all there at once."""
    rng = random.Random(seed)
    graphs = [[(0, 1)], [(0, 1), (0, 2), (1, 3), (2, 3)], []]
    apps = []
    for number, edges in enumerate(graphs):
        tasks = 1 + max((b for _, b in edges), default=0)
        apps.append(application(f"a{number}", [round(rng.uniform(0.02, 0.6), 3) for _ in range(tasks)], edges))
    return [
        m.JobSpec(n, rng.choice("ab"), rng.choice(apps), rng.randint(1, most_items), rng.choice((1, 3, 9)))
        for n in range(count)
    ]


class Before:
    """Forecasts the queue at the first step, with the jobs that arrive in it."""

    def __init__(self, **bounds: int) -> None:
        self.bounds = bounds
        self.made: QueueForecast | None = None
        self.queue: QueuePicture | None = None

    def before(self, machine: Machine, inputs: Sequence[m.Input], now_s: float) -> None:
        if self.made is not None:
            return
        self.queue = picture_queue(machine, Pool.PIPELINE, now_s)
        for message in inputs:
            if isinstance(message, m.Arrive):
                self.queue = self.queue.with_job(as_if_joined(machine, message.job))
        self.made = forecast(self.queue, seconds, **self.bounds)

    def after(self, machine: Machine, outcome: m.StepResult) -> None:
        pass


def seconds(job: JobView) -> tuple[float, ...]:
    return tuple(task.estimate_s for task in job.tasks)


def play(policy: DispatchPolicy, jobs: Sequence[m.JobSpec], slots: int = 2, **bounds: int):  # type: ignore[no-untyped-def]
    described = tuple(SlotDescription(i, f"slot{i}", Pool.PIPELINE, 1000, 1e8) for i in range(slots))
    board = BoardDescription("model", "test", SHELL, 1e8, described, 1 << 20, 1e6, False)
    latency = {task.module: task.estimate_s for job in jobs for task in job.application.tasks}
    times = {slot: LoadTime(0.0, LOAD_S) for slot in range(slots)}
    model = ModelBoard(board, model_images(board, latency), latency, load_times=times, real_memory=False)
    watch = Before(**bounds)
    result = run_virtual(model, policy, jobs, load_s=dict.fromkeys(range(slots), LOAD_S), watch=watch)
    assert watch.made is not None
    return watch, result.jobs


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_is_what_comes_where_nothing_else_does(policy: str) -> None:
    """The policy decides in the forecast as it does live, so that starts and ends are those of the machine."""
    jobs = some_jobs(7, 6, most_items=2)
    watch, came = play(POLICIES[policy](pipelined=True), jobs, most_decisions=10_000)
    for number, record in came.items():
        expected = watch.made.jobs[number]
        assert expected.simulated
        assert expected.start_s == pytest.approx(record.started_s, abs=1e-6), number
        assert expected.end_s == pytest.approx(record.ended_s, abs=1e-6), number


def test_of_long_batches_is_near_what_comes() -> None:
    jobs = some_jobs(3, 8, most_items=40)
    watch, came = play(POLICIES["fcfs"](pipelined=True), jobs)
    for number, record in came.items():
        assert watch.made.jobs[number].end_s == pytest.approx(_ended(record), rel=0.35, abs=1.0)


def _ended(record: JobRecord) -> float:
    assert record.ended_s is not None
    return record.ended_s


def test_order_and_positions_are_those_of_starts() -> None:
    jobs = some_jobs(11, 9)
    watch, came = play(POLICIES["nimblock"](pipelined=True), jobs, slots=1, most_decisions=10_000)
    order = sorted(came, key=lambda number: (came[number].started_s, number))
    assert list(watch.made.order) == order
    assert watch.made.position(order[3]) == 4
    assert watch.made.position(99) is None


def test_beyond_the_bound_goes_by_priority_and_work() -> None:
    """Nothing is left out: what the policy was not asked about is extrapolated, older and higher first."""
    jobs = some_jobs(5, 30)
    watch, _ = play(POLICIES["fcfs"](pipelined=True), jobs, most_decisions=5)
    made = watch.made
    assert made.decisions == 5
    assert set(made.jobs) == {job.id for job in jobs}
    beyond = [job for job in jobs if not made.jobs[job.id].simulated]
    assert len(beyond) > 20
    beyond.sort(key=lambda job: (-job.priority, job.id))
    starts = [made.jobs[job.id].start_s for job in beyond]
    assert starts == sorted(starts)
    assert len(set(starts)) == len(starts)
    assert all(made.jobs[job.id].end_s > made.jobs[job.id].start_s for job in jobs)


def test_changes_nothing_of_the_queue_it_is_made_of() -> None:
    jobs = some_jobs(2, 8)
    watch, came = play(POLICIES["eddy"](pipelined=True), jobs)
    assert forecast(watch.queue, seconds) == watch.made
    assert forecast(watch.queue, seconds) == watch.made
    _, without = play(POLICIES["eddy"](pipelined=True), jobs)
    assert {n: record.ended_s for n, record in came.items()} == {n: record.ended_s for n, record in without.items()}


def test_costs_no_more_than_its_bound_however_many_wait() -> None:
    """Counted in questions to the policy, not in seconds."""
    app = some_jobs(1, 1)[0].application
    jobs = [m.JobSpec(n, "a", app, 1, 1) for n in range(1000)]
    policy = POLICIES["fcfs"](pipelined=True)
    machine = Machine({0: LOAD_S}, policy, {task.module: {0: "i"} for task in jobs[0].application.tasks})
    machine.step(0.0, [m.Arrive(job) for job in jobs])
    made = forecast(picture_queue(machine, Pool.PIPELINE, 0.0), seconds)
    assert made.decisions <= 400
    assert len(made.jobs) == 1000


def test_slots_that_are_drained_do_no_work() -> None:
    jobs = some_jobs(1, 2)
    fits = {task.module: {0: "i", 1: "j"} for job in jobs for task in job.application.tasks}
    machine = Machine({0: LOAD_S, 1: LOAD_S}, POLICIES["fcfs"](pipelined=True), fits)
    machine.step(0.0, [m.Drain(1, "worn out")])
    machine.step(0.0, [m.Arrive(job) for job in jobs])
    queue = picture_queue(machine, Pool.PIPELINE, 0.0)
    assert queue.unseen == {1: "worn out"}
    assert [slot.index for slot in queue.view.slots] == [0]
