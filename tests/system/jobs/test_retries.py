# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs that are tried again, jobs that end late, and when a cancellation took effect."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import pytest
from eddy.board.model.model import ModelFaults
from eddy.board.port.port import Cause
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind, JobRecord
from eddy.core.submission_options import ITS_OWN, NOT_ITS_FAULT, Predecessor, Retries, SubmissionOptions
from eddy.hypervisor.engine.engine import Engine
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from hypervisor_kit import CHAIN, MODULES, TENANT, expected, model_board, request

LATE = SubmissionOptions(late="end")


class TurnOrder(dict[str, list[Cause]]):
    """What becomes of an item, launch after launch; then all goes well."""

    def get(self, name: str, default: Any = None) -> Any:
        causes = super().get(name)
        return causes.pop(0) if causes else default


def board_with(**causes: list[Cause]) -> Any:
    items = TurnOrder({name.strip("_").replace("_", "."): list(found) for name, found in causes.items()})
    return model_board(faults=ModelFaults(items=items))  # type: ignore[arg-type]


def engine_of(store: Store, board: Any) -> Engine:
    engine = Engine(board, POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES)
    engine.start()
    return engine


def run(engine: Engine) -> None:
    while not engine.is_idle:
        engine.step()


def submit(engine: Engine, asked: SubmissionOptions, batch: int = 3, **more: Any) -> int:
    wanted = dataclasses.replace(request(engine.store, batch=batch), asked=asked, **more)
    return engine.intake.accept(wanted).id


def retries(times: int, *on: str) -> SubmissionOptions:
    return SubmissionOptions(retries=Retries(times, on) if on else Retries(times))


def ended(store: Store, number: int) -> JobRecord:
    record = store.jobs.get(TENANT, number)
    assert record.state.is_final
    assert record.ended_unix_s is not None
    assert record.waited_s + record.reconfiguring_s + record.running_s == pytest.approx(record.response_s)
    return record


@pytest.fixture
def store() -> Store:
    return Store(":memory:")


def test_a_job_is_tried_again_and_what_was_done_stays_done(store: Store) -> None:
    engine = engine_of(store, board_with(_1_1_1=[Cause.CLOCK_LOST]))
    number = submit(engine, retries(2))
    run(engine)
    record = ended(store, number)
    assert (record.state, record.retried, record.cause, record.failed_task) == (JobState.SUCCEEDED, 1, "", None)
    assert store.outputs.read(TENANT, number, "out") == expected(batch=3)
    events = store.events.list_events(TENANT, number)
    assert [event.detail for event in events if event.what is JobEventKind.RETRY] == ["clock-lost (1 of 2)"]
    assert [event.item for event in events if event.what is JobEventKind.RESULT] == [0, 1, 2]
    assert not engine.board.state().buffers


def test_a_job_that_fails_each_time_fails_in_the_end(store: Store) -> None:
    engine = engine_of(store, board_with(_1_2_0=[Cause.CLOCK_LOST] * 9))
    number = submit(engine, retries(2))
    run(engine)
    record = ended(store, number)
    assert (record.state, record.cause, record.retried) == (JobState.FAILED, "clock-lost", 2)
    assert (record.failed_task, record.failed_item) == (2, 0)
    assert not engine.board.state().buffers


def test_a_fault_of_its_own_is_tried_again_only_where_it_is_named(store: Store) -> None:
    engine = engine_of(store, board_with(_1_0_0=[Cause.ILLEGAL_BURST], _2_0_0=[Cause.ILLEGAL_BURST]))
    plain, named = submit(engine, retries(3)), submit(engine, retries(3, "illegal-burst"))
    run(engine)
    assert (ended(store, plain).state, ended(store, plain).retried) == (JobState.FAILED, 0)
    assert (ended(store, named).state, ended(store, named).retried) == (JobState.SUCCEEDED, 1)


