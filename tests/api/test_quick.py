"""The short ways through a submission and a list answer the same as FastAPI's, whatever is sent."""

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


KEYS = ("no key", "nobody's", "another scheme", "two words")
QUERIES = {
    "nothing": "",
    "a page": "?limit=1",
    "the next page": "?limit=1&cursor=",
    "the last counts": "?limit=1&limit=2",
    "the last is unfit": "?limit=1&limit=x",
    "empty": "?limit=",
    "signed": "?limit=%2B1",
    "another name": "?colour=1",
    "labels": "?label=a=1&label=b=2",
    "one label": "?label=a=1",
    "no label": "?label=",
    "a state": "?state=queued&sort=oldest",
    "no state": "?state=asleep",
    "anothers": "?tenant=grace",
    "own": "?tenant=ada&application=invert&submitted_from=0",
    "not a number": "?submitted_from=nan",
    "half a pair": "?application=%ED%A0%80",
    "no cursor": "?cursor=x",
}


@pytest.mark.anyio
@pytest.mark.parametrize("headers", [{}, *(HEADERS[name] for name in KEYS)], ids=["usual", *KEYS])
async def test_both_ways_to_a_list_answer_the_same(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    monkeypatch.setattr("time.time", lambda: 1.8e9)
    ways: list[list[Any]] = []
    for quick in (True, False):
        if not quick:
            monkeypatch.setattr(jobs, "quick_list_route", lambda _: JsonRoute)
        server = start()
        for labels in ({"a": "1", "b": "2"}, {"a": "1"}):
            await server.submit(labels=labels)
        cursor, found = "", list[Any]()
        async with server.client() as client:
            for name, query in QUERIES.items():
                answer = await client.get(
                    f"/v1/jobs{query}{cursor if name == 'the next page' else ''}", headers=headers
                )
                cursor = cursor or answer.json().get("next") or ""
                kept = {k: v for k, v in answer.headers.items() if k not in ("content-length", "x-request-id")}
                found.append((name, answer.status_code, kept, answer.json()))
        ways.append(found)
    assert ways[0] == ways[1]
    statuses = {status for _, status, _, _ in ways[0]}
    assert statuses == ({200, 422} if not headers else {401})


@pytest.mark.anyio
async def test_a_request_that_is_refused_counts_once(start: Callable[..., Any]) -> None:
    server = start()
    tenant = server.store.tenants.get("ada")
    server.store.tenants.put(replace(tenant, quota=replace(tenant.quota, max_requests_per_s=4.0)))
    server.app.state.context.rates = Rates(lambda: 0.0)
    answers = [await _ask(server, BODIES["unknown field"], {}) for _ in range(5)]
    assert [status for status, _, _ in answers] == [422] * 4 + [429]
