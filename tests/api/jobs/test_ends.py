# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Retries, late jobs and cancellations, as they come in and are shown."""

from __future__ import annotations

from typing import Any

import pytest
from eddy.core.submission_options import NOT_ITS_FAULT

pytestmark = pytest.mark.anyio


async def test_what_was_asked_for_is_shown(server: Any) -> None:
    job = await server.submit(retries={"max": 2}, late="end", deadline_s=1.5)
    assert (job["retries"], job["retried"], job["late"]) == ({"max": 2, "on": list(NOT_ITS_FAULT)}, 0, "end")
    assert (job["cancellation"], job["ended_unix_s"]) == (None, None)
    job = await server.submit(retries={"max": 1, "on": ["time-limit"]})
    assert job["retries"] == {"max": 1, "on": ["time-limit"]}
    assert (await server.submit())["retries"] is None


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"retries": {"max": 0}}, "retries.max"),
        ({"retries": {"max": 11}}, "retries.max"),
        ({"retries": {"max": 1, "on": ["dependency-failed"]}}, "retries.on"),
        ({"retries": {"max": 1, "on": []}}, "retries.on"),
        ({"late": "end"}, "late"),
        ({"late": "maybe"}, "late"),
    ],
)
async def test_what_makes_no_sense_is_refused(server: Any, fields: dict[str, Any], place: str) -> None:
    async with server.client() as client:
        answer = await client.post("/v1/jobs", json={"application": "invert", **fields})
    assert (answer.status_code, answer.json()["field"]) == (422, place)


async def test_a_cancellation_says_when_it_was_asked_for(server: Any) -> None:
    job = await server.submit()
    async with server.client() as client:
        first = (await client.delete(f"/v1/jobs/{job['id']}")).json()
        again = (await client.delete(f"/v1/jobs/{job['id']}")).json()
    assert first["cancellation"]["asked_unix_s"] >= job["submitted_unix_s"]
    assert again["cancellation"] == first["cancellation"]
    assert first["cancellation"]["effective_s"] == first["ended_s"] == 1.0
