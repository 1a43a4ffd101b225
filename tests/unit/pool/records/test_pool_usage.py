# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What tenants had of boards is counted once, however records come by."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.core.errors import QuotaExceeded
from eddy.pool.jetstream.tenants import PoolTenant
from eddy.pool.mirror.usage_accounts import UsageAccounts, UsedTime, spent_by_day, utc_day
from eddy.pool.records.records import JobPart, PoolJob
from eddy.pool.routes.bounds import Bounds

DAY_S = 86_400.0


def part(first: int, ended_s: float, took_s: float) -> JobPart:
    return JobPart(first, 1, {}, "b1", 1, ended_s - took_s, ended_s)


def test_a_head_that_starts_late_counts_the_same() -> None:
    chance = random.Random(3)
    live, wanted, last = UsageAccounts(), defaultdict[tuple[str, str], int](int), list[PoolJob]()
    for number in range(200):
        job = PoolJob(number, chance.choice("ab"), {"application": "a", "batch": 6}, 0.0)
        live.add_record(job, news=True)
        job = job.place_on("b1", 0.0, {})
        for first in range(chance.randint(0, 6)):
            ended_s, took_s = chance.uniform(0, 3 * DAY_S), chance.uniform(0, 5)
            job = job.commit_part(part(first, ended_s, took_s))
            wanted[utc_day(ended_s), job.tenant] += round(1e9 * (ended_s - (ended_s - took_s)))
            for _ in range(0 if job.is_ended else chance.randint(0, 2)):
                live.add_record(job, news=True)
            if not job.is_ended and chance.random() < 0.2:
                job = job.recall("its lease ended", 0.0).place_on("b1", 0.0, {})
                job = replace(job, token=1)
        if chance.random() < 0.7:
            job = job if job.is_ended else job.cancelled(9.0)
            live.add_record(job, news=True)
            if chance.random() < 0.5:
                live.add_record(job := job.discard_outputs(10.0), news=True)
        else:
            live.add_record(job, news=True)
        last.append(job)
    fresh = UsageAccounts()
    for job in chance.sample(last, len(last)):
        fresh.add_record(job, news=False)
    # A job may end as it is told the first time: rounding is a part's own, so the sums are exact.
    assert {(day, tenant): had.slot_ns for day, tenant, had in live.entries(None, "", "9999")} == wanted
    assert fresh.entries(None, "", "9999") == live.entries(None, "", "9999")
    assert live.entries("a", "1970-01-02", "1970-01-02") == [
        ("1970-01-02", "a", live.on_day("a", "1970-01-02")),
    ]


def test_cores_of_a_shared_cluster_count_as_such() -> None:
    job = PoolJob(1, "ada", {"kernel": {"kernel": "k"}}, 0.0, parts=(part(0, 5.0, 2.0),))
    assert spent_by_day(job) == {"1970-01-01": UsedTime(2_000_000_000, 0)}
    shared = replace(job, kernel={"core_seconds": 0.25})
    assert spent_by_day(shared) == {"1970-01-01": UsedTime(0, 250_000_000)}


def test_who_has_had_what_it_may_is_refused_until_the_day_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eddy.pool.routes.bounds.time.time", lambda: 2.25 * DAY_S)
    usage = UsageAccounts()
    usage.add("ada", {"1970-01-03": UsedTime(3_000_000_000), "1970-01-02": UsedTime(0, 9_000_000_000)})

    async def told() -> None:
        return None

    mirror: Any = SimpleNamespace(usage=usage, wait_caught_up=told)
    checks = Bounds(SimpleNamespace(), mirror)  # type: ignore[arg-type]
    asyncio.run(checks.check(PoolTenant("ada", max_slot_s=3.5, max_core_s=1.0)))
    with pytest.raises(QuotaExceeded) as refused:
        asyncio.run(checks.check(PoolTenant("ada", max_slot_s=3.0)))
    assert refused.value.details["retry_after_s"] == 0.75 * DAY_S
