# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs that have ended go by age and by count, whole or not at all, and none that somebody still needs."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path

import pytest
from eddy.core.errors import InvalidRequest, NotFound, UnknownCursor
from eddy.core.jobs import JobState
from eddy.core.submission_options import Condition, Predecessor
from eddy.core.tenants import Quota
from eddy.store import Store
from eddy.store.db.bounds import JobBounds
from eddy.store.job_tables.listing import JobFilter, ListOrder
from eddy.store.job_tables.submissions import Submission
from purge_kit import DATABASE, array, end, ended, ids, killed_at, left_of, request, submit


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / DATABASE


def opened(path: Path) -> Store:
    return Store(path, Quota(max_jobs=1000))


def purged(store: Store, bounds: JobBounds) -> int:
    return sum(store.purge.purge_excess(bounds))


def now_us() -> int:
    return round(time.time() * 1e6)


@pytest.mark.parametrize(
    ("bounds", "ended", "excess"),
    [
        (JobBounds(), {"a": 10_000}, {}),
        (JobBounds(max_jobs_per_tenant=100), {"a": 100, "b": 101}, {"b": 11}),
        (JobBounds(max_jobs=100), {"a": 50, "b": 50}, {}),
        (JobBounds(max_jobs=100), {"a": 1000, "b": 10}, {"a": 920}),
        (JobBounds(max_jobs=100), {"a": 1000, "b": 1000, "c": 30}, {"a": 970, "b": 970}),
        (JobBounds(max_jobs=100), {"a": 1000, "b": 1000, "c": 31}, {"a": 970, "b": 970, "c": 1}),
        (JobBounds(max_jobs=1), {"a": 3}, {"a": 2}),
        (JobBounds(max_jobs=100, max_jobs_per_tenant=60), {"a": 1000, "b": 50}, {"a": 955, "b": 5}),
    ],
)
def test_who_has_most_loses_most(bounds: JobBounds, ended: dict[str, int], excess: dict[str, int]) -> None:
    found = bounds.excess(ended)
    assert found == excess
    left = {tenant: jobs - found.get(tenant, 0) for tenant, jobs in ended.items()}
    assert not bounds.max_jobs or sum(left.values()) <= bounds.max_jobs
    assert not bounds.max_jobs_per_tenant or max(left.values()) <= bounds.max_jobs_per_tenant


def test_jobs_go_by_age_with_all_that_is_theirs(path: Path) -> None:
    store = opened(path)
    old, young = ended(store, "ada", 3, first_ago_s=5000.0), ended(store, "ada", 2, first_ago_s=500.0)
    under_way = submit(store, "ada", color="blue", key="once")
    assert purged(store, JobBounds(max_age_s=1000.0)) == 3
    assert ids(store, "ada") == [*young, under_way.id]
    assert [left_of(path, job) for job in old] == [set()] * 3
    assert left_of(path, young[0]) == {"job", "event", "result", f"{young[0]}.out"}
    assert store.retention.kept_bytes == store.retention.counted_bytes() == 2
    assert store.jobs.tally.count_ended() == {"ada": 2}
    assert store.purge.count_purged() == store.purge.jobs_gone == 3
    assert purged(store, JobBounds(max_age_s=1000.0)) == 0
    with pytest.raises(NotFound, match=r"there is no job .*, or it was removed after its end"):
        store.jobs.get("ada", old[0])
    with pytest.raises(NotFound):
        store.outputs.read("ada", old[0], "out")
    again = opened(path)
    assert again.jobs.tally.count_ended() == {"ada": 2}
    assert again.submissions.next_id() == under_way.id + 1, "no id is given twice"


def test_jobs_go_by_count_those_that_ended_first(path: Path) -> None:
    store = opened(path)
    mine, theirs = ended(store, "ada", 20), ended(store, "grace", 4)
    assert purged(store, JobBounds(max_jobs_per_tenant=10)) == 11
    assert ids(store, "ada") == mine[11:]
    assert purged(store, JobBounds(max_jobs=10)) == 4
    assert (ids(store, "ada"), ids(store, "grace")) == (mine[15:], theirs)


