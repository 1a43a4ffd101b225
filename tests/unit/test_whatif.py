"""What a job waits for, and what would have made it faster."""

from __future__ import annotations

import pytest
from eddy.core.applications import Application, TaskSpec
from eddy.core.slots import Pool
from eddy.hypervisor import messages as m
from eddy.hypervisor.forecast.estimator import Estimator
from eddy.hypervisor.forecast.outlook import outlook
from eddy.hypervisor.forecast.queue import queue_of
from eddy.hypervisor.forecast.simulate import forecast
from eddy.hypervisor.forecast.trial import try_job
from eddy.hypervisor.forecast.waits import WaitNow, wait_of
from eddy.hypervisor.forecast.whatif import what_ifs
from eddy.hypervisor.forecast.why import standing_of
from eddy.hypervisor.machine import Machine
from eddy.model.estimates.calibration import Calibration
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.job_view import JobView

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
    queue = queue_of(made, Pool.PIPELINE, now_s)
    return wait_of(queue, forecast(queue, seconds), number, how.get("preempted", False), how.get("memory", False))


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
    queue = queue_of(busy(jobs=2), Pool.PIPELINE, LOAD_S)
    now, found = what_ifs(queue, 2, seconds)
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
    queue = queue_of(busy("nimblock", jobs=5), Pool.PIPELINE, LOAD_S)
    _, found = what_ifs(queue, 5, seconds)
    assert (next(each.saves_s for each in found if each.what == "priority") or 0.0) > 1.0


def test_drained_slots_would_help_once_they_are_back() -> None:
    made = machine(slots=2)
    made.step(0.0, [m.Drain(1, "worn out")])
    made.step(0.0, [m.Arrive(m.JobSpec(n, "ab"[n % 2], APP)) for n in (1, 2)])
    _, found = what_ifs(queue_of(made, Pool.PIPELINE, 0.0), 2, seconds)
    back = next(each for each in found if each.what == "undrain")
    assert back.words == "its drained slot in use again"
    assert (back.saves_s or 0.0) > 0.5


def test_with_every_slot_drained_nothing_is_told_but_what_would_let_it_go_on() -> None:
    made = machine()
    made.step(0.0, [m.Drain(0, "worn out")])
    made.step(0.0, [m.Arrive(m.JobSpec(1, "a", APP))])
    queue = queue_of(made, Pool.PIPELINE, 0.0)
    estimator = Estimator(Calibration(LOAD_S))
    assert outlook(estimator, [queue]).of(1) is None
    now, found = what_ifs(queue, 1, seconds)
    assert now is None
    assert {each.what: each.saves_s for each in found} == {"undrain": None, "slot": None}
    standing = standing_of(made, 0.0, 1, "")(estimator)
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
    before = standing_of(nothing, 0.0, 7, "waiting for job 3 to succeed")(None)  # type: ignore[arg-type]
    assert before.wait == WaitNow("predecessor", "It is waiting for job 3 to succeed.")
    assert standing_of(nothing, 0.0, 7, "building the model of x")(None).wait.cause == "building"  # type: ignore[arg-type]
