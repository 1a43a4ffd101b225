# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs that wait until others have succeeded: what policies see of them, how they end, and that a crash loses none."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest
from eddy.board.model.model import ModelFaults
from eddy.board.port.port import Cause
from eddy.core.errors import InvalidRequest
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind, JobRecord, JobRequest
from eddy.core.submission_options import Condition, Predecessor, SubmissionOptions
from eddy.hypervisor.engine.engine import Engine
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.views.view import DispatchView
from eddy.store import Store
from hypervisor_kit import CHAIN, MODULES, TENANT, model_board, request


class RecordingPolicy:
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
    while not engine.is_idle:
        engine.step()


def ask(store: Store, *after: int) -> JobRequest:
    return dataclasses.replace(request(store), asked=SubmissionOptions(after=tuple(map(Predecessor, after))))


def job(store: Store, number: int) -> JobRecord:
    return store.jobs.get(TENANT, number)


@pytest.fixture
def store() -> Store:
    return Store(":memory:")


def test_a_job_is_seen_by_the_policy_when_the_others_have_succeeded(store: Store) -> None:
    policy = RecordingPolicy()
    engine = engine_of(store, model_board(), policy)
    first, second = engine.intake.accept(request(store)), engine.intake.accept(request(store, salt=1))
    told = store.numbers.job.public_id
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
    notes = [event for event in store.events.list_events(TENANT, last.id) if event.what is JobEventKind.WAIT]
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
            assert record.detail == f"job {store.numbers.job.public_id(culprit)}, which was to succeed first, {how}"
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
            InvalidRequest, match=rf"after\[1\]: you have no job or array {store.numbers.job.public_id(number)}"
        ) as refused:
            engine.intake.accept(ask(store, mine.id, number))
        assert refused.value.details["field"] == "after[1]"
    assert len(store.lists.page(TENANT)) == 1


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
            if not engine.is_idle:
                engine.step()
        store.close()
        store = Store(path)
        engine = engine_of(store, board)
    run(engine)
    assert not store.jobs.unfinished()
    for number in numbers:
        record = job(store, number)
        before = [job(store, each.id) for each in record.asked.after]
        if number == cancelled:
            assert record.state is JobState.CANCELLED
        elif any(each.state is not JobState.SUCCEEDED for each in before):
            assert (record.state, record.cause) == (JobState.FAILED, "dependency-failed")
        else:
            assert record.state is (JobState.FAILED if number == 3 else JobState.SUCCEEDED)
            assert all((record.started_s or 0.0) >= (each.ended_s or 0.0) for each in before)
    store.close()


# Arrays, and ends other than success ---------------------------------------------------------------------------------


def wants(store: Store, *after: Predecessor) -> JobRequest:
    return dataclasses.replace(request(store), asked=SubmissionOptions(after=after))


def array(engine: Engine, size: int, *after: Predecessor, most: int | None = None) -> list[JobRecord]:
    asked = SubmissionOptions(after=after, max_running=most)
    each = [dataclasses.replace(request(engine.store, salt=salt), asked=asked) for salt in range(size)]
    return [*engine.intake.accept_array(each, [None] * size)]


def id_of(records: list[JobRecord]) -> int:
    place = records[0].asked.array
    assert place is not None
    return place.id


def test_a_job_after_an_array_waits_for_all_of_it(store: Store) -> None:
    engine = engine_of(store, model_board())
    several = array(engine, 6)
    number = id_of(several)
    assert number not in {each.id for each in several}
    last = engine.intake.accept(wants(store, Predecessor(number)))
    assert last.asked.after == (Predecessor(number, array=True),)
    run(engine)
    ends = [job(store, each.id).ended_s or 0.0 for each in several]
    assert job(store, last.id).state is JobState.SUCCEEDED
    assert (job(store, last.id).started_s or 0.0) >= max(ends)


def test_each_job_of_an_array_waits_for_the_one_in_its_place(store: Store) -> None:
    engine = engine_of(store, model_board(faults=ModelFaults(items={"3.0.0": Cause.ILLEGAL_BURST})))
    first = array(engine, 3)
    assert [each.id for each in first] == [2, 3, 4]
    second = array(engine, 3, Predecessor(id_of(first), Condition.ELEMENT))
    assert [each.asked.after for each in second] == [(Predecessor(each.id),) for each in first]
    run(engine)
    states = [job(store, each.id).state for each in second]
    assert states == [JobState.SUCCEEDED, JobState.FAILED, JobState.SUCCEEDED]
    for before, after in zip(first, second, strict=True):
        assert (job(store, after.id).started_s or 9.0) >= (job(store, before.id).ended_s or 0.0)


def test_arrays_of_other_sizes_and_jobs_of_their_own_have_no_places_to_wait_for(store: Store) -> None:
    engine = engine_of(store, model_board())
    number, single = id_of(array(engine, 3)), engine.intake.accept(request(store)).id
    before = len(store.lists.page(TENANT))
    for what, wanted in (
        (lambda: array(engine, 2, Predecessor(number, Condition.ELEMENT)), "has 3 jobs and this one has 2"),
        (lambda: array(engine, 1, Predecessor(single, Condition.ELEMENT)), "you have no array"),
        (lambda: engine.intake.accept(wants(store, Predecessor(number, Condition.ELEMENT))), "only a job of an array"),
        (lambda: engine.intake.accept(wants(store, Predecessor(99, Condition.END))), "you have no job or array"),
    ):
        with pytest.raises(InvalidRequest, match=wanted) as refused:
            what()
        assert refused.value.details["field"] in ("aftercorr[0]", "afterany[0]")
    assert len(store.lists.page(TENANT)) == before


