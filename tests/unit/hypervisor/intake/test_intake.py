# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What comes in while the engine recovers is told once; nobody who is let in waits for the disk of another;
who waits together is committed together."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from eddy.board.port.pages import PAGE
from eddy.core.errors import InvalidRequest, QuotaExceeded
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind, JobRecord
from eddy.core.slots import Pool
from eddy.core.submission_options import Predecessor, SubmissionOptions
from eddy.core.tenants import Quota, TenantRecord
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.intake import intake
from eddy.hypervisor.intake.intake import SubmissionQueue
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from hypervisor_kit import CHAIN, MODULES, TENANT, model_board, request

WAIT_S = 180.0
Came = Callable[[Engine, dict[str, Any]], JobRecord]


def recover_beside(came: Came) -> tuple[Engine, JobRecord]:
    """An engine that recovers, and the job that came when it had emptied its inbox and not read the store yet."""
    store, board, applications = Store(":memory:"), model_board(), {CHAIN.name: CHAIN}
    engine = Engine(board, POLICIES["fcfs"](), store, applications, MODULES)
    engine.start()
    found: list[JobRecord] = []
    describe = board.describe

    def beside() -> Any:
        if not found:
            found.append(came(engine, applications))
        return describe()

    board.describe = beside  # type: ignore[method-assign]
    engine.start()
    while not engine.is_idle:
        engine.step()
    return engine, found[0]


def cancelled(engine: Engine, _: dict[str, Any]) -> JobRecord:
    return engine.intake.cancel(TENANT, engine.intake.accept(request(engine.store)).id)


def follower_of_a_cancelled_one(engine: Engine, _: dict[str, Any]) -> JobRecord:
    first = cancelled(engine, {})
    return engine.intake.accept(
        dataclasses.replace(request(engine.store, salt=1), asked=SubmissionOptions(after=(Predecessor(first.id),)))
    )


def with_a_damaged_blob(engine: Engine, _: dict[str, Any]) -> JobRecord:
    asked = request(engine.store)
    ((sha256,),) = asked.inputs.values()
    record = engine.intake.accept(asked)
    engine.store.blobs.file(TENANT, sha256).path.write_bytes(b"damaged")
    return record


def of_an_application_that_goes(engine: Engine, applications: dict[str, Any]) -> JobRecord:
    record = engine.intake.accept(request(engine.store))
    applications.clear()
    return record


@pytest.mark.parametrize(
    ("came", "state", "cause"),
    [
        (cancelled, JobState.CANCELLED, ""),
        (follower_of_a_cancelled_one, JobState.FAILED, "dependency-failed"),
        (with_a_damaged_blob, JobState.FAILED, "file-damaged"),
        (of_an_application_that_goes, JobState.FAILED, "application-gone"),
        (lambda engine, _: engine.intake.accept(request(engine.store)), JobState.SUCCEEDED, ""),
    ],
    ids=["cancelled", "follower", "damaged", "gone", "plain"],
)
def test_a_job_that_comes_while_the_engine_recovers_ends_once(came: Came, state: JobState, cause: str) -> None:
    engine, job = recover_beside(came)
    record = engine.store.jobs.get(TENANT, job.id)
    assert (record.state, record.cause) == (state, cause)
    assert engine.store.happened.faults["damaged-file"] == (cause == "file-damaged")
    log = engine.store.events.list_events(TENANT, job.id)
    ends = [event.state for event in log if event.what is JobEventKind.STATE and event.state and event.state.is_final]
    assert ends == [state]
    assert (engine.intake.work, engine.intake.accepted) == ({}, {})


def test_a_slot_that_is_drained_while_the_engine_recovers_is_shown_so_at_once() -> None:
    store, board = Store(":memory:"), model_board()
    engine = Engine(board, POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES)
    engine.start()
    engine.intake.drain(1, "a new fan")
    engine.intake.add_recovered((), {}, {0: "quarantined: loads fail"})
    assert engine.intake.drained == {0: "quarantined: loads fail", 1: "a new fan"}
    engine.intake.drain(0, "")
    engine.intake.add_recovered((), {}, {0: "quarantined: loads fail"})
    assert engine.intake.drained == {1: "a new fan"}


