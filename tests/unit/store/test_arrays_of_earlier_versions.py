# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A data folder of a version whose arrays had the ids of their first jobs: what is in it goes on as it was meant."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from eddy.core.errors import Conflict, InvalidRequest, NotFound
from eddy.core.jobs import JobState
from eddy.core.submission_options import Condition, Predecessor, SubmissionOptions
from eddy.hypervisor.engine.engine import Engine
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy.store.job_tables.listing import JobFilter as Listed
from hypervisor_kit import CHAIN, MODULES, TENANT, expected, model_board, request

DUMP = Path(__file__).with_name("store_schema_12_arrays.sql")
"""Jobs 1 and 2 are an array that has ended. Jobs 3 to 5 are one under the key "once" that has not begun; job 6 is
`after` job 3, which that version said of both the job and the array, and meant the job."""
ENDED, WAITING, AFTER = [1, 2], [3, 4, 5], 6


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    path = tmp_path / "eddy.sqlite3"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(DUMP.read_text(encoding="utf-8"))
    made = Store(path)
    for salt in (0, 1, 2, 7):
        request(made, salt=salt)  # its blobs, which are files
    yield made
    made.close()


def run(store: Store) -> Engine:
    engine = Engine(model_board(), POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES)
    engine.start()
    while not engine.is_idle:
        engine.step()
    return engine


def test_both_the_job_and_the_array_are_known_by_the_old_id(store: Store) -> None:
    for jobs in (ENDED, WAITING):
        assert store.jobs.get(TENANT, jobs[0]).asked.array is not None
        assert [record.id for record in store.arrays.get(TENANT, jobs[0])] == jobs
        assert sum(store.arrays.states(TENANT, jobs[0]).values()) == len(jobs)
        assert [record.id for record in store.lists.find_page(Listed(TENANT, array=jobs[0])).records] == jobs[::-1]
        assert store.arrays.owner(jobs[0]) == TENANT
        with pytest.raises(NotFound):
            store.arrays.get(TENANT, jobs[1])
    with pytest.raises(Conflict):
        store.arrays.request_cancel(TENANT, ENDED[0])
    assert store.arrays.request_cancel(TENANT, WAITING[0]) == tuple(WAITING)


def test_what_waited_for_the_first_job_does_so_still(store: Store) -> None:
    assert store.jobs.get(TENANT, AFTER).asked.after == (Predecessor(3),)
    run(store)
    for number, salt in ((3, 0), (4, 1), (5, 2), (6, 7)):
        assert store.jobs.get(TENANT, number).state is JobState.SUCCEEDED
        assert store.outputs.read(TENANT, number, "out") == expected(1, salt)


def test_what_comes_now_waits_for_the_whole_array(store: Store) -> None:
    engine = Engine(model_board(), POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES)
    engine.start()
    wanted = (Predecessor(3), Predecessor(4, Condition.END))
    late = engine.intake.accept(dataclasses.replace(request(store, salt=9), asked=SubmissionOptions(after=wanted)))
    assert late.asked.after == (Predecessor(3, array=True), Predecessor(4, Condition.END))
    corresponding = SubmissionOptions(after=(Predecessor(3, Condition.ELEMENT),))
    each = [dataclasses.replace(request(store, salt=salt), asked=corresponding) for salt in range(20, 23)]
    made = engine.intake.accept_array(each, [None] * 3)
    assert [record.asked.after for record in made] == [(Predecessor(number),) for number in WAITING]
    while not engine.is_idle:
        engine.step()
    ends = [store.jobs.get(TENANT, number).ended_s or 0.0 for number in WAITING]
    assert (store.jobs.get(TENANT, late.id).started_s or 0.0) >= max(ends)


def test_a_key_names_the_same_array_still_and_new_arrays_have_ids_of_their_own(store: Store) -> None:
    engine = run(store)
    each = [request(store, salt=salt, key="once") for salt in range(3)]
    assert [record.id for record in engine.intake.accept_array(each, [None] * 3)] == WAITING
    with pytest.raises(Conflict):
        engine.intake.accept_array(each[:2], [None] * 2)
    new = engine.intake.accept_array([request(store, salt=salt) for salt in range(2)], [None] * 2)
    place = new[0].asked.array
    assert place is not None
    assert (place.id, [record.id for record in new]) == (7, [8, 9])
    with pytest.raises(NotFound, match="it is an array"):
        store.jobs.get(TENANT, 7)
    with pytest.raises(NotFound):
        store.arrays.get(TENANT, 8)
    with pytest.raises(InvalidRequest, match="you have no job or array"):
        engine.intake.accept(dataclasses.replace(request(store), asked=SubmissionOptions(after=(Predecessor(10),))))