def test_causes_are_those_of_boards() -> None:
    known = {cause.value for cause in Cause} - {"none", "stopped"}
    assert set(NOT_ITS_FAULT) | set(ITS_OWN) == known, "name a new cause in eddy.core.submission_options"
    assert not set(NOT_ITS_FAULT) & set(ITS_OWN)


def test_a_job_that_would_be_tried_again_can_be_cancelled_first(store: Store) -> None:
    engine = engine_of(store, board_with(_1_0_2=[Cause.CLOCK_LOST]))
    number = submit(engine, retries(5))
    while store.jobs.get(TENANT, number).state is not JobState.DRAINING:
        assert not engine.is_idle, "it never drains"
        engine.step()
    asked = engine.intake.cancel(TENANT, number)
    assert asked.cancel_asked_unix_s is not None
    run(engine)
    record = ended(store, number)
    assert (record.state, record.cause) == (JobState.CANCELLED, "")
    assert record.cancel_asked_unix_s == asked.cancel_asked_unix_s
    assert (record.ended_unix_s or 0.0) >= asked.cancel_asked_unix_s
    assert engine.intake.cancel(TENANT, number).cancel_asked_unix_s == asked.cancel_asked_unix_s


@pytest.mark.parametrize("seed", range(3))
def test_a_crash_changes_neither_tries_nor_results(tmp_path: Path, seed: int) -> None:
    dice, path = random.Random(seed), tmp_path / "eddy.sqlite3"
    board = board_with(_1_1_1=[Cause.CLOCK_LOST, Cause.CLOCK_LOST], _2_0_0=[Cause.CLOCK_LOST] * 9)
    store = Store(path)
    engine = engine_of(store, board)
    good, bad = submit(engine, retries(4)), submit(engine, retries(1), batch=1)
    for _ in range(8):
        for _ in range(dice.randrange(6)):
            if not engine.is_idle:
                engine.step()
        store.close()
        store = Store(path)
        engine = engine_of(store, board)
    run(engine)
    assert (ended(store, good).state, ended(store, good).retried) == (JobState.SUCCEEDED, 2)
    assert store.outputs.read(TENANT, good, "out") == expected(batch=3)
    assert (ended(store, bad).state, ended(store, bad).retried) == (JobState.FAILED, 1)
    store.close()


def test_a_late_job_ends_where_it_was_asked_to_and_goes_on_else(store: Store) -> None:
    engine = engine_of(store, model_board(slow=10))
    strict = submit(engine, LATE, deadline_s=0.05)
    lax = submit(engine, SubmissionOptions(), deadline_s=0.05)
    waiting = submit(engine, dataclasses.replace(LATE, after=(Predecessor(lax),)), deadline_s=0.06)
    early = submit(engine, LATE, batch=1, deadline_s=1e6)
    run(engine)
    record = ended(store, strict)
    assert (record.state, record.cause) == (JobState.FAILED, "deadline-passed")
    assert record.detail == "it had not ended at its deadline, 0.05 s of board time"
    assert 0.05 <= (record.ended_s or 0.0) <= 0.15  # an item that runs is stopped first
    assert ended(store, lax).state is JobState.SUCCEEDED
    assert (ended(store, lax).ended_s or 0.0) > 0.05
    assert (ended(store, waiting).cause, ended(store, waiting).started_s) == ("deadline-passed", None)
    assert ended(store, early).state is JobState.SUCCEEDED
    assert not engine.board.state().buffers


def test_a_late_job_is_late_after_a_restart_too(tmp_path: Path) -> None:
    path, board = tmp_path / "eddy.sqlite3", model_board(slow=10)
    store = Store(path)
    engine = engine_of(store, board)
    number = submit(engine, LATE, deadline_s=0.05)
    for _ in range(3):
        engine.step()
    store.close()
    store = Store(path)
    engine = engine_of(store, board)
    run(engine)
    assert ended(store, number).cause == "deadline-passed"
    store.close()
