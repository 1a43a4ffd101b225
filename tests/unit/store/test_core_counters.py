# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Counters of cores: one value from the bank's names to the job record and back out of the store."""

from __future__ import annotations

import dataclasses
import json

import pytest
from eddy.core.counters import CoreCounters, add_run
from eddy.core.jobs import JobState
from eddy.core.records import KERNEL, JobRecord, KernelRecord
from eddy.store.db.rows import dump_record, load_record

BANK = {"cycles": 90, "instructions": 9, "loads": 4, "total_active_cycles": 9, "cycle_thread_1": 2, "cycle_thread_2": 7}
COUNTED = CoreCounters(90, 9, 9, (2, 7), (("loads", 4),))


def test_a_banks_names_become_one_value_that_can_be_a_key() -> None:
    assert CoreCounters.of(BANK) == COUNTED
    assert {COUNTED: 1}[CoreCounters.of(dict(BANK))] == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        COUNTED.cycles = 1  # type: ignore[misc]


def test_more_than_nine_lanes_stay_in_order() -> None:
    lanes = {f"cycle_thread_{x}": x for x in range(12, 0, -1)}
    counted = CoreCounters.of({"cycles": 1, "instructions": 1, "total_active_cycles": 78, **lanes})
    assert counted.cycle_thread == tuple(range(1, 13))


def test_a_name_that_every_core_has_must_be_there() -> None:
    with pytest.raises(KeyError, match="instructions"):
        CoreCounters.of({"cycles": 1, "total_active_cycles": 0})


def test_runs_add_up_by_name() -> None:
    more = CoreCounters(10, 1, 1, (1, 0), (("stores", 3), ("loads", 1)))
    assert COUNTED.add_counters(more) == CoreCounters(100, 10, 10, (3, 7), (("loads", 5), ("stores", 3)))
    assert (COUNTED.other("loads"), COUNTED.other("stores")) == (4, 0)
    assert add_run((), (COUNTED,)) == (COUNTED,)


def test_the_store_keeps_them_by_name_and_gives_them_back() -> None:
    kernel = KernelRecord("add", "gpu", 4, 2, cores=(COUNTED, dataclasses.replace(COUNTED, others=())))
    record = JobRecord(1, "ada", "kernel:add", 2, 3, JobState.RUNNING, 0.0, 0.0, kernel=kernel, kind=KERNEL)
    text = dump_record(record)
    assert [core["others"] for core in json.loads(text)["kernel"]["cores"]] == [{"loads": 4}, {}]
    assert load_record(text) == record


def test_a_record_names_its_kind_and_the_two_known_ones_are_kept_as_before() -> None:
    plain = JobRecord(1, "ada", "app", 2, 3, JobState.RUNNING, 0.0, 0.0)
    kernel = dataclasses.replace(plain, kernel=KernelRecord("add", "gpu", 4, 2), kind=KERNEL)
    echo = dataclasses.replace(plain, kind="echo")
    assert ["kind" in json.loads(dump_record(record)) for record in (plain, kernel, echo)] == [False, False, True]
    assert [load_record(dump_record(record)).kind for record in (plain, kernel, echo)] == [
        "application",
        "kernel",
        "echo",
    ]
