"""The short way through a list answers the same as FastAPI's, whatever is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from eddy.api.bodies import JsonRoute
from eddy.api.routes import jobs

HEADERS: dict[str, dict[str, str]] = {
    "no key": {"Authorization": ""},
    "nobody's": {"Authorization": "Bearer eddy_nobody"},
    "another scheme": {"Authorization": "Basic eddy_nobody"},
    "two words": {"Authorization": "Bearer eddy nobody"},
}


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
