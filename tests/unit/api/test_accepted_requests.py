# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What was accepted takes effect, or is answered for: requests come between any two writes of the engine, and at a
restart. Those of pools change records from the revision that was read (`test_pool_records.py`)."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from eddy.api.access.keys import KeyHasher
from eddy.api.access.operator_account import OPERATOR, ensure_operator
from eddy.api.answers.rendering import cancellation_answer
from eddy.core.errors import Conflict
from eddy.core.jobs import JobState
from eddy.core.records import JobRecord
from eddy.core.slots import Pool
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.jobs.slot import DRAINED
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy.store.db.rows import Commit
from eddy.store.job_tables.listing import JobFilter
from eddy.store.upkeep.folder import DataFolder
from hypervisor_kit import CHAIN, MODULES, TENANT, model_board, request

MAX_COMMITS = 60
"""More than the jobs of a test cause."""


class InterveningStore(Store):
    """A store in which something happens right before, or right after, a step's commit."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.commits = 0
        self.at, self.after = -1, False
        self.happens: Callable[[], None] = lambda: None

    def commit(self, commit: Commit, wait: bool = True) -> None:
        now = self.commits == self.at
        self.commits += 1
        if now and not self.after:
            self.happens()
        super().commit(commit, wait)
        if now and self.after:
            self.happens()


@pytest.fixture
def store() -> Iterator[InterveningStore]:
    made = InterveningStore()
    yield made
    made.close()


def engine_over(store: Store, board: Any) -> Engine:
    made = Engine(board, POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES)
    made.start()
    return made


def run(engine: Engine) -> None:
    while not engine.is_idle:
        engine.step()


def everywhere(store: Store, job: int) -> list[JobRecord]:
    """A job by each way it is read."""
    place = store.jobs.get(TENANT, job).asked.array
    found = [
        store.jobs.get(TENANT, job),
        store.lists.page(TENANT)[0],
        store.lists.find_page(JobFilter(TENANT)).records[0],
    ]
    found += [record for record in store.jobs.under_way(TENANT, 9) if record.id == job]
    return found + ([] if place is None else [r for r in store.arrays.get(TENANT, place.id) if r.id == job])


def answered(store: Store, job: int, asked_unix_s: float | None) -> None:
    """A job says of a request for its end whatever there is to say."""
    assert asked_unix_s is not None
    for record in everywhere(store, job):
        said = cancellation_answer(record)
        assert said is not None, f"{record.state} and nothing of the request"
        assert said.asked_unix_s == asked_unix_s
        too_late = record.state.is_final and record.state is not JobState.CANCELLED
        wanted = "too-late" if too_late else "cancelled" if record.state.is_final else "pending"
        assert said.outcome == wanted
        assert (said.effective_unix_s is not None) == (wanted == "cancelled")


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("dies", [False, True])
def test_a_cancellation_that_was_accepted_is_in_force_or_came_too_late(after: bool, dies: bool) -> None:
    outcomes = []
    for at in range(MAX_COMMITS):
        store, board = InterveningStore(), model_board()
        engine = engine_over(store, board)
        job = engine.intake.accept(request(store, batch=1)).id
        accepted: list[float | None] = []

        def cancel(
            store: Store = store, engine: Engine = engine, job: int = job, accepted: list[float | None] = accepted
        ) -> None:
            try:
                accepted.append(engine.intake.cancel(TENANT, job).cancel_asked_unix_s)
            except Conflict:
                return
            answered(store, job, accepted[0])

        store.at, store.after, store.happens = at, after, cancel
        run(engine)
        if dies:
            engine = engine_over(store, board)
            run(engine)
        if accepted:
            answered(store, job, accepted[0])
        record = store.jobs.get(TENANT, job)
        assert record.state in (JobState.SUCCEEDED, JobState.CANCELLED)
        outcomes.append((bool(accepted), record.state))
        ended = at >= store.commits
        store.close()
        if ended:
            break
    else:
        pytest.fail("more commits than were counted on")
    assert (True, JobState.CANCELLED) in outcomes
    assert after or (True, JobState.SUCCEEDED) in outcomes, "between the last item's end and its commit"


@pytest.mark.parametrize("after", [False, True])
def test_the_same_of_an_array(after: bool) -> None:
    late = 0
    for at in range(MAX_COMMITS):
        store, board = InterveningStore(), model_board()
        engine = engine_over(store, board)
        wanted = [request(store, batch=1, salt=salt) for salt in range(2)]
        jobs = [record.id for record in engine.intake.accept_array(wanted, [None, None])]
        left: list[int] = []

        def cancel(
            store: Store = store, engine: Engine = engine, jobs: list[int] = jobs, left: list[int] = left
        ) -> None:
            place = store.jobs.get(TENANT, jobs[0]).asked.array
            assert place is not None
            before = {record.id for record in store.arrays.get(TENANT, place.id) if not record.state.is_final}
            try:
                engine.intake.cancel_array(TENANT, place.id)
            except Conflict:
                assert not before
                return
            left.extend(before)

        store.at, store.after, store.happens = at, after, cancel
        run(engine)
        for job in left:
            record = store.jobs.get(TENANT, job)
            answered(store, job, record.cancel_asked_unix_s)
            late += record.state is JobState.SUCCEEDED
        ended = at >= store.commits
        store.close()
        if ended:
            break
    assert after or late > 0


@pytest.mark.parametrize("point", ["decided", "writing", "written"])
@pytest.mark.parametrize("last", ["", "for a look"])
def test_what_the_operator_said_last_of_a_slot_holds_over_a_restart(point: str, last: str) -> None:
    """A first request is in the step under way when the second comes; the server dies right behind that step."""
    store, board = InterveningStore(), model_board()
    engine = engine_over(store, board)
    engine.intake.accept(request(store, batch=1))
    engine.intake.drain(0, last)
    engine.step()
    engine.intake.drain(0, "" if last else "for another look")
    second = threading.Thread(target=engine.intake.drain, args=(0, last))

    def come() -> None:
        second.start()
        second.join(0.2)  # where it is held back while the commit is written, it comes right behind that

    decide = engine.machine.step

    def decided(*arguments: Any) -> Any:
        outcome = decide(*arguments)
        if outcome.drained and point == "decided" and second.ident is None:
            come()
        return outcome

    engine.machine.step = decided  # type: ignore[method-assign,assignment]
    if point != "decided":
        store.at, store.after, store.happens = store.commits, point == "written", come
    engine.step()
    second.join()
    assert engine.intake.drained.get(0, "") == last, "what is shown"
    assert store.meta(DRAINED.format(0)) == last
    again = engine_over(store, board)
    assert again.machine.slots[0].drained == last
    assert again.intake.drained.get(0, "") == last
    store.close()


@pytest.mark.parametrize("price", [False, True])
def test_of_two_policies_the_one_in_force_is_the_one_that_is_remembered(store: InterveningStore, price: bool) -> None:
    engine = engine_over(store, model_board())
    inner, second = store.remember, list[threading.Thread]()

    def switch(name: str) -> None:
        if price:
            engine.intake.switch_price(cast(Any, SimpleNamespace(name=name)), ("price.live", name))
        else:
            engine.intake.switch(Pool.PIPELINE, POLICIES[name](), ("policy.live", name))

    def remember(*arguments: Any, **named: Any) -> None:
        inner(*arguments, **named)
        if not second:
            second.append(threading.Thread(target=switch, args=("nimblock",)))
            second[0].start()
            second[0].join(0.2)  # it would be through by then, if nothing held it back

    store.remember = remember  # type: ignore[method-assign]
    switch("prema")
    second[0].join()
    now = engine.intake.price if price else engine.intake.policies[Pool.PIPELINE]
    assert now is not None
    assert store.meta("price.live" if price else "policy.live") == now.name == "nimblock"


def test_a_new_key_leaves_the_operator_the_bounds_it_was_given(store: InterveningStore, tmp_path: Path) -> None:
    hasher, data = KeyHasher(bytes(32)), DataFolder(tmp_path)
    assert ensure_operator(store, hasher, data)
    operator = store.tenants.get(OPERATOR)
    changed = dataclasses.replace(
        operator, quota=dataclasses.replace(operator.quota, max_jobs=7), attributes={"weight": 3.0}
    )
    store.tenants.put(changed)
    data.key.write_text("")
    assert ensure_operator(store, hasher, data)
    known = store.tenants.get(OPERATOR)
    assert (known.quota, known.attributes) == (changed.quota, changed.attributes)
    assert known.key_hash != operator.key_hash
