# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a job waits for, and what would have made it faster."""

from __future__ import annotations

import dataclasses

import pytest
from eddy.board.port.pages import PAGE
from eddy.core.applications import Application, BufferRole, BufferSpec, TaskSpec
from eddy.core.records import WaitCause
from eddy.core.slots import Pool
from eddy.hypervisor.forecast.estimator import Estimator
from eddy.hypervisor.forecast.job_standing import describe_standing
from eddy.hypervisor.forecast.outlook import outlook
from eddy.hypervisor.forecast.queue import picture_queue
from eddy.hypervisor.forecast.simulate import forecast
from eddy.hypervisor.forecast.trial import try_job
from eddy.hypervisor.forecast.waits import WaitNow, describe_wait
from eddy.hypervisor.forecast.whatif import explore_what_ifs
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.slots.pools import PoolSlots
from eddy.model.estimates.calibration import Calibration
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.views.job_view import JobView

LOAD_S = 0.5
APP = Application("one", (TaskSpec(0, "t", "x", (), 1.0, 1e9),), ())


def seconds(job: JobView) -> tuple[float, ...]:
    return tuple(task.estimate_s for task in job.tasks)


def machine(slots: int = 1, policy: str = "fcfs") -> Machine:
    return Machine(dict.fromkeys(range(slots), LOAD_S), POLICIES[policy](pipelined=True), {"x": {0: "a", 1: "b"}})


def busy(policy: str = "fcfs", jobs: int = 3) -> Machine:
    """One slot, which the first job is running in; the others wait."""
    made = machine(policy=policy)
    made.step(0.0, [m.Arrive(m.JobSpec(n, "ab"[n % 2], APP, 1, 1)) for n in range(1, jobs + 1)])
    made.step(LOAD_S, [m.Configured(0, LOAD_S, 0.0)])
    return made


def waits(made: Machine, number: int, now_s: float = LOAD_S, **how: bool) -> WaitNow:
    queue = picture_queue(made, Pool.PIPELINE, now_s)
    return describe_wait(queue, forecast(queue, seconds), number, how.get("preempted", False), how.get("memory", False))


def test_what_a_job_waits_for_has_a_name() -> None:
    made = busy()
    assert waits(made, 1) == WaitNow("", "It runs.")
    taken = "All 1 slots that it fits in are taken"
    assert waits(made, 2) == WaitNow("slot", f"{taken}; no job of its tenant should start before it.")
    assert waits(made, 3).words == f"{taken}; no job of its tenant should start before it.", "the second is another's"
    assert waits(busy(jobs=5), 5).words == f"{taken}; 1 job of its tenant should start before it."
    assert waits(made, 2, memory=True).cause == "memory"
    assert waits(made, 2, preempted=True).cause == "preempted"


def test_a_load_and_a_drained_slot_have_names() -> None:
    made = machine()
    made.step(0.0, [m.Arrive(m.JobSpec(1, "a", APP))])
    assert waits(made, 1, 0.0).cause == "load"
    drained = machine()
    drained.step(0.0, [m.Drain(0, "worn out")])
    drained.step(0.0, [m.Arrive(m.JobSpec(1, "a", APP))])
    assert waits(drained, 1, 0.0).cause == "drain"


def test_what_would_help_is_what_would() -> None:
    """By hand: the second job starts when the first ends, after a load where it is another tenant's."""
    queue = picture_queue(busy(jobs=2), Pool.PIPELINE, LOAD_S)
    now, found = explore_what_ifs(queue, 2, seconds)
    assert now is not None
    assert now.end_s == pytest.approx(LOAD_S + 1.0 + LOAD_S + 1.0)
    saved = {each.what: each.saves_s for each in found}
    assert saved["slot"] == pytest.approx(1.0), "it would be loaded while the first runs"
    assert saved["alone"] == pytest.approx(1.0)
    assert saved["resident"] == pytest.approx(LOAD_S)
    assert saved["priority"] == pytest.approx(0.0), "first come, first served"
    assert [each.saves_s for each in found] == sorted((each.saves_s or 0.0 for each in found), reverse=True)
    assert "undrain" not in saved


