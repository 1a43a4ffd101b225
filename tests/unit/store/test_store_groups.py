# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Submissions that wait together: one transaction for all, each decided for itself."""

from __future__ import annotations

import dataclasses
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from eddy.core.errors import Conflict, InvalidRequest, QuotaExceeded
from eddy.core.jobs import JobState
from eddy.core.records import KERNEL, JobRecord, JobRequest, KernelRecord
from eddy.core.tenants import Quota, TenantRecord
from eddy.store import Store
from eddy.store.db import rows
from eddy.store.db.database import Database, WriterLock, insert
from eddy.store.db.rows import Commit
from eddy.store.job_tables.submissions import Submission


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "eddy.sqlite")


def ask(tenant: str = "a", key: str = "", batch: int = 1) -> Submission:
    return Submission(JobRequest(tenant, "app", batch, {"in": ("00" * 32,)}, idempotency_key=key))


def commits(store: Store) -> list[str]:
    """Every COMMIT the store makes from now on."""
    seen: list[str] = []
    store.database._connection.set_trace_callback(lambda text: seen.append(text) if text == "COMMIT" else None)
    return seen


def number(outcome: Any) -> int:
    assert not isinstance(outcome, Exception), outcome
    return int(outcome[0].id)


def test_a_group_is_one_transaction_and_its_ids_are_in_order(store: Store) -> None:
    seen = commits(store)
    outcomes = store.submissions.add_jobs([ask(batch=n) for n in range(1, 9)], 2.0)
    assert len(seen) == 1
    assert [number(each) for each in outcomes] == list(range(1, 9))
    assert [store.jobs.get("a", n).batch for n in range(1, 9)] == list(range(1, 9))
    assert number(store.submissions.add_job(ask().request, 3.0)) == 9


def test_a_refused_one_harms_no_other(store: Store) -> None:
    store.tenants.put(TenantRecord("small", quota=Quota(max_jobs=2)))

    def check(submission: Submission) -> Submission:
        if submission.request.batch == 7:
            raise InvalidRequest("no sevens", field="batch")
        if submission.request.batch == 8:
            raise RuntimeError("nobody foresaw this")
        return submission

    wanted = [ask(), ask(batch=7), ask("small"), ask("small"), ask("small"), ask(batch=8), ask("b")]
    outcomes = store.submissions.add_jobs(wanted, 0.0, check)
    assert [type(each) for each in outcomes] == [
        tuple, InvalidRequest, tuple, tuple, QuotaExceeded, RuntimeError, tuple,
    ]  # fmt: skip
    assert [number(each) for each in outcomes if isinstance(each, tuple)] == [1, 2, 3, 4]
    assert [record.id for record in store.lists.page(None)] == [4, 3, 2, 1]
    assert len(store.events.list_events(None, None)) == 4


def test_one_that_cannot_be_written_harms_no_other(store: Store) -> None:
    unfit = Submission(JobRequest("a", "app"), KERNEL, kernel=KernelRecord("k", "m", 1, 1), program="\ud800")
    outcomes = store.submissions.add_jobs([ask(), unfit, ask()], 0.0)
    assert isinstance(outcomes[1], UnicodeEncodeError)
    assert [number(each) for each in (outcomes[0], outcomes[2])] == [1, 2]


def test_equal_keys_in_one_group_name_one_job(store: Store) -> None:
    first = store.submissions.add_job(ask(key="old").request, 0.0)[0]
    outcomes = store.submissions.add_jobs([ask(key="k"), ask(key="k"), ask(key="k", batch=2), ask(key="old")], 0.0)
    assert [number(outcomes[n]) for n in (0, 1, 3)] == [2, 2, first.id]
    assert [each[1] for each in outcomes if isinstance(each, tuple)] == [True, False, False]
    assert isinstance(outcomes[2], Conflict)


def test_keys_are_looked_up_however_many(store: Store) -> None:
    store.tenants.put(TenantRecord("a", quota=Quota(max_jobs=1000)))
    wanted = [ask(key=f"k{n}") for n in range(900)]
    assert {number(each) for each in store.submissions.add_jobs(wanted, 0.0)} == set(range(1, 901))
    assert [number(each) for each in store.submissions.add_jobs(wanted, 0.0)] == list(range(1, 901))


