# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Lists of jobs: what is in them, in which order, and that the hundredth page costs what the first does."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import random
import sqlite3
from pathlib import Path

import pytest
from eddy.core.jobs import JobState
from eddy.core.records import JobRecord, JobRequest
from eddy.core.submission_options import SubmissionOptions
from eddy.store import Store
from eddy.store.db.data_migrations import _of_record
from eddy.store.db.rows import Commit, dump_record, microseconds
from eddy.store.job_tables.listing import JobFilter, ListOrder, page_query

TENANTS, APPLICATIONS, RUNS = ("a", "b"), ("one", "two"), ("x", "y", "z")


def filled(jobs: int = 120) -> tuple[Store, list[JobRecord]]:
    """A store with jobs of every sort, some of which have ended, and their records, newest first."""
    store, dice, found = Store(":memory:"), random.Random(7), []
    for number in range(jobs):
        labels = {"run": dice.choice(RUNS), **({"odd": str(number)} if number % 2 else {})}
        request = JobRequest(dice.choice(TENANTS), dice.choice(APPLICATIONS), asked=SubmissionOptions(labels=labels))
        record, _ = store.submissions.add_job(request, 0.0)
        if number % 3 == 0:
            state = dice.choice((JobState.SUCCEEDED, JobState.FAILED))
            record = _with(record, state=state, ended_s=dice.random() * 100)
            store.commit(Commit(jobs=((record, {}),)))
        found.append(record)
    return store, sorted(found, key=lambda record: (record.submitted_unix_s, record.id), reverse=True)