def test_a_job_that_was_not_needed_ends_as_cancelled_and_says_why(store: Store) -> None:
    engine = engine_of(store, model_board())
    first = engine.intake.accept(request(store))
    clean = engine.intake.accept(wants(store, Predecessor(first.id, Condition.FAILURE)))
    behind = engine.intake.accept(wants(store, Predecessor(clean.id)))
    anyhow = engine.intake.accept(wants(store, Predecessor(clean.id, Condition.END)))
    run(engine)
    told = store.numbers.job.public_id
    record = job(store, clean.id)
    assert (record.state, record.cause, record.cancel_asked_unix_s) == (JobState.CANCELLED, "dependency-never", None)
    assert record.detail == f"job {told(first.id)}, which was to fail first, succeeded"
    assert record.started_s is None
    assert (job(store, behind.id).state, job(store, behind.id).cause) == (JobState.FAILED, "dependency-failed")
    assert job(store, anyhow.id).state is JobState.SUCCEEDED


def test_no_more_of_an_array_are_in_the_machine_than_it_allows(store: Store) -> None:
    engine = engine_of(store, model_board())
    several = {each.id for each in array(engine, 9, most=2)}
    single = engine.intake.accept(request(store, salt=50))
    most = 0
    while not engine.is_idle:
        engine.step()
        most = max(most, len(several & engine.machine.jobs.keys()))
    assert most == 2
    assert {job(store, number).state for number in several} == {JobState.SUCCEEDED}
    ends = sorted(job(store, number).ended_s or 0.0 for number in several)
    assert (job(store, single.id).ended_s or 0.0) < ends[-1], "others are not kept back"
    last = job(store, max(several))
    assert last.waiting_s["dependency"] == pytest.approx(ends[-3] - last.arrival_s, rel=0.5)


def as_it_should_end(record: JobRecord, ends: dict[int, JobState], members: dict[int, list[int]]) -> set[str]:
    """States and causes that may follow from what others came to, whichever was known first; none where it ran."""
    found = set[str]()
    for each in record.asked.after:
        others = [ends[number] for number in (members[each.id] if each.array else [each.id])]
        good = all(state is JobState.SUCCEEDED for state in others)
        if each.wanted is Condition.SUCCESS and not good:
            found.add("failed dependency-failed")
        if each.wanted is Condition.FAILURE and good:
            found.add("cancelled dependency-never")
    return found


@pytest.mark.parametrize("seed", range(6))
def test_a_crash_at_any_step_changes_no_end(tmp_path: Path, seed: int) -> None:
    """Jobs and arrays that wait for others in every way, some of which fail or are cancelled; the server dies often."""
    dice = random.Random(seed)
    path = tmp_path / "eddy.sqlite3"
    faults = {f"{number}.0.0": Cause.TIME_LIMIT for number in range(1, 60) if dice.random() < 0.15}
    board = model_board(faults=ModelFaults(items=faults))
    store = Store(path)
    engine = engine_of(store, board)
    jobs, members, bounds = list[int](), dict[int, list[int]](), dict[int, int]()
    for _ in range(14):
        known = [*jobs, *members]
        ways = (Condition.SUCCESS, Condition.END, Condition.FAILURE)
        after = [
            Predecessor(each, dice.choice(ways)) for each in dice.sample(known, min(len(known), dice.choice((0, 1, 2))))
        ]
        if dice.random() < 0.4:
            size, most = dice.choice((2, 3)), dice.choice((None, 1, 2))
            alike = [number for number, of in members.items() if len(of) == size]
            if alike and dice.random() < 0.5:
                after.append(Predecessor(dice.choice(alike), Condition.ELEMENT))
            made = array(engine, size, *after, most=most)
            members[id_of(made)] = [each.id for each in made]
            if most is not None:
                bounds[id_of(made)] = most
            jobs += members[id_of(made)]
        else:
            jobs.append(engine.intake.accept(wants(store, *after)).id)
    cancelled = set(dice.sample(jobs, 2))
    for number in cancelled:
        engine.intake.cancel(TENANT, number)
    for _ in range(10):
        for _ in range(dice.randrange(6)):
            if not engine.is_idle:
                engine.step()
                for number, most in bounds.items():
                    assert len(set(members[number]) & engine.machine.jobs.keys() - cancelled) <= most
        store.close()
        store = Store(path)
        engine = engine_of(store, board)
    run(engine)
    assert not store.jobs.unfinished()
    records = {number: job(store, number) for number in jobs}
    ends = {number: record.state for number, record in records.items()}
    whys = set()
    for number, record in records.items():
        wanted = as_it_should_end(record, ends, members)
        why = f"{record.state.value} {record.cause}"
        whys.add(why)
        if number in cancelled and record.cancel_asked_unix_s is not None and not record.cause:
            continue
        assert why in (wanted or {"succeeded ", "failed time-limit"}), (number, why, wanted)
        if record.started_s is None:
            continue
        for each in record.asked.after:
            for other in members[each.id] if each.array else [each.id]:
                assert record.started_s >= (records[other].ended_s or 0.0), "it began before what it waits for ended"
    assert {"succeeded ", "failed time-limit"} <= whys
    store.close()