@pytest.mark.parametrize("what", ["cancel", "cancel_array", "drain"])
def test_who_waits_for_the_disk_keeps_nobody_out(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "eddy.sqlite3")
    engine = Engine(model_board(), POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES)
    engine.start()
    intake = engine.intake
    job = intake.accept_array([request(store)], [None])[0]
    place = job.asked.array
    assert place is not None
    calls: dict[str, Callable[[], object]] = {
        "cancel": lambda: intake.cancel(TENANT, job.id),
        "cancel_array": lambda: intake.cancel_array(TENANT, place.id),
        "drain": lambda: intake.drain(0, "a new fan"),
    }
    asked, gate, synchronise = threading.Event(), threading.Event(), os.fdatasync

    def slow(file: int) -> None:
        asked.set()
        assert gate.wait(WAIT_S)
        synchronise(file)

    monkeypatch.setattr(os, "fdatasync", slow)
    waits = threading.Thread(target=calls[what])
    other = threading.Thread(target=intake.switch, args=(Pool.PIPELINE, POLICIES["fcfs"]()))
    waits.start()
    try:
        assert asked.wait(WAIT_S)
        other.start()
        other.join(WAIT_S)
        assert not other.is_alive()
        assert waits.is_alive(), "it answers once the disk has it"
    finally:
        gate.set()
        waits.join(WAIT_S)
        other.join(WAIT_S)
    store.close()


def test_an_array_that_is_too_long_says_what_was_asked_for_and_what_there_is() -> None:
    store = Store(":memory:")
    engine = Engine(model_board(), POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES)
    engine.start()
    store.tenants.put(TenantRecord(TENANT, key_hash=TENANT, quota=Quota(max_jobs=4)))
    with pytest.raises(QuotaExceeded) as refused:
        engine.intake.accept_array([request(store)] * 5, [None] * 5)
    said = f"an array of 5 jobs: tenant {TENANT} has 0 jobs that have not ended, and may have 4: submit fewer, wait"
    assert refused.value.message.startswith(said)
    assert refused.value.details == {"limit": 4, "asked": 5}


def test_a_job_that_its_tenant_could_never_hold_is_refused_where_there_are_several() -> None:
    store, board = Store(":memory:"), model_board()
    engine = Engine(board, POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES, memory_part=PAGE / (1 << 40))
    engine.start()
    store.tenants.put(TenantRecord(TENANT, key_hash=TENANT))
    assert engine.intake.accept(request(store)), "it is alone"
    store.tenants.put(TenantRecord("other", key_hash="other"))
    with pytest.raises(InvalidRequest, match="the jobs of one tenant hold at most"):
        engine.intake.accept(request(store, salt=1))


class House:
    """Lets nobody in before it is opened; doubles even numbers and refuses odd ones."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.opened = threading.Event()
        self.done = 0

    def let_in(self, group: Sequence[int]) -> list[int | Exception]:
        self.groups.append(list(group))
        assert self.opened.wait(180)
        if 13 in group:
            raise RuntimeError("the house fell down")
        return [ValueError(str(number)) if number % 2 else 2 * number for number in group]

    def note(self) -> None:
        self.done += 1


async def crowd(house: House, numbers: Sequence[int]) -> list[int | BaseException]:
    queue = SubmissionQueue(house.let_in, house.note)
    tasks = [asyncio.ensure_future(queue.put(number)) for number in numbers]
    while not house.groups:
        await asyncio.sleep(0.001)
    house.opened.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_the_first_waits_for_nobody_and_the_rest_come_in_together() -> None:
    house = House()
    answers = asyncio.run(crowd(house, [0, 2, 3, 4, 6]))
    assert [answer if isinstance(answer, int) else str(answer) for answer in answers] == [0, 4, "3", 8, 12]
    assert [number for group in house.groups for number in group] == [0, 2, 3, 4, 6]
    assert len(house.groups) <= 2
    assert house.done == len(house.groups)


def test_a_group_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "MAX_GROUP", 3)
    house = House()
    assert asyncio.run(crowd(house, range(0, 16, 2))) == list(range(0, 32, 4))
    assert max(map(len, house.groups)) <= 3


def test_an_error_of_the_house_reaches_everyone_of_the_group_and_the_door_goes_on() -> None:
    house = House()

    async def visit() -> tuple[Sequence[int | BaseException], int]:
        queue = SubmissionQueue(house.let_in, house.note)
        house.opened.set()
        both = await asyncio.gather(queue.put(13), queue.put(13), return_exceptions=True)
        return both, await queue.put(2)

    both, after = asyncio.run(visit())
    assert [type(answer) for answer in both] == [RuntimeError, RuntimeError]
    assert after == 4


def test_one_who_leaves_does_not_keep_the_others() -> None:
    house = House()

    async def visit() -> int:
        queue = SubmissionQueue(house.let_in, house.note)
        gone = asyncio.ensure_future(queue.put(2))
        stays = asyncio.ensure_future(queue.put(4))
        while not house.groups:
            await asyncio.sleep(0.001)
        gone.cancel()
        house.opened.set()
        return await stays

    assert asyncio.run(visit()) == 8