def test_what_has_just_ended_stays_for_who_waits_for_it(path: Path) -> None:
    store = opened(path)
    ended(store, "ada", 5, first_ago_s=30.0)
    assert purged(store, JobBounds(max_age_s=1e-6, max_jobs=1)) == 0


def test_an_array_goes_whole_once_all_of_it_can(path: Path) -> None:
    store = opened(path)
    several = array(store, "ada", 70, key="of-all")
    for record in several[:-1]:
        end(store, record)
    bounds = JobBounds(max_age_s=100.0)
    assert purged(store, bounds) == 0
    end(store, several[-1], ago_s=0.0)
    assert purged(store, bounds) == 0, "its last job is young"
    number = several[0].asked.array.id  # type: ignore[union-attr]
    assert store.arrays.states("ada", number) == {JobState.SUCCEEDED: 70}
    assert sum(store.purge.purge_tenant("ada", now_us(), most=1)) == 70
    with pytest.raises(NotFound):
        store.arrays.get("ada", number)
    for each in (Predecessor(number), Predecessor(number, Condition.ELEMENT)):
        with pytest.raises(InvalidRequest, match=r"you have no .*, or it was removed after its end"):
            store.submissions.add_job(request("ada", each), 0.0)
    again, new = store.arrays.write([Submission(request("ada", key="of-all"))] * 2, 0.0)
    assert new, "its key is free again"
    assert min(record.id for record in again) > max(record.id for record in several)


@pytest.mark.parametrize("restarted", [False, True])
def test_what_somebody_waits_for_stays_until_he_has_ended(path: Path, restarted: bool) -> None:
    store = opened(path)
    first, several = end(store, submit(store, "ada")), [end(store, record) for record in array(store, "ada", 2)]
    element = end(store, array(store, "ada", 1)[0])
    waits = [
        Predecessor(first.id, Condition.END),
        Predecessor(several[0].asked.array.id),  # type: ignore[union-attr]
    ]
    waiter, other = submit(store, "ada", *waits), submit(store, "ada", Predecessor(element.id))
    if restarted:
        store.close()
        store = opened(path)
    bounds = JobBounds(max_age_s=100.0, max_jobs=1)
    kept = [first.id, *(record.id for record in several), element.id, waiter.id, other.id]
    assert purged(store, bounds) == 0
    assert ids(store, "ada") == kept
    end(store, store.jobs.get("ada", waiter.id), ago_s=0.0)
    assert purged(store, bounds) == 3
    assert ids(store, "ada") == [element.id, waiter.id, other.id]
    end(store, store.jobs.get("ada", other.id), JobState.FAILED, ago_s=0.0)
    assert purged(store, bounds) == 1


def test_what_is_held_stays(path: Path) -> None:
    store = opened(path)
    mine, several = ended(store, "ada", 2), [end(store, record) for record in array(store, "ada", 2)]
    store.holds.hold("ada", mine[0])
    store.holds.hold("ada", several[1].id)
    assert purged(store, JobBounds(max_age_s=1.0)) == 1
    assert ids(store, "ada") == [mine[0], *(record.id for record in several)]
    store.holds.let_go("ada", several[1].id)
    assert purged(store, JobBounds(max_age_s=1.0)) == 2


def test_places_in_lists_and_feeds_go_on(path: Path) -> None:
    store = opened(path)
    mine, theirs = ended(store, "ada", 6), ended(store, "grace", 1)
    wanted = JobFilter("ada", order=ListOrder.OLDEST)
    place = store.lists.find_page(wanted, 2).following
    assert place is not None
    feed = store.events.list_events("ada", None)
    assert purged(store, JobBounds(max_jobs_per_tenant=4)) == 3
    store.lists.check_place(wanted, place)
    assert [record.id for record in store.lists.find_page(wanted, 9, place).records] == mine[3:]
    went = [event.seq for event in feed if event.job in mine[:3]]
    seen = went[-1]
    store.events.check_known("ada", None, seen, seen)
    later = store.events.list_events("ada", None, seen)
    assert [event for event in feed if event.seq > seen] == list(later), "no number of an entry changed"
    assert {event.job for event in later} == set(mine[3:])
    for number in went[:-1]:
        with pytest.raises(UnknownCursor, match="some after it were removed"):
            store.events.check_known("ada", None, number, number)
        with pytest.raises(UnknownCursor, match="some after it were removed"):
            store.events.check_known(None, None, number, number)
    store.events.check_known(None, None, seen, seen)
    for event in later:
        store.events.check_known("ada", None, event.seq, event.seq)
    theirs_seen = store.events.list_events("grace", None)[0].seq
    store.events.check_known("grace", None, theirs_seen, theirs_seen)
    store.events.check_known("ada", None, 0, 0)
    for who, job, number in (
        (None, mine[5], seen),
        (None, theirs[0], seen),
        (None, None, 10_000),
        ("grace", None, seen),
    ):
        with pytest.raises(UnknownCursor):
            store.events.check_known(who, job, number, number)
    last = store.events.before_last(None, 0)
    assert sum(store.purge.purge_tenant("grace", now_us())) == 1
    assert store.events.before_last(None, 0) == last, "who begins now begins at the same place"