def test_priority_helps_where_the_policy_looks_at_it() -> None:
    queue = picture_queue(busy("nimblock", jobs=5), Pool.PIPELINE, LOAD_S)
    _, found = explore_what_ifs(queue, 5, seconds)
    saves_s = next(each.saves_s for each in found if each.what == "priority")
    assert saves_s == pytest.approx(1.0), "an item of its tenant's job before it; nothing is loaded twice"


def test_drained_slots_would_help_once_they_are_back() -> None:
    made = machine(slots=2)
    made.step(0.0, [m.Drain(1, "worn out")])
    made.step(0.0, [m.Arrive(m.JobSpec(n, "ab"[n % 2], APP)) for n in (1, 2)])
    _, found = explore_what_ifs(picture_queue(made, Pool.PIPELINE, 0.0), 2, seconds)
    back = next(each for each in found if each.what == "undrain")
    assert back.words == "its drained slot in use again"
    assert (back.saves_s or 0.0) > 0.5


def test_with_every_slot_drained_nothing_is_told_but_what_would_let_it_go_on() -> None:
    made = machine()
    made.step(0.0, [m.Drain(0, "worn out")])
    made.step(0.0, [m.Arrive(m.JobSpec(1, "a", APP))])
    queue = picture_queue(made, Pool.PIPELINE, 0.0)
    estimator = Estimator(Calibration(LOAD_S))
    assert outlook(estimator, [queue]).estimate_of(1) is None
    now, found = explore_what_ifs(queue, 1, seconds)
    assert now is None
    assert {each.what: each.saves_s for each in found} == {"undrain": None, "slot": None}
    standing = describe_standing(made, 0.0, 1, "")(estimator)
    assert (standing.wait.cause, standing.estimate) == ("drain", None)
    trial = try_job(made, 0.0, m.JobSpec(2, "a", APP))(estimator)
    assert (trial.estimate, trial.given) == (None, ())


def test_a_dry_run_does_not_tell_what_another_tenant_left_in_a_slot() -> None:
    given = {}
    for scrubs in (False, True):
        policy = POLICIES["eddy"](pipelined=True)
        scrubbed = frozenset({"x"} if scrubs else ())
        made = Machine({0: LOAD_S}, policy, {"x": {0: "i"}}, scrubbed=scrubbed)
        made.step(0.0, [m.Arrive(m.JobSpec(1, "a", APP))])
        (slot,) = [slot for slot in made.state.slots.values() if slot.job is not None]
        made.step(LOAD_S, [m.Configured(slot.index, LOAD_S, 0.0)])
        made.step(LOAD_S + 1.0, [m.ItemEnded(slot.index, LOAD_S + 1.0, LOAD_S + 1.0)])
        assert (slot.module, slot.job, slot.scrubs) == ("x", None, scrubs)
        estimator = Estimator(Calibration(LOAD_S))
        for tenant in "ab":
            trial = try_job(made, 9.0, m.JobSpec(7, tenant, APP))(estimator)
            given[scrubs, tenant] = [(each.slot, each.load_s) for each in trial.given], trial.slot_s
    mine, theirs = given[True, "a"], given[True, "b"]
    assert [load_s for _, load_s in mine[0]] == [0.0], "its own is there"
    assert [load_s for _, load_s in theirs[0]] == [LOAD_S]
    assert theirs == given[False, "b"], "the same slot, load and cost as where nobody could use it"


def test_a_job_outside_the_machine_says_what_keeps_it_there() -> None:
    nothing = machine()
    before = describe_standing(nothing, 0.0, 7, "waiting for job 3 to succeed")(None)  # type: ignore[arg-type]
    assert before.wait == WaitNow("predecessor", "It is waiting for job 3 to succeed.")
    assert describe_standing(nothing, 0.0, 7, "building the model of x")(None).wait.cause == "building"  # type: ignore[arg-type]


