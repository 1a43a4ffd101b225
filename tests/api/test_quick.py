"""The short way through a submission and FastAPI's answer the same, whatever is sent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from eddy.api.bodies import JsonRoute
from eddy.api.rates import Rates
from eddy.api.routes import jobs

TILE = b"123456"
SHA = hashlib.sha256(TILE).hexdigest()
GOOD = {"application": "invert", "inputs": {"image": [SHA]}}
BODIES = {
    "good": json.dumps(GOOD),
    "unknown field": json.dumps({**GOOD, "colour": 1}),
    "wrong type": json.dumps({**GOOD, "batch": "2"}),
    "no such application": json.dumps({"application": "nothing"}),
    "neither": "{}",
    "a list": "[]",
    "not JSON": "{",
    "twice": '{"application": "invert", "application": "invert"}',
    "half a pair": '{"application": "\\ud800"}',
    "nothing": "",
}
HEADERS: dict[str, dict[str, str]] = {
    "named": {"Idempotency-Key": "order-17"},
    "unfit name": {"Idempotency-Key": "a b"},
    "empty name": {"Idempotency-Key": ""},
    "no key": {"Authorization": ""},
    "nobody's": {"Authorization": "Bearer eddy_nobody"},
    "another scheme": {"Authorization": "Basic eddy_nobody"},
    "two words": {"Authorization": "Bearer eddy nobody"},
}


async def _ask(server: Any, body: str, headers: dict[str, str]) -> tuple[int, dict[str, str], Any]:
    async with server.client() as client:
        answer = await client.post("/v1/jobs", content=body, headers={"Content-Type": "application/json", **headers})
    found = answer.json()
    found.pop("submitted_unix_s", None)
    return (
        answer.status_code,
        {name: value for name, value in answer.headers.items() if name not in ("content-length", "x-request-id")},
        found,
    )


@pytest.mark.anyio
@pytest.mark.parametrize("headers", [{}, *HEADERS.values()], ids=["usual", *HEADERS])
async def test_both_ways_answer_the_same(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    found = []
    for quick in (True, False):
        if not quick:
            monkeypatch.setattr(jobs, "quick_route", lambda *_: JsonRoute)
        server = start()
        await server.put(TILE)
        found.append([await _ask(server, body, headers) for body in BODIES.values()])
    assert found[0] == found[1]
    assert found[0][0][0] == (
        202 if headers in ({}, HEADERS["named"]) else 422 if "Idempotency-Key" in headers else 401
    )


@pytest.mark.anyio
async def test_a_request_that_is_refused_counts_once(start: Callable[..., Any]) -> None:
    server = start()
    tenant = server.store.tenant("ada")
    server.store.put_tenant(replace(tenant, quota=replace(tenant.quota, max_requests_per_s=4.0)))
    server.app.state.context.rates = Rates(lambda: 0.0)
    answers = [await _ask(server, BODIES["unknown field"], {}) for _ in range(5)]
    assert [status for status, _, _ in answers] == [422] * 4 + [429]
