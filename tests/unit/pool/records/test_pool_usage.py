# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What tenants had of boards is counted once, however records come by."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import defaultdict
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.core.errors import QuotaExceeded
from eddy.pool.jetstream.jobs import JobEntry
from eddy.pool.jetstream.kept_usage import KeptUsage
from eddy.pool.jetstream.tenants import PoolTenant
from eddy.pool.mirror.projection import ENTRY_BYTES, Projection
from eddy.pool.mirror.usage_accounts import UsedTime, spent_by_day, utc_day
from eddy.pool.records.record_json import to_json
from eddy.pool.records.records import JobPart, PoolJob
from eddy.pool.routes.bounds import Bounds

DAY_S = 86_400.0


def part(first: int, ended_s: float, took_s: float) -> JobPart:
    return JobPart(first, 1, {}, "b1", 1, ended_s - took_s, ended_s)


def put(projection: Projection, job: PoolJob, revision: int) -> None:
    projection.put(JobEntry(str(job.id), job, revision, 0, to_json(job)))


def test_a_head_that_starts_late_counts_the_same() -> None:
    chance, revisions = random.Random(3), itertools.count(1)
    projection, wanted, last = Projection(), defaultdict[tuple[str, str], int](int), list[PoolJob]()
    for number in range(200):
        job = PoolJob(number, chance.choice("ab"), {"application": "a", "batch": 6}, 0.0)
        put(projection, job, next(revisions))
        job = job.place_on("b1", 0.0, {})
        for first in range(chance.randint(0, 6)):
            ended_s, took_s = chance.uniform(0, 3 * DAY_S), chance.uniform(0, 5)
            job = job.commit_part(part(first, ended_s, took_s))
            wanted[utc_day(ended_s), job.tenant] += round(1e9 * (ended_s - (ended_s - took_s)))
            for _ in range(0 if job.is_ended else chance.randint(0, 2)):
                put(projection, job, next(revisions))
            if not job.is_ended and chance.random() < 0.2:
                job = job.recall("its lease ended", 0.0).place_on("b1", 0.0, {})
                job = replace(job, token=1)
        if chance.random() < 0.7:
            job = job if job.is_ended else job.cancelled(9.0)
            put(projection, job, next(revisions))
            job = job.discard_outputs(10.0) if chance.random() < 0.5 else job
        put(projection, job, next(revisions))
        last.append(job)
    late = Projection()
    for job in chance.sample(last, len(last)):
        put(late, job, next(revisions))
    # A job may end as it is told the first time: rounding is a part's own, so the sums are exact.
    assert {(day, tenant): had.slot_ns for day, tenant, had in projection.usage(None, "", "9999")} == wanted
    assert late.usage(None, "", "9999") == projection.usage(None, "", "9999")
    assert projection.usage("a", "1970-01-02", "1970-01-02") == [
        ("1970-01-02", "a", projection.usage_on("a", "1970-01-02")),
    ]
    bytes_of = {name: sum(len(to_json(job)) + ENTRY_BYTES for job in last if job.tenant == name) for name in "ab"}
    assert {name: late.tenant_bytes(name) for name in "ab"} == bytes_of
    assert projection.total_bytes() == sum(bytes_of.values())
    for job in last:
        late.put(JobEntry(str(job.id), None, next(revisions), 0, gone=True))
    assert (late.usage(None, "", "9999"), late.total_bytes()) == ([], 0)


def test_cores_of_a_shared_cluster_count_as_such() -> None:
    job = PoolJob(1, "ada", {"kernel": {"kernel": "k"}}, 0.0, parts=(part(0, 5.0, 2.0),))
    assert spent_by_day(job) == {"1970-01-01": UsedTime(2_000_000_000, 0)}
    shared = replace(job, kernel={"core_seconds": 0.25})
    assert spent_by_day(shared) == {"1970-01-01": UsedTime(0, 250_000_000)}


def test_who_has_had_what_it_may_is_refused_until_the_day_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eddy.pool.routes.bounds.time.time", lambda: 2.25 * DAY_S)
    projection = Projection()
    had = {"1970-01-03": (3_000_000_000, 0), "1970-01-02": (0, 9_000_000_000)}
    projection.set_kept("ada", KeptUsage(had, {7: {"1970-01-03": (200_000_000, 0)}}))

    async def told() -> None:
        return None

    mirror: Any = SimpleNamespace(projection=projection, wait_caught_up=told)
    checks = Bounds(SimpleNamespace(), mirror)  # type: ignore[arg-type]
    asyncio.run(checks.check(PoolTenant("ada", max_slot_s=3.5, max_core_s=1.0)))
    with pytest.raises(QuotaExceeded) as refused:
        asyncio.run(checks.check(PoolTenant("ada", max_slot_s=3.2)))
    assert refused.value.details["retry_after_s"] == 0.75 * DAY_S
