# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The store: what is durable, whose it is, and what it refuses; what the board did, minute by minute."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from eddy.core.errors import Conflict, InvalidRequest, NotFound, QuotaExceeded
from eddy.core.jobs import TRANSITIONS, JobState
from eddy.core.records import APPLICATION, KERNEL, JobEvent, JobEventKind, JobRecord, JobRequest
from eddy.core.tenants import Quota, TenantRecord
from eddy.store import Store
from eddy.store.board_tables.samples import KEPT_S, TENANTS, Sample, mean_of, thin_out
from eddy.store.db.rows import Commit, ItemOutput, dump_request, load_request
from eddy.store.db.schema import MIGRATIONS, SchemaTooNew
from eddy.store.job_tables.jobs import state_before


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "eddy.sqlite"


@pytest.fixture
def store(path: Path) -> Store:
    return Store(path)


def ask(tenant: str = "a", key: str = "", batch: int = 2) -> JobRequest:
    return JobRequest(tenant, "app", batch, {"in": ("00" * 32,)}, idempotency_key=key)


def put(store: Store, data: bytes, tenant: str = "a") -> str:
    sha256 = hashlib.sha256(data).hexdigest()
    store.blobs.put(tenant, sha256, data)
    return sha256


def test_a_submission_survives_the_process(store: Store, path: Path) -> None:
    record, new = store.submissions.add_job(ask(), 1.5)
    assert new
    again = Store(path)
    assert again.jobs.get("a", record.id) == record
    assert again.jobs.request("a", record.id) == ask()
    (found,) = again.jobs.unfinished()
    assert (found.record, found.request, found.cancel, found.snapshot) == (record, ask(), False, {})
    assert [event.what for event in again.events.list_events("a", record.id)] == [JobEventKind.SUBMITTED]


def test_a_key_names_one_job_even_for_threads_that_race(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: store.submissions.add_job(ask(key="k"), 0.0), range(16)))
    assert len({record.id for record, _ in answers}) == 1
    assert sum(new for _, new in answers) == 1
    with pytest.raises(Conflict, match="another request"):
        store.submissions.add_job(ask(key="k", batch=3), 0.0)


def test_tenants_do_not_see_each_other(store: Store) -> None:
    record, _ = store.submissions.add_job(ask(), 0.0)
    sha256 = put(store, b"secret")
    for call in (store.jobs.get, store.jobs.request, store.jobs.request_cancel):
        with pytest.raises(NotFound):
            call("b", record.id)
    with pytest.raises(NotFound):
        store.events.list_events("b", record.id)
    with pytest.raises(NotFound):
        store.outputs.read("b", record.id, "out")
    with pytest.raises(NotFound):
        store.blobs.get("b", sha256)
    assert not store.blobs.has("b", sha256)
    assert store.lists.page("b") == ()


def test_jobs_come_newest_first_in_pages(store: Store) -> None:
    ids = [store.submissions.add_job(ask(), 0.0)[0].id for _ in range(5)]
    first = store.lists.page("a", limit=2)
    second = store.lists.page("a", limit=2, after=first[-1].id)
    assert [record.id for record in first + second] == sorted(ids, reverse=True)[:4]
    assert store.lists.page("a", state=JobState.RUNNING) == ()
    assert len(store.lists.page(None)) == 5


def test_a_commit_is_all_or_nothing(store: Store) -> None:
    record, _ = store.submissions.add_job(ask(), 0.0)
    done = dataclasses.replace(record, state=JobState.SUCCEEDED, items_done=2)
    event = JobEvent(0, record.id, "a", 1.0, JobEventKind.STATE, JobState.SUCCEEDED, detail="d")
    results = tuple(ItemOutput(record.id, "out", item, bytes([item])) for item in (1, 0))
    with pytest.raises(sqlite3.IntegrityError):
        store.commit(Commit(((done, {}),), (event,), (*results, results[0]), {0: {"x": 1}}, {"seen": "4"}))
    assert store.jobs.get("a", record.id).state is JobState.QUEUED
    assert store.meta("seen") == ""
    assert len(store.events.list_events("a", record.id)) == 1
    store.commit(Commit(((done, {"done": [2]}),), (event,), results, {0: {"x": 1}}, {"seen": "4"}))
    assert store.jobs.get("a", record.id) == done
    assert store.jobs.unfinished() == ()
    assert store.outputs.read("a", record.id, "out") == b"\0\1"
    assert store.outputs.names(record.id) == ["out"]
    assert store.slot_snapshots() == {0: {"x": 1}}
    assert store.meta("seen") == "4"
    last = store.events.list_events("a", record.id, after_seq=1)
    assert last == (dataclasses.replace(event, seq=2),)
    with pytest.raises(NotFound, match="it has: out"):
        store.outputs.read("a", record.id, "nope")