def test_jobs_that_have_not_ended_are_told_without_reading_records(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [store.submissions.add_job(ask(tenant).request, 0.0)[0] for tenant in "aab"]
    running = dataclasses.replace(records[0], state=JobState.RUNNING)
    ended = dataclasses.replace(records[1], state=JobState.FAILED)
    store.commit(Commit(((running, {}), (ended, {}))))
    monkeypatch.setattr(rows, "load_record", lambda text: pytest.fail("a record was parsed"))
    assert {k: n for k, n in store.jobs.unfinished_by_state().items() if n} == {"running": 1, "queued": 1}


def test_a_restarted_store_knows_how_many_have_not_ended(tmp_path: Path, store: Store) -> None:
    store.tenants.put(TenantRecord("a", quota=Quota(max_jobs=2)))
    record = number(store.submissions.add_jobs([ask(), ask()], 0.0)[0])
    store.close()
    again = Store(tmp_path / "eddy.sqlite")
    with pytest.raises(QuotaExceeded):
        again.submissions.checks.check_quota("a", 0)
    again.commit(Commit(((dataclasses.replace(again.jobs.get("a", record), state=JobState.CANCELLED), {}),)))
    again.submissions.checks.check_quota("a", 0)
    assert number(again.submissions.add_job(ask().request, 0.0)) == 3


def test_a_commit_that_fails_changes_no_count(store: Store) -> None:
    record = store.submissions.add_job(ask().request, 0.0)[0]
    ended = dataclasses.replace(record, state=JobState.FAILED)
    with pytest.raises(TypeError):
        store.commit(Commit(((ended, {"unfit": object()}),)))
    assert store.jobs.unfinished_by_state()["queued"] == 1


def test_reading_does_not_wait_for_a_transaction(tmp_path: Path) -> None:
    store = Store(tmp_path / "eddy.sqlite")
    record = store.submissions.add_job(ask().request, 0.0)[0]
    found: list[JobRecord] = []
    with store.database.transaction() as db:
        db.execute("DELETE FROM event")
        reader = threading.Thread(target=lambda: found.append(store.jobs.get("a", record.id)))
        reader.start()
        reader.join(180)
        assert found == [record]
        assert store.events.list_events("a", record.id) == ()
    assert store.events.list_events("a", record.id) == ()


def test_turns_are_given_in_the_order_they_were_asked_for() -> None:
    turns, order = WriterLock(), list[int]()

    def take(number: int) -> None:
        with turns:
            order.append(number)

    threads = [threading.Thread(target=take, args=(number,)) for number in range(8)]
    with turns:
        for waiting, thread in enumerate(threads):
            thread.start()
            while len(turns._waiting) <= waiting:
                time.sleep(0.001)
        assert turns.is_owner
    for thread in threads:
        thread.join()
    assert order == list(range(8))
    assert not turns.is_owner


def test_rows_are_inserted_whatever_their_number(tmp_path: Path) -> None:
    db = Database(tmp_path / "x.sqlite")
    wanted = [(f"k{number}", str(number)) for number in range(1234)]
    with db.transaction() as connection:
        insert(connection, "INSERT INTO meta (key, value)", wanted)
        insert(connection, "INSERT INTO meta (key, value)", [])
    assert sorted((row["key"], row["value"]) for row in db.rows("SELECT * FROM meta")) == sorted(wanted)
    with pytest.raises(sqlite3.IntegrityError), db.transaction() as connection:
        insert(connection, "INSERT INTO meta (key, value)", [("new", ""), wanted[0]])
    assert len(db.rows("SELECT * FROM meta")) == 1234


def test_keys_are_looked_up_and_not_searched_for(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a submission takes does not grow with the keys that were ever used."""
    for number in range(5):
        store.submissions.add_job(ask(key=f"k{number}").request, 0.0)
    plans, fresh = [], store.database.fresh_rows

    def explained(query: str, *values: object) -> list[sqlite3.Row]:
        plans.append([row["detail"] for row in fresh(f"EXPLAIN QUERY PLAN {query}", *values)])
        return fresh(query, *values)

    monkeypatch.setattr(store.database, "fresh_rows", explained)
    found = store.submissions.keys.find_jobs([ask(key=key).request for key in ("k1", "k3", "other")])
    assert sorted(key for _, key in found) == ["k1", "k3"]
    assert not [step for plan in plans for step in plan if step.startswith("SCAN idempotency")], plans
    assert [step for step in plans[0] if "SEARCH idempotency USING PRIMARY KEY (tenant=? AND key=?)" in step], plans


def test_of_an_array_too_what_is_checked_is_kept(store: Store) -> None:
    def check(submission: Submission) -> Submission:
        return dataclasses.replace(submission, program="compiled")

    records, new = store.arrays.write([Submission(JobRequest("a", "app"))] * 2, 0.0, check)
    assert new
    assert [store.jobs.program(record.id) for record in records] == ["compiled"] * 2