def test_a_job_with_very_many_rows_goes_a_part_at_a_time_and_is_seen_nowhere_meanwhile(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eddy.store.job_tables.purge.ROWS", 4)
    store = opened(path)
    large = end(store, submit(store, "ada"), events=11, a=b"1", b=b"22")
    small = ended(store, "ada", 1)[0]
    steps = store.purge.purge_tenant("ada", now_us())
    assert next(steps) == 2
    assert left_of(path, large.id) == {"event", "result", f"{large.id}.a", f"{large.id}.b"}
    assert (ids(store, "ada"), store.events.list_events("ada", None), store.events.latest_in_slots("ada", 99)) == (
        [],
        (),
        (),
    )
    parts = sum(1 for _ in steps)
    assert parts >= (12 + 2 + 5 + 1) / 4
    assert left_of(path, large.id) | left_of(path, small) == set()


def test_a_process_that_ends_anywhere_leaves_jobs_whole_or_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eddy.store.job_tables.purge.ROWS", 5)
    monkeypatch.setattr("eddy.store.job_tables.purge.BATCH", 3)
    moment, died = 0, True
    while died:
        moment += 1
        path = tmp_path / str(moment) / DATABASE
        with contextlib.closing(opened(path)) as store:
            jobs = ended(store, "ada", 5) + [end(store, record).id for record in array(store, "ada", 4)]
            whole = {job: left_of(path, job) for job in jobs}
            with killed_at(monkeypatch, moment) as count:
                purged(store, JobBounds(max_age_s=1.0))
            died = count[0] >= moment
        with contextlib.closing(opened(path)) as store:
            store.sweep()
            there = ids(store, "ada")
            assert [left_of(path, job) for job in there] == [whole[job] for job in there], moment
            assert set(jobs[5:]) <= set(there) or set(jobs[5:]).isdisjoint(there), "an array is whole or gone"
            assert {event.job for event in store.events.list_events("ada", None)} == set(there)
            assert [store.outputs.read("ada", job, "out") for job in there if job in jobs[:5]] == [b"x"] * sum(
                job in jobs[:5] for job in there
            )
            assert store.jobs.tally.count_ended() == ({"ada": len(there)} if there else {})
            assert store.purge.count_purged() == len(jobs) - len(there)
            purged(store, JobBounds(max_age_s=1.0))
            assert [left_of(path, job) for job in jobs] == [set()] * len(jobs)
            assert store.purge.count_purged() == len(jobs)
            assert not store.purge.is_due(JobBounds(max_age_s=1.0))
            assert store.retention.kept_bytes == store.retention.counted_bytes() == 0
    assert moment > 20, "there were as many moments"


def test_pages_are_used_again_and_the_file_shrinks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eddy.store.db.database.FREE_PAGES", 16)
    store = opened(path)
    for _ in range(5):
        for record in array(store, "ada", 300):
            end(store, record)
    before = _pages(path, "page_count")
    sum(store.purge.purge_tenant("ada", now_us()))
    assert _pages(path, "freelist_count") > before / 2
    while store.database.give_back():
        pass
    assert _pages(path, "page_count") < before / 4


def _pages(path: Path, what: str) -> int:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return int(db.execute(f"PRAGMA {what}").fetchone()[0])
