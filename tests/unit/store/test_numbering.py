# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Numbers that tell nothing are one to one, undone by their key alone, and look alike whatever is counted."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from pathlib import Path

import pytest
from eddy.core.errors import StorageDamaged
from eddy.core.numbering import Numbering, format_ids
from eddy.core.records import JobRequest
from eddy.store import Store

KEY = b"a key of the tests"


def test_a_small_range_is_permuted_whole() -> None:
    numbering = Numbering(KEY, 3)
    told = [numbering.public_id(count) for count in range(1, 900)]
    assert len(set(told)) == 899
    assert (min(told), max(told)) in ((100, 999), (101, 999), (100, 998))
    assert [numbering.resolve_id(number) for number in told] == list(range(1, 900))
    assert told != sorted(told)


@pytest.mark.parametrize("digits", [3, 12, 15])
@pytest.mark.parametrize("plain_below", [1, 50])
def test_told_and_meant_undo_each_other_for_every_number(digits: int, plain_below: int) -> None:
    numbering, draw = Numbering(KEY, digits, plain_below), random.Random(1)
    bounds = [draw.randrange(1 << draw.randrange(1, 63)) for _ in range(500)]
    for number in [0, 1, plain_below, 10 ** (digits - 1), 10**digits, (1 << 63) - 1, *bounds]:
        meant = numbering.resolve_id(number)
        assert numbering.public_id(meant) == number
        if numbering.public_id(number) != number:
            assert numbering.resolve_id(numbering.public_id(number)) == number


def test_what_was_told_plainly_stays_and_the_rest_does_not_fall_on_it() -> None:
    numbering = Numbering(KEY, 3, plain_below=50)
    assert [numbering.public_id(count) for count in range(50)] == list(range(50))
    rest = {numbering.public_id(count) for count in range(50, 900)}
    assert len(rest) == 850
    assert min(rest) >= 100
    hidden = [number for number in range(100, 1000) if number not in rest]
    assert all(numbering.resolve_id(number) < 0 for number in hidden), "nobody was told these"


def test_another_key_tells_other_numbers_and_steps_tell_nothing() -> None:
    """The difference of two numbers told one after the other is spread over the whole range."""
    ours, others = Numbering(KEY, 12), Numbering(b"another", 12)
    assert not {ours.public_id(count) for count in range(1, 1000)} & {
        others.public_id(count) for count in range(1, 1000)
    }
    steps = [ours.public_id(count + 1) - ours.public_id(count) for count in range(2000)]
    assert 900 < sum(step > 0 for step in steps) < 1100
    digits = [sum(str(ours.public_id(count))[place] == "7" for count in range(1, 2001)) for place in range(1, 12)]
    assert all(150 < count < 250 for count in digits), digits


def test_a_list_for_people_ends() -> None:
    assert (format_ids([1, 2]), format_ids([1, 2, 3, 4])) == ("1, 2", "1, 2, 3 and others")


def test_a_store_keeps_its_numbers_and_two_stores_have_their_own(tmp_path: Path) -> None:
    told = []
    for name in ("one", "one", "two"):
        (tmp_path / name).mkdir(exist_ok=True)
        with contextlib.closing(Store(tmp_path / name / "eddy.sqlite3")) as store:
            told.append([store.numbers.job.public_id(1), store.numbers.event.public_id(1)])
    assert told[0] == told[1] != told[2]
    assert [len(str(number)) for number in told[0]] == [12, 15]


def test_a_store_from_before_calls_its_jobs_as_they_were_called(tmp_path: Path) -> None:
    path = tmp_path / "eddy.sqlite3"
    with contextlib.closing(Store(path)) as store:
        for _ in range(2):
            store.submissions.add_job(JobRequest("ada", "chain", 1), 0.0)
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM meta WHERE key = 'numbering'")
    with contextlib.closing(Store(path)) as store:
        third, _ = store.submissions.add_job(JobRequest("ada", "chain", 1), 0.0)
        assert [store.numbers.job.public_id(job) for job in (1, 2)] == [1, 2]
        assert store.numbers.job.public_id(third.id) >= 10**11
        assert [store.numbers.event.public_id(event.seq) for event in store.events.list_events("ada", None)[:2]] == [
            1,
            2,
        ]


def test_a_damaged_numbering_is_said(tmp_path: Path) -> None:
    path = tmp_path / "eddy.sqlite3"
    Store(path).close()
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE meta SET value = '{}' WHERE key = 'numbering'")
    with pytest.raises(StorageDamaged, match="no numbering of jobs that can be read"):
        Store(path)