def _with(record: JobRecord, **changes: object) -> JobRecord:
    return dataclasses.replace(record, **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def store() -> Store:
    """An empty one: what SQLite plans does not depend on what is in it."""
    return Store(":memory:")


def all_pages(store: Store, wanted: JobFilter, size: int) -> list[int]:
    found, after = list[int](), None
    while True:
        page = store.lists.find_page(wanted, size, after)
        found += [record.id for record in page.records]
        after = page.following
        if after is None:
            return found


def fits(record: JobRecord, wanted: JobFilter) -> bool:
    submitted_us = microseconds(record.submitted_unix_s)
    return (
        wanted.tenant in (None, record.tenant)
        and wanted.state in (None, record.state)
        and all(name == record.application for name in wanted.applications)
        and all(record.asked.labels.get(name) == value for name, value in wanted.labels)
        and (wanted.from_us is None or submitted_us >= wanted.from_us)
        and (wanted.before_us is None or submitted_us < wanted.before_us)
        and (wanted.order is not ListOrder.ENDED or record.ended_s is not None)
    )


def in_order(records: list[JobRecord], order: ListOrder) -> list[int]:
    """The same by other means: sorted in Python."""
    if order is ListOrder.ENDED:
        records = sorted(records, key=lambda record: (microseconds(record.ended_s or 0.0), record.id), reverse=True)
    return [record.id for record in (reversed(records) if order is ListOrder.OLDEST else records)]


def test_every_mixture_of_filters_has_the_jobs_that_fit_in_pages_of_any_size() -> None:
    store, records = filled()
    dice = random.Random(11)
    middle_us = microseconds(records[60].submitted_unix_s)
    for _ in range(150):
        wanted = JobFilter(
            tenant=dice.choice((None, *TENANTS)),
            state=dice.choice((None, JobState.QUEUED, JobState.FAILED)),
            applications=dice.choice(((), ("one",), ("one", "two"))),
            labels=dice.choice(((), (("run", "x"),), (("run", "y"), ("odd", "33")), (("run", "x"), ("run", "y")))),
            from_us=dice.choice((None, middle_us)),
            before_us=dice.choice((None, middle_us)),
            order=dice.choice(tuple(ListOrder)),
        )
        fitting = [record for record in records if fits(record, wanted)]
        assert all_pages(store, wanted, dice.choice((1, 7, 50))) == in_order(fitting, wanted.order), wanted


@pytest.mark.parametrize("order", ListOrder)
@pytest.mark.parametrize(
    "wanted",
    [
        JobFilter(),
        JobFilter(state=JobState.FAILED),
        JobFilter(applications=("one",)),
        JobFilter(labels=(("run", "x"),)),
        JobFilter(tenant="a"),
        JobFilter(tenant="a", state=JobState.FAILED),
        JobFilter(tenant="a", applications=("one",)),
        JobFilter(tenant="a", labels=(("run", "x"),)),
        JobFilter(tenant="a", from_us=5, before_us=9),
    ],
)
def test_no_page_sorts_or_walks_through_what_came_before_it(store: Store, wanted: JobFilter, order: ListOrder) -> None:
    plans = []
    for after in (None, (5, 5)):
        query, values = page_query(_ordered(wanted, order), after, 50)
        plan = [row["detail"] for row in store.database.rows(f"EXPLAIN QUERY PLAN {query}", *values)]
        assert not [step for step in plan if "TEMP B-TREE" in step], plan
        plans.append(plan)
    assert all("SEARCH" in plan[0] for plan in plans[1:]), plans


def _ordered(wanted: JobFilter, order: ListOrder) -> JobFilter:
    return dataclasses.replace(wanted, order=order)


def test_a_tenants_page_walks_only_what_is_the_tenants(store: Store) -> None:
    """What others have of the same label takes none of one's time."""
    query, values = page_query(JobFilter(tenant="a", labels=(("run", "x"),)), None, 50)
    (first, *_) = [row["detail"] for row in store.database.rows(f"EXPLAIN QUERY PLAN {query}", *values)]
    assert "tenant=?" in first


def test_older_stores_are_listed_alike_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "eddy.sqlite3"
    store = Store(path)
    kept = [store.submissions.add_job(JobRequest("a", "one"), 0.0)[0] for _ in range(4)]
    ended = _with(kept[1], state=JobState.FAILED, ended_s=2.5)
    store.commit(Commit(jobs=((ended, {}),)))
    expected = [JobFilter(), JobFilter("a", applications=("one",)), JobFilter(order=ListOrder.ENDED)]
    before = [store.lists.find_page(wanted) for wanted in expected]
    assert before[2].records == (ended,)
    store.close()
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript("UPDATE job SET submitted_us = 0, application = '', ended_us = NULL")
        rows = db.execute("SELECT id, record, final FROM job").fetchall()
        filled_in = [(*_of_record(record, bool(final)), number) for number, record, final in rows]
        db.executemany("UPDATE job SET submitted_us = ?, application = ?, ended_us = ? WHERE id = ?", filled_in)
        db.commit()
    assert [Store(path).lists.find_page(wanted) for wanted in expected] == before


def test_a_record_that_cannot_be_read_does_not_stop_a_migration() -> None:
    assert _of_record("{", True) == (0, "", 0)
    assert _of_record(None, False) == (0, "", None)
    assert _of_record(json.dumps({"submitted_unix_s": "x", "application": "a"}), False) == (0, "", None)


def test_labels_survive_the_file_and_a_request_without_them_is_written_as_before(tmp_path: Path) -> None:
    path = tmp_path / "eddy.sqlite3"
    store = Store(path)
    asked = SubmissionOptions(labels={"run": "7", "what": ""})
    record, _ = store.submissions.add_job(JobRequest("a", "app", asked=asked), 0.0)
    plain, _ = store.submissions.add_job(JobRequest("a", "app"), 0.0)
    store.close()
    again = Store(path)
    assert again.jobs.get("a", record.id).asked == asked == again.jobs.request("a", record.id).asked
    assert "asked" not in json.loads(dump_record(plain))


@pytest.mark.parametrize("whose", [None, "a"])
def test_a_feed_walks_only_what_is_the_tenants(
    store: Store, whose: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How much happens to others shows in no time of an answer."""
    plans, rows = [], store.database.rows

    def explained(query: str, *values: object) -> list[sqlite3.Row]:
        plans.append([row["detail"] for row in rows(f"EXPLAIN QUERY PLAN {query}", *values)])
        return rows(query, *values)

    monkeypatch.setattr(store.database, "rows", explained)
    store.events.list_events(whose, None, 7)
    store.events.before_last(whose, 5)
    assert not [step for plan in plans for step in plan if "TEMP B-TREE" in step], plans
    store.events.latest_in_slots(whose, 5)  # puts those few into their order
    assert len(plans) == 3
    for plan in plans:
        if whose is not None:
            assert [step for step in plan if "event_by_tenant (tenant=?" in step], plan
