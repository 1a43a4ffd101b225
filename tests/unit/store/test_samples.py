# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the board did, minute by minute: kept for a week, told in as many points as asked for."""

from __future__ import annotations

import dataclasses
import sqlite3
from pathlib import Path

from eddy.store import Store
from eddy.store.board_tables.samples import KEPT_S, TENANTS, Sample, mean_of, thin_out

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
