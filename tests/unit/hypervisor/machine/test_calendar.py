# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs that could not end before their slots close by calendar wait, and say for what."""

from __future__ import annotations

from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind
from eddy.hypervisor.forecast.job_standing import describe_standing
from eddy.hypervisor.jobs import messages as m
from eddy.policy.dispatch.views.view import Configure
from machine_kit import TWO, Bench

BOTH = {0: (0.05, "w1"), 1: (0.05, "w1")}
CLOSED = {0: (0.0, "w1"), 1: (0.0, "w1")}


def shown(bench: Bench) -> set[int]:
    return {job.id for job in bench.machine.view().jobs}


def waits(result: m.StepResult) -> list[str]:
    return [event.detail for event in result.log if event.what is JobEventKind.WAIT]


def test_a_job_that_could_not_end_before_is_held_back_and_a_short_one_is_not() -> None:
    bench = Bench()
    bench.arrive(1, batch=100)
    bench.arrive(2, batch=3)
    assert waits(bench.step(m.CloseSoon(BOTH))) == ["maintenance"]
    assert shown(bench) == {2}
    bench.arrive(3, batch=100)
    assert shown(bench) == {2}
    wait = describe_standing(bench.machine, bench.now_s, 1, "")(None).wait  # type: ignore[arg-type]
    assert (wait.cause, "could not end before" in wait.words, "w1" in wait.words) == ("maintenance", True, True)


def test_a_job_is_judged_by_its_longest_task_as_its_tasks_overlap() -> None:
    bench = Bench()
    bench.arrive(1, TWO, batch=40)  # 80 slot-milliseconds in two slots at once
    bench.step(m.CloseSoon(BOTH))
    assert shown(bench) == {1}


def test_where_one_slot_stays_open_nothing_is_held_back() -> None:
    bench = Bench()
    bench.arrive(1, batch=100)
    bench.step(m.CloseSoon({0: (0.05, "w1")}))
    assert shown(bench) == {1}


def test_what_waits_goes_on_when_the_window_is_over_and_its_wait_is_booked() -> None:
    bench = Bench()
    bench.arrive(1, batch=100)
    bench.step(m.CloseSoon(BOTH))
    for _ in range(10):
        bench.step()
    bench.step(m.CloseSoon({}))
    assert shown(bench) == {1}
    job = bench.machine.job(1)
    assert job.postponed == ""
    assert round(job.times.spent_s["maintenance"], 6) == 0.011
    bench.load(1, 0, 0)
    assert job.state is JobState.RUNNING


def test_a_job_that_has_begun_goes_on_to_the_moment_its_slots_close_and_keeps_its_items() -> None:
    bench = Bench()
    bench.arrive(1, batch=100)
    bench.load(1, 0, 0)
    bench.step(m.CloseSoon(BOTH))
    assert shown(bench) == {1}
    bench.step(m.Drain(0, "maintenance w1: x"), m.Drain(1, "maintenance w1: x"), m.CloseSoon(CLOSED))
    result = bench.done(0)
    assert [event.detail for event in result.log if event.what is JobEventKind.PREEMPT] == ["maintenance"]
    result = bench.step(m.CloseSoon(CLOSED))
    assert waits(result) == ["maintenance"]
    assert bench.machine.job(1).items.done == [1]
    wait = describe_standing(bench.machine, bench.now_s, 1, "")(None).wait  # type: ignore[arg-type]
    assert (wait.cause, "goes on when" in wait.words) == ("maintenance", True)
    bench.step(m.Undrain(0), m.Undrain(1), m.CloseSoon({}))
    bench.step(decide=[Configure(1, 0, 0)])
    assert bench.machine.job(1).slots == 1


def test_a_job_that_waits_so_can_be_cancelled() -> None:
    bench = Bench()
    bench.arrive(1, batch=100)
    bench.step(m.CloseSoon(BOTH))
    assert bench.step(m.Cancel(1)).ended == [1]
