# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What takes long to answer is bounded for each tenant, and for no operator."""

from __future__ import annotations

from typing import Any

import pytest
from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobEventKind
from eddy.store.db.rows import Commit

pytestmark = pytest.mark.anyio


async def refused(server: Any, method: str, path: str, who: str, times: int, **sent: Any) -> int:
    """How many of so many requests are refused, each with when to come again."""
    count = 0
    async with server.client(who) as client:
        for _ in range(times):
            answer = await client.request(method, path, **sent)
            if answer.status_code == 429:
                assert answer.json()["code"] == "rate-limited"
                assert int(answer.headers["retry-after"]) >= 1
                count += 1
    return count


@pytest.fixture(autouse=True)
def standstill(server: Any) -> None:
    """Buckets do not fill again while a test runs."""
    looks = server.app.state.context.rate_limits
    for rates in (looks.forecasts, looks.back, looks.resumed, looks.pages):
        rates._clock = lambda: 0.0


async def test_explanations_and_dry_runs_are_bounded_together(server: Any) -> None:
    path = f"/v1/jobs/{(await server.submit())['id']}/explain"
    assert await refused(server, "GET", path, "ada", 20) == 0
    assert await refused(server, "GET", path, "ada", 3) == 3
    assert await refused(server, "POST", "/v1/jobs?dry_run=true", "ada", 1, json={"application": "invert"}) == 1
    assert await refused(server, "POST", "/v1/jobs", "ada", 1, json={"application": "invert"}) == 0
    assert await refused(server, "GET", path, "operator", 30) == 0


async def test_looks_back_are_bounded_from_a_hundred_events_on(server: Any) -> None:
    job = (await server.submit())["id"]
    notes = [JobEvent(0, job, "ada", 0.0, JobEventKind.STATE, JobState.PLACED) for _ in range(200)]
    server.store.commit(Commit(events=tuple(notes)))
    few, many = "/v1/events?last=100&follow=false", "/v1/events?last=101&follow=false"
    assert await refused(server, "GET", few, "ada", 9) == 0
    assert await refused(server, "GET", many, "ada", 5) == 1
    behind = {"headers": {"Last-Event-ID": "0"}}
    assert await refused(server, "GET", "/v1/events?follow=false", "ada", 1, **behind) == 1, "that is a look back too"
    assert await refused(server, "GET", many, "grace", 4) == 0
    assert await refused(server, "GET", many, "operator", 9) == 0


async def test_long_pages_of_jobs_are_bounded(server: Any) -> None:
    assert await refused(server, "GET", "/v1/jobs?limit=100", "ada", 12) == 0
    assert await refused(server, "GET", "/v1/jobs?limit=500", "ada", 10) == 2
    assert await refused(server, "GET", "/v1/jobs?limit=500", "operator", 12) == 0
