"""Jobs that wait until others have succeeded: what policies see of them, how they end, and that a crash loses none."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest
from eddy.board.model import ModelFaults
from eddy.board.port import Cause
from eddy.core.asked import Asked
from eddy.core.errors import InvalidRequest
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind, JobRecord, JobRequest
from eddy.hypervisor.engine import Engine
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.view import DispatchView
from eddy.store import Store
from hypervisor_kit import CHAIN, MODULES, TENANT, model_board, request


class Seeing:
    """A policy that remembers which jobs it saw, and when."""

    def __init__(self) -> None:
        self._plain, self.seen = POLICIES["fcfs"](), dict[int, float]()
        self.name = self._plain.name

    def decide(self, view: DispatchView) -> object:
        for job in view.jobs:
            self.seen.setdefault(job.id, job.arrival_s)
        return self._plain.decide(view)

    def __getattr__(self, name: str) -> object:
        return getattr(self._plain, name)


def engine_of(store: Store, board: object, policy: object = None) -> Engine:
    chosen = policy or POLICIES["fcfs"]()
    engine = Engine(board, chosen, store, {CHAIN.name: CHAIN}, MODULES)  # type: ignore[arg-type]
    engine.start()
    return engine


def run(engine: Engine) -> None:
    while not engine.idle:
        engine.step()


def ask(store: Store, *after: int) -> JobRequest:
    return dataclasses.replace(request(store), asked=Asked(after=after))


def job(store: Store, number: int) -> JobRecord:
    return store.jobs.get(TENANT, number)


@pytest.fixture
def store() -> Store:
    return Store(":memory:")


def test_a_job_is_seen_by_the_policy_when_the_others_have_succeeded(store: Store) -> None:
    policy = Seeing()
    engine = engine_of(store, model_board(), policy)
    first, second = engine.intake.accept(request(store)), engine.intake.accept(request(store, salt=1))
    told = store.numbers.job.told
    last = engine.intake.accept(ask(store, first.id, second.id))
    middle = engine.intake.accept(ask(store, first.id))
    engine.step(0.0)
    assert set(policy.seen) == {first.id, second.id}
    assert engine.preparing.doing[last.id] == f"waiting for jobs {told(first.id)}, {told(second.id)} to succeed"
    run(engine)
    records = {each.id: job(store, each.id) for each in (first, second, middle, last)}
    assert {record.state for record in records.values()} == {JobState.SUCCEEDED}
    ends = {number: record.ended_s or 0.0 for number, record in records.items()}
    assert policy.seen[middle.id] == pytest.approx(ends[first.id])
    assert policy.seen[last.id] == pytest.approx(max(ends[first.id], ends[second.id]))
    for record in (records[middle.id], records[last.id]):
        assert record.waiting_s["dependency"] == pytest.approx(policy.seen[record.id] - record.arrival_s)
        assert record.waited_s + record.reconfiguring_s + record.running_s == pytest.approx(record.response_s)
    assert not engine.preparing.doing
    notes = [event for event in store.events.of(TENANT, last.id) if event.what is JobEventKind.WAIT]
    assert "waiting for jobs" in notes[0].detail


def test_what_fails_or_is_cancelled_ends_all_that_wait_for_it(store: Store) -> None:
    faults = ModelFaults(items={"1.1.0": Cause.ILLEGAL_BURST})
    engine = engine_of(store, model_board(faults=faults))
    bad = engine.intake.accept(request(store))
    other = engine.intake.accept(request(store, salt=1))
    waiting = engine.intake.accept(ask(store, bad.id, other.id))
    behind = engine.intake.accept(ask(store, waiting.id))
    for_cancelled = engine.intake.accept(ask(store, other.id))
    engine.step(0.0)
    engine.intake.cancel(TENANT, other.id)
    run(engine)
    assert job(store, bad.id).cause == "illegal-burst"
    for number, culprit, how in (
        (waiting.id, None, ""),
        (behind.id, waiting.id, "failed"),
        (for_cancelled.id, other.id, "was cancelled"),
    ):
        record = job(store, number)
        assert (record.state, record.cause) == (JobState.FAILED, "dependency-failed")
        assert record.started_s is None
        if culprit is not None:
            assert record.detail == f"job {store.numbers.job.told(culprit)}, which was to succeed first, {how}"
    late = engine.intake.accept(ask(store, bad.id))
    run(engine)
    assert job(store, late.id).cause == "dependency-failed"
    assert not store.jobs.unfinished()


def test_a_job_that_waits_can_be_cancelled(store: Store) -> None:
    engine = engine_of(store, model_board())
    first = engine.intake.accept(request(store))
    second, third = engine.intake.accept(ask(store, first.id)), engine.intake.accept(ask(store, first.id))
    engine.step(0.0)
    engine.intake.cancel(TENANT, second.id)
    run(engine)
    states = [job(store, each.id).state for each in (first, second, third)]
    assert states == [JobState.SUCCEEDED, JobState.CANCELLED, JobState.SUCCEEDED]


def test_what_is_not_ones_own_cannot_be_waited_for(store: Store) -> None:
    engine = engine_of(store, model_board())
    theirs = engine.intake.accept(request(store, tenant="bob"))
    mine = engine.intake.accept(request(store))
    for number in (theirs.id, 99):
        with pytest.raises(
            InvalidRequest, match=rf"after\[1\]: you have no job {store.numbers.job.told(number)}"
        ) as refused:
            engine.intake.accept(ask(store, mine.id, number))
        assert refused.value.details["field"] == "after[1]"
    assert len(store.jobs.page(TENANT)) == 1


@pytest.mark.parametrize("seed", range(3))
def test_a_crash_at_any_step_loses_no_order(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    path, board = tmp_path / "eddy.sqlite3", model_board(faults=ModelFaults(items={"3.0.0": Cause.TIME_LIMIT}))
    store = Store(path)
    engine = engine_of(store, board)
    numbers = list[int]()
    for _ in range(8):
        after = sorted(dice.sample(numbers, min(len(numbers), dice.choice((0, 1, 2)))))
        numbers.append(engine.intake.accept(ask(store, *after)).id)
    cancelled = dice.choice(numbers)
    engine.intake.cancel(TENANT, cancelled)
    for _ in range(6):
        for _ in range(dice.randrange(5)):
            if not engine.idle:
                engine.step()
        store.close()
        store = Store(path)
        engine = engine_of(store, board)
    run(engine)
    assert not store.jobs.unfinished()
    for number in numbers:
        record = job(store, number)
        before = [job(store, each) for each in record.asked.after]
        if number == cancelled:
            assert record.state is JobState.CANCELLED
        elif any(each.state is not JobState.SUCCEEDED for each in before):
            assert (record.state, record.cause) == (JobState.FAILED, "dependency-failed")
        else:
            assert record.state is (JobState.FAILED if number == 3 else JobState.SUCCEEDED)
            assert all((record.started_s or 0.0) >= (each.ended_s or 0.0) for each in before)
    store.close()
