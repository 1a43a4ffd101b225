"""A frequent route takes and refuses what FastAPI would have it take and refuse, whatever is sent."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.api.routes import jobs

from .test_front_door import BODY, drawn

pytestmark = pytest.mark.anyio
KEYS = {
    "usual": {},
    "no key": {"Authorization": ""},
    "nobody's": {"Authorization": "Bearer eddy_nobody"},
    "another scheme": {"Authorization": "Basic eddy_nobody"},
    "two words": {"Authorization": "Bearer eddy nobody"},
}
LISTS = (
    "",
    "?limit=1",
    "?limit=1&cursor=",
    "?limit=1&limit=2",
    "?limit=1&limit=x",
    "?limit=",
    "?limit=%2B1",
    "?colour=1",
    "?label=a=1&label=b=2",
    "?label=a=1",
    "?label=",
    "?state=queued&sort=oldest",
    "?state=asleep",
    "?tenant=grace",
    "?tenant=ada&application=invert&submitted_from=0",
    "?submitted_from=nan",
    "?application=%ED%A0%80",
    "?cursor=x",
)
DRY_RUNS = ("", "?dry_run=true", "?dry_run=1", "?dry_run=", "?dry_run=maybe", "?dry_run=0&dry_run=yes", "?colour=1")
NAMES: tuple[dict[str, str], ...] = (
    {},
    {"Idempotency-Key": "order-17"},
    {"Idempotency-Key": ""},
    {"Idempotency-Key": "a b"},
    {"idempotency-key": "x"},
)


async def _answers(server: Any, headers: dict[str, str]) -> list[Any]:
    dice, found = random.Random(64), list[Any]()
    bodies = [BODY, "", "{", "[]", "null", '"', *(drawn(dice) for _ in range(40))]
    await server.put(bytes(range(6)))
    for labels in ({"a": "1", "b": "2"}, {"a": "1"}):
        await server.submit(labels=labels)
    async with server.client() as client:
        for query in LISTS:
            found.append((query, await client.get(f"/v1/jobs{query}", headers=headers)))
        for query in DRY_RUNS:
            for name in NAMES:
                sent = {"Content-Type": "application/json", **headers, **name}
                found.append((query, await client.post(f"/v1/jobs{query}", content=BODY, headers=sent)))
        for body in bodies:
            sent = {"Content-Type": "application/json", **headers}
            found.append((body, await client.post("/v1/jobs?dry_run=true", content=body, headers=sent)))
        for kind in ("", "text/plain", "application/x-www-form-urlencoded", "application/problem+json"):
            sent = {"Content-Type": kind, **headers}
            found.append((kind, await client.post("/v1/jobs?dry_run=true", content=BODY, headers=sent)))
        found.append(("method", await client.put("/v1/jobs", content=BODY, headers=headers)))
        found.append(("schema", await client.get("/openapi.json")))
    return [
        (sent, answer.status_code, {k: v for k, v in answer.headers.items() if k != "x-request-id"}, answer.content)
        for sent, answer in found
    ]


@pytest.mark.parametrize("headers", KEYS.values(), ids=KEYS)
async def test_it_answers_as_a_route_of_fastapi(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    monkeypatch.setattr("time.time", lambda: 1.8e9)
    planned = await _answers(start(), headers)
    monkeypatch.setattr(jobs, "FrequentRoute", JsonRoute)
    assert planned == await _answers(start(), headers)
    found = {status for _, status, _, _ in planned}
    assert found == ({200, 202, 400, 405, 415, 422, 429} if not headers else {200, 400, 401, 405, 415, 422})