PAGES = BufferSpec("x", BufferRole.INPUT, 6 * PAGE, "u1", (6 * PAGE,))
LARGE = dataclasses.replace(APP, buffers=(PAGES,))


def full(pool: Pool = Pool.PIPELINE, most: int = 8) -> Machine:
    """Two slots; the first job runs, with most of the memory, and the second waits for it."""
    slots, fits = dict.fromkeys(range(2), LOAD_S), {"x": {0: "a", 1: "b", 2: "c"}}
    gpu = PoolSlots({2: LOAD_S}, POLICIES["fcfs"](pipelined=True))
    policy = POLICIES["fcfs"](pipelined=True)
    made = Machine(slots, policy, fits, gpu=gpu, most_memory=lambda: most * PAGE, arena_bytes=8 * PAGE)
    made.step(0.0, [m.Arrive(m.JobSpec(1, "a", LARGE, needs_memory=True, pool=pool))])
    made.step(0.0, [m.Allocated(1)])
    made.step(LOAD_S, [m.Configured(0 if pool is Pool.PIPELINE else 2, LOAD_S, 0.0)])
    made.step(LOAD_S, [m.Arrive(m.JobSpec(2, "b", LARGE, needs_memory=True))])
    made.step(LOAD_S, [m.NoMemory(2)])
    assert made.jobs[2].lacks_memory
    return made


def test_a_job_that_waits_for_memory_starts_when_it_is_given_back() -> None:
    queue = picture_queue(full(), Pool.PIPELINE, LOAD_S)
    found = forecast(queue, seconds).jobs
    assert found[1].end_s == pytest.approx(LOAD_S + 1.0)
    assert found[2].start_s == pytest.approx(found[1].end_s), "there is a free slot all the time"
    _, helps = explore_what_ifs(queue, 2, seconds)
    assert {each.what: each.saves_s for each in helps}["alone"] == pytest.approx(1.0)


def test_a_job_that_has_not_asked_for_memory_is_told_that_it_will_wait() -> None:
    made = full()
    made.step(LOAD_S, [m.Arrive(m.JobSpec(3, "c", LARGE, needs_memory=True))])
    known = Estimator(Calibration(LOAD_S))
    estimate = describe_standing(made, LOAD_S, 3, "")(known).estimate
    trial = try_job(made, LOAD_S, m.JobSpec(4, "d", LARGE, needs_memory=True))(known)
    assert estimate is not None
    assert estimate.start is not None
    assert estimate.start.p90_s > 2 * LOAD_S
    assert trial.given == () or trial.given[0].at_s > LOAD_S + 1.0


def test_a_wait_under_way_is_known_with_its_cause() -> None:
    made = full()
    made.step(LOAD_S + 0.25, [m.Wake()])
    wait = made.jobs[2].times.current_wait(LOAD_S + 0.75)
    assert wait is not None
    assert wait[0] == WaitCause.MEMORY.value
    assert wait[1] == pytest.approx(0.75)
    assert made.jobs[1].times.current_wait(LOAD_S + 0.75) is None, "it runs"


def test_what_cannot_be_known_has_no_number() -> None:
    """Those who have the memory are in another pool."""
    made = full(Pool.GPU)
    known = Estimator(Calibration(LOAD_S))
    queue = picture_queue(made, Pool.PIPELINE, LOAD_S)
    assert 2 not in forecast(queue, seconds).jobs
    assert outlook(known, [queue]).estimate_of(2) is None
    standing = describe_standing(made, LOAD_S, 2, "")(known)
    assert standing.estimate is None
    assert standing.wait.cause == "memory"
    assert standing.wait.words.endswith("cannot be known: it waits for memory held by jobs of others.")
    assert [each.what for each in standing.would_help] == ["alone"]
    assert standing.would_help[0].saves_s is None
    assert try_job(made, LOAD_S, m.JobSpec(4, "d", LARGE, needs_memory=True))(known).estimate is None
