# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Slots that are given to nobody any more, drained or quarantined; policies switched between steps."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from eddy.board.model.model import ModelBoard, ModelFaults
from eddy.board.port.port import Cause
from eddy.core.applications import Application, TaskSpec
from eddy.core.errors import NotFound
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind
from eddy.core.slots import Pool
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.engine.status import stall
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.slot import Phase
from eddy.hypervisor.machine.slot_drainer import MAX_FAILED_LOADS, MAX_FAULTS, QUARANTINED
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.fcfs import FirstComeFirstServed
from eddy.policy.dispatch.views.view import Configure
from eddy.store import Store
from eddy.store.db.rows import Commit
from hypervisor_kit import CHAIN, MODULES, TENANT, expected, model_board, request
from machine_kit import ONE, TWO, Bench


def engine_over(board: ModelBoard, store: Store, policy: str = "fcfs") -> Engine:
    made = Engine(board, POLICIES[policy](), store, {"chain": CHAIN}, MODULES)
    made.start()
    return made


def run(engine: Engine, steps: int = 10_000) -> None:
    for _ in range(steps):
        if engine.is_idle:
            return
        engine.step(1.0)
    pytest.fail("it does not come to rest")


def slots_of(store: Store, job: int, kind: JobEventKind) -> list[int | None]:
    return [event.slot for event in store.events.list_events(TENANT, job) if event.what is kind]


@pytest.fixture
def store() -> Iterator[Store]:
    made = Store(":memory:")
    yield made
    made.close()


# The machine, one rule at a time ------------------------------------------------------------------------------------


def test_what_runs_ends_its_work_moves_and_nothing_new_is_placed() -> None:
    bench = Bench()
    bench.arrive(batch=2)
    bench.load(1, 0, 0)
    slot = bench.machine.slots[0]
    assert slot.phase is Phase.RUNNING
    out = bench.step(m.Drain(0, "a new fan"))
    assert (slot.phase, out.drained, slot.snapshot()["job"]) == (Phase.RUNNING, {0: "a new fan"}, 1)
    out = bench.done(0, decide=[Configure(1, 0, 0)])
    assert [event.what for event in out.log if event.slot == 0] == [JobEventKind.ITEM_DONE, JobEventKind.PREEMPT]
    assert [event.detail for event in out.log if event.what is JobEventKind.PREEMPT] == ["drained"], "not the policy"
    assert [event.detail.rpartition(": ")[2] for event in out.log if event.what is JobEventKind.DROPPED] == [
        "the slot is drained"
    ]
    assert bench.machine.slots[0].phase is Phase.FREE
    assert [view.index for view in bench.machine.view().slots] == [1]
    bench.load(1, 0, 1)
    assert bench.machine.jobs[1].items.done == [1]
    bench.done(1)
    assert bench.machine.job(1).state is JobState.SUCCEEDED
    out = bench.step(m.Undrain(0))
    assert out.drained == {0: ""}
    assert [view.index for view in bench.machine.view().slots] == [0, 1]


def phases(bench: Bench) -> list[Phase]:
    return [slot.phase for slot in bench.machine.slots.values()]


def test_a_slot_between_items_is_given_back_at_once_and_one_that_loads_when_it_has() -> None:
    bench = Bench()
    bench.arrive(1, TWO)
    bench.step(decide=[Configure(1, 1, 1)])
    bench.step(m.Drain(1, "x"))
    assert phases(bench) == [Phase.FREE, Phase.LOADING]
    bench.step(m.Configured(1, bench.now_s, bench.now_s))
    assert phases(bench) == [Phase.FREE, Phase.FREE]
    bench.step(m.Undrain(1))
    bench.load(1, 1, 1)
    assert phases(bench) == [Phase.FREE, Phase.HELD]  # its predecessor has done nothing yet
    out = bench.step(m.Drain(1, f"{QUARANTINED}x"))
    assert phases(bench) == [Phase.FREE, Phase.FREE]
    assert [event.detail for event in out.log if event.what is JobEventKind.PREEMPT] == ["quarantined"]


def test_a_lease_takes_a_slot_between_items_and_says_so() -> None:
    bench = Bench()
    bench.arrive(batch=2)
    bench.load(1, 0, 0)
    bench.step(m.LeaseSlot(0, "l1", "grace"))
    out = bench.done(0)
    assert [event.detail for event in out.log if event.what is JobEventKind.PREEMPT] == ["leased"]