def test_what_nobody_was_told_of_need_not_outlive_the_power(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    record, _ = store.submissions.add_job(ask(), 0.0)
    synchronise, seen = os.fdatasync, list[int]()

    def noted(file: int) -> None:
        seen.append(file)
        synchronise(file)

    monkeypatch.setattr(os, "fdatasync", noted)

    def waited_for_the_disk(commit: Commit) -> bool:
        seen.clear()
        store.commit(commit)
        return bool(seen)

    running, ended = (dataclasses.replace(record, state=s) for s in (JobState.RUNNING, JobState.FAILED))
    assert not waited_for_the_disk(Commit(((running, {}),), (JobEvent(0, 1, "a", 1.0, JobEventKind.WAIT),)))
    assert waited_for_the_disk(Commit(((running, {}),), results=(ItemOutput(record.id, "out", 0, b"x"),)))
    assert waited_for_the_disk(Commit(((ended, {}),)))
    seen.clear()
    store.submissions.add_job(ask(), 2.0)
    assert seen, "a submission is durable, whatever was committed before"


def test_outputs_come_when_all_items_are_done(store: Store) -> None:
    record, _ = store.submissions.add_job(ask(), 0.0)
    with pytest.raises(Conflict, match="0 of 2 items"):
        store.outputs.read("a", record.id, "out")


def test_cancelling(store: Store) -> None:
    record, _ = store.submissions.add_job(ask(), 0.0)
    store.jobs.request_cancel("a", record.id)
    assert store.jobs.unfinished()[0].cancel
    store.commit(Commit(((dataclasses.replace(record, state=JobState.FAILED), {}),)))
    with pytest.raises(Conflict, match="failed already"):
        store.jobs.request_cancel("a", record.id)


def test_blobs_are_checked_and_bounded(path: Path) -> None:
    store = Store(path, Quota(max_blob_bytes=10))
    sha256 = put(store, b"12345678")
    assert store.blobs.put("a", sha256, b"12345678") is False
    assert (store.blobs.get("a", sha256), store.blobs.size_bytes("a", sha256)) == (b"12345678", 8)
    with pytest.raises(InvalidRequest, match="have the sha256"):
        store.blobs.put("a", sha256, b"other")
    with pytest.raises(QuotaExceeded):
        put(store, b"abc")
    put(store, b"abc", tenant="b")
    store.blobs.drop("a", sha256)
    put(store, b"abc")
    with pytest.raises(NotFound):
        store.blobs.drop("a", sha256)


def test_a_blob_that_a_job_needs_is_not_dropped(store: Store) -> None:
    sha256 = put(store, b"x")
    record, _ = store.submissions.add_job(JobRequest("a", "app", 1, {"in": (sha256,)}), 0.0)
    with pytest.raises(Conflict, match=f"job {store.numbers.job.public_id(record.id)} still needs"):
        store.blobs.drop("a", sha256)
    store.commit(Commit(((dataclasses.replace(record, state=JobState.CANCELLED), {}),)))
    store.blobs.drop("a", sha256)


def test_job_quota_counts_what_has_not_ended(store: Store) -> None:
    store.tenants.put(TenantRecord("a", quota=Quota(max_jobs=1)))
    record, _ = store.submissions.add_job(ask(), 0.0)
    with pytest.raises(QuotaExceeded):
        store.submissions.add_job(ask(), 0.0)
    store.commit(Commit(((dataclasses.replace(record, state=JobState.FAILED), {}),)))
    store.submissions.add_job(ask(), 0.0)


def test_tenants_are_found_by_name_and_key(store: Store) -> None:
    tenant = TenantRecord("a", "f00d", True, Quota(3, 4), {"plan": "gold"})
    store.tenants.put(tenant)
    store.tenants.put(TenantRecord("b"))
    assert store.tenants.get("a") == store.tenants.by_key("f00d") == tenant
    assert [t.id for t in store.tenants.all()] == ["a", "b"]
    assert store.tenants.by_key("") is None
    assert store.tenants.quota("c") == Quota()
    with pytest.raises(NotFound):
        store.tenants.get("c")


def test_a_newer_schema_is_left_alone(store: Store, path: Path) -> None:
    store.close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(SchemaTooNew, match="upgrade Eddy"):
        Store(path)


COMMON = '"application": "app", "batch": 1'
REST = '"constants": {}, "deadline_s": null, "inputs": {}'


@pytest.mark.parametrize(
    ("kind", "body", "written"),
    [
        (APPLICATION, None, f'{{{COMMON}, {REST}, "priority": 1, "tenant": "a"}}'),
        (KERNEL, {"x": 1}, f'{{{COMMON}, {REST}, "kernel": {{"x": 1}}, "priority": 1, "tenant": "a"}}'),
        (
            "echo",
            {"x": 1},
            f'{{{COMMON}, "body": {{"x": 1}}, {REST}, "other_kind": "echo", "priority": 1, "tenant": "a"}}',
        ),
        ("bare", None, f'{{{COMMON}, {REST}, "other_kind": "bare", "priority": 1, "tenant": "a"}}'),
    ],
)
def test_a_request_of_any_kind_is_written_as_before_and_read_again(
    kind: str, body: dict[str, int] | None, written: str
) -> None:
    request = JobRequest("a", "app", kind=kind, body=body)
    assert dump_request(request) == written
    assert load_request(written) == request


@pytest.mark.parametrize("state", JobState)
def test_a_record_fails_where_the_table_lets_the_job_fail(state: JobState) -> None:
    record = JobRecord(1, "a", "x", 1, 1, state, 5.0, 0.0)
    if JobState.FAILED not in TRANSITIONS[state]:
        with pytest.raises(ValueError, match=f"{state.value} cannot fail"):
            record.failed(2.0, "cause", "why")
        return
    failed = record.failed(2.0, "cause", "why")
    assert (failed.state, failed.ended_s, failed.cause, failed.detail) == (JobState.FAILED, 2.0, "cause", "why")
    assert record.state is state


@pytest.mark.parametrize(
    ("written", "state"),
    [(b"running", JobState.RUNNING), (b"succeeded", JobState.QUEUED), (b"\xff", JobState.QUEUED)],
)
def test_a_job_whose_row_is_damaged_had_not_ended(written: bytes, state: JobState) -> None:
    assert state_before(written) is state


BEGIN = 1_767_225_600


def sample(minute: int, **more: object) -> Sample:
    found = Sample(BEGIN + 60 * minute, 4, float(minute % 5), 2.0, float(minute), 3, 1, {"0": 0.5})
    return dataclasses.replace(found, **more)  # type: ignore[arg-type]


def test_a_mean_adds_up_what_ended_and_keeps_the_highest_temperature() -> None:
    found = mean_of([sample(0, celsius=40.0), sample(1, celsius=52.5, prices={"0": 1.5, "1": 7.0}), sample(2)])
    assert (found.unix_s, found.busy, found.waiting) == (BEGIN + 120, 1.0, 1.0)
    assert (found.ended, found.failed, found.celsius) == (9, 3, 52.5)
    assert found.prices == {"0": 2.5 / 3}, "of slots that are there now"


def test_a_mean_of_shares_is_over_all_the_time_and_of_the_largest() -> None:
    found = mean_of(
        [sample(0, shares={"ada": 1.5, "grace": 0.5}), sample(1, shares={"ada": 0.5}), sample(2), sample(3)]
    )
    assert found.shares == {"ada": 0.5, "grace": 0.125}, "a tenant that had nothing had nothing"
    many = {f"tenant{number}": float(number) for number in range(2 * TENANTS)}
    assert sorted(mean_of([sample(0, shares=many)]).shares.values()) == [float(TENANTS + n) for n in range(TENANTS)]


def test_more_than_asked_for_are_thinned_out_over_equal_times_and_lose_no_job() -> None:
    every = [sample(minute) for minute in range(1000) if not 300 <= minute < 500]
    found = thin_out(every, 50)
    assert len(found) == 40, "nothing is told of times without samples"
    assert sum(each.ended for each in found) == 3 * len(every)
    assert [each.unix_s for each in found] == sorted(each.unix_s for each in found)
    assert thin_out(every[:50], 50) == every[:50]


def test_they_survive_a_restart_and_go_after_a_week(tmp_path: Path) -> None:
    path = tmp_path / "eddy.sqlite3"
    store = Store(path)
    last = BEGIN + KEPT_S
    for each in (sample(0), sample(1), sample(2, unix_s=last, celsius=41.0)):
        store.samples.add(each)
    store.close()
    store = Store(path)
    assert store.samples.since(0) == [sample(0), sample(1), sample(2, unix_s=last, celsius=41.0)]
    assert store.samples.since(BEGIN + 60) == [sample(1), sample(2, unix_s=last, celsius=41.0)]
    store.samples.add(sample(3, unix_s=last + 30))
    assert [each.unix_s for each in store.samples.since(0)] == [BEGIN + 60, last, last + 30]
    store.close()


def test_a_damaged_one_is_passed_over_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "eddy.sqlite3"
    store = Store(path)
    for minute in range(3):
        store.samples.add(sample(minute))
    store.close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE sample SET body = ? WHERE unix_s = ?", ('{"slots": "four"}', BEGIN + 60))
    store = Store(path)
    assert store.samples.since(0) == [sample(0), sample(2)]
    assert store.damage.counts()["sample"] == 1
    store.close()