def test_a_job_that_is_cancelled_in_a_drained_slot_ends() -> None:
    bench = Bench()
    bench.arrive(batch=2)
    bench.load(1, 0, 0)
    bench.step(m.Drain(0, "x"))
    bench.step(m.Cancel(1))
    bench.step(m.ItemEnded(0, bench.now_s, bench.now_s, Cause.STOPPED))
    assert bench.machine.job(1).state is JobState.CANCELLED
    assert bench.machine.slots[0].phase is Phase.FREE


def fail_loads(bench: Bench, slot: int, count: int, refused: bool = False) -> list[m.StepResult]:
    found = []
    for _ in range(count):
        number = max(bench.machine.jobs, default=0) + 1
        bench.arrive(number)
        bench.now_s = max(bench.now_s, bench.machine.slots[slot].rests_until_s)
        bench.step(decide=[Configure(number, 0, slot)])
        found.append(bench.step(m.LoadFailed(slot, bench.now_s, "configuration-error", "", refused)))
    return found


def test_a_slot_whose_loads_keep_failing_is_quarantined_and_says_how_to_bring_it_back() -> None:
    bench = Bench()
    outs = fail_loads(bench, 0, MAX_FAILED_LOADS)
    assert [bool(out.drained) for out in outs] == [False] * (MAX_FAILED_LOADS - 1) + [True]
    assert "eddy undrain 0" in outs[-1].drained[0]
    assert "configuration-error" in outs[-1].drained[0]
    outs = fail_loads(bench, 1, MAX_FAILED_LOADS + 2)
    assert not any(out.drained for out in outs), "the last open slot of a pool is left to rest"
    bench.step(m.Undrain(0))
    assert bench.machine.slots[0].failed_loads == 0
    assert 0 in [view.index for view in bench.machine.view().slots]


def test_loads_that_fail_now_and_then_and_images_that_are_refused_quarantine_nothing() -> None:
    bench = Bench()
    for _ in range(3):
        assert not any(out.drained for out in fail_loads(bench, 0, MAX_FAILED_LOADS - 1))
        bench.now_s = max(bench.now_s, bench.machine.slots[0].rests_until_s)
        number = max(bench.machine.jobs, default=0) + 1
        bench.arrive(number)
        bench.load(number, 0, 0)
        bench.done(0)
    assert not any(out.drained for out in fail_loads(Bench(), 0, 1, refused=True))


def fail_items(bench: Bench, slot: int, cause: Cause, apps: list[Application], good_after: int = -1) -> bool:
    quarantined = False
    for place, app in enumerate(apps):
        number = place + 1
        bench.arrive(number, app)
        bench.load(number, 0, slot)
        ended = Cause.NONE if place == good_after else cause
        out = bench.step(m.ItemEnded(slot, bench.now_s, bench.now_s, ended))
        quarantined = quarantined or bool(out.drained)
    return quarantined


OTHER = Application("other", (TaskSpec(0, "t", "y", (), 1e-3, 1.0),), ())


@pytest.mark.parametrize(
    ("cause", "apps", "good_after", "quarantined"),
    [
        (Cause.TIME_LIMIT, [ONE, OTHER] * MAX_FAULTS, -1, True),
        (Cause.TIME_LIMIT, [ONE, OTHER] * MAX_FAULTS, MAX_FAULTS - 1, True),
        (Cause.TIME_LIMIT, ([ONE, OTHER] * MAX_FAULTS)[:MAX_FAULTS], 2, False),
        (Cause.TIME_LIMIT, [ONE] * 3 * MAX_FAULTS, -1, False),  # the module, or its data, is more likely at fault
        (Cause.CLOCK_LOST, [ONE] * MAX_FAULTS, -1, True),
        (Cause.READ_OUTSIDE_WINDOW, [ONE, OTHER] * MAX_FAULTS, -1, False),
        (Cause.STREAM_LOST, [ONE, OTHER] * MAX_FAULTS, -1, False),  # the item in another slot failed
    ],
)
def test_items_that_fail_quarantine_a_slot_only_where_it_is_the_suspect(
    cause: Cause, apps: list[Application], good_after: int, quarantined: bool
) -> None:
    assert fail_items(Bench(), 0, cause, apps, good_after) is quarantined


def test_a_policy_put_in_force_knows_nothing_of_the_last_and_is_told_everything() -> None:
    bench = Bench()
    bench.arrive(1)
    pool = bench.machine.state.pools[Pool.PIPELINE]
    bench.step()
    assert pool.changed == frozenset()
    bench.step(m.Switch(Pool.PIPELINE, FirstComeFirstServed()))
    assert pool.policy.name == "fcfs"
    assert bench.machine.slots[0].job == 1


# The engine, on the model board -------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_every_policy_does_without_drained_slots_and_goes_on_when_they_are_back(policy: str, store: Store) -> None:
    engine = engine_over(model_board(), store, policy)
    for slot in range(3):
        engine.intake.drain(slot, "all of them")
    job = engine.intake.accept(request(store, batch=2))
    run(engine)
    assert engine.stalled == (job.id,)
    assert stall(engine.machine) == (
        "every slot of pool pipeline is drained (all of them); `eddy undrain 0` brings one back"
    )
    engine.intake.drain(1, "")
    run(engine)
    assert store.jobs.get(TENANT, job.id).state is JobState.SUCCEEDED
    assert store.outputs.read(TENANT, job.id, "out") == expected(2)
    assert set(slots_of(store, job.id, JobEventKind.LAUNCH)) == {1}


@pytest.mark.parametrize("step", range(0, 12, 2))
def test_a_drain_survives_a_crash_wherever_it_comes_and_results_are_right(step: int, store: Store) -> None:
    board = model_board()
    engine = engine_over(board, store)
    jobs = [engine.intake.accept(request(store, batch=3, salt=salt)) for salt in range(2)]
    for _ in range(step):
        engine.step(1.0)
    engine.intake.drain(0, "a new fan")  # and the process is gone before it does anything about it
    engine = engine_over(board, store)
    assert engine.intake.drained == {0: "a new fan"}
    run(engine)
    for salt, job in enumerate(jobs):
        assert store.jobs.get(TENANT, job.id).state is JobState.SUCCEEDED
        assert store.outputs.read(TENANT, job.id, "out") == expected(3, salt)
    later = engine.intake.accept(request(store, batch=2, salt=7))
    run(engine)
    assert 0 not in slots_of(store, later.id, JobEventKind.CONFIGURE)
    engine.intake.drain(0, "")
    assert engine_over(board, store).intake.drained == {}


@pytest.mark.parametrize(
    ("kept", "drained", "told"),
    [("rank", False, "rank"), ("rank", True, "rank"), (True, True, "drained"), (True, False, "")],
)
def test_why_a_slot_is_taken_survives_a_restart_also_of_a_version_that_kept_no_reason(
    kept: object, drained: bool, told: str, store: Store
) -> None:
    board = model_board()
    engine = engine_over(board, store)
    job = engine.intake.accept(request(store, batch=3))
    while store.slot_snapshots().get(0, {}).get("phase") != Phase.RUNNING.value:
        engine.step(1.0)
    if drained:
        engine.intake.drain(0, "a new fan")
    store.commit(Commit(slots={0: {**store.slot_snapshots()[0], "leaving": kept}}))
    run(engine_over(board, store))
    assert store.jobs.get(TENANT, job.id).state is JobState.SUCCEEDED
    taken = [each for each in store.events.read_all(TENANT, job.id) if each.what is JobEventKind.PREEMPT]
    assert [(each.slot, each.detail) for each in taken][:1] == [(0, told)]


def test_a_quarantine_is_durable_and_shown(store: Store) -> None:
    board = model_board(slots=2, faults=ModelFaults(loads=frozenset(range(0, 400, 1))))
    engine = engine_over(board, store)
    for _ in range(20):
        engine.intake.accept(request(store))
    run(engine)
    assert len(engine.intake.drained) == 1, "the last one is left to rest"
    (slot,) = engine.intake.drained
    assert f"eddy undrain {slot}" in engine.intake.drained[slot]
    assert engine_over(board, store).intake.drained == engine.intake.drained


def test_a_slot_that_jobs_are_not_given_cannot_be_drained(store: Store) -> None:
    engine = engine_over(model_board(), store)
    with pytest.raises(NotFound) as refused:
        engine.intake.drain(99, "x")
    assert refused.value.details["allowed"] == [0, 1, 2, 3]
    assert store.meta("drained.99") == ""


def test_policies_switched_at_every_step_do_not_harm_results(store: Store) -> None:
    engine = engine_over(model_board(), store)
    jobs = [engine.intake.accept(request(store, batch=3, salt=salt)) for salt in range(3)]
    names = sorted(POLICIES)
    for step in range(10_000):
        if engine.is_idle:
            break
        if step % 2:
            engine.intake.switch(Pool.PIPELINE, POLICIES[names[step // 2 % len(names)]]())
        engine.step(1.0)
    for salt, job in enumerate(jobs):
        assert store.outputs.read(TENANT, job.id, "out") == expected(3, salt)
