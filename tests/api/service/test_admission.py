# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A rule about submissions has one place, and holds for every way in: jobs, dry runs, arrays, a head of a pool."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.api.request_bodies import jobs as submissions
from eddy.api.request_bodies.jobs import JobSubmission
from eddy.core.errors import InvalidRequest
from eddy.core.records import JobRequest
from eddy.pool.jetstream.tenants import PoolTenant
from eddy.pool.routes import submission as submitting

pytestmark = pytest.mark.anyio

RUNTIME = Path(__file__).resolve().parents[3] / "runtime" / "eddy"
BLOB = bytes(range(6))


def forbidding(admit: Callable[..., JobRequest]) -> Callable[..., JobRequest]:
    """The same, with one rule more."""

    def ruled(submission: JobSubmission, *arguments: Any) -> JobRequest:
        if "forbidden" in submission.labels:
            raise InvalidRequest("The label forbidden is not allowed.", field="labels")
        return admit(submission, *arguments)

    return ruled


@pytest.mark.parametrize("query", ["", "?dry_run=false", "?dry_run=true"])
async def test_a_rule_holds_for_every_submission(server: Any, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    monkeypatch.setattr(submissions, "admit", forbidding(submissions.admit))
    job = {"application": "invert", "inputs": {"image": [await server.put(BLOB)]}}
    async with server.client() as client:
        for labels, wanted in (({"forbidden": "x"}, 422), ({"allowed": "x"}, (200, 202))):
            answer = await client.post(f"/v1/jobs{query}", json={**job, "labels": labels})
            assert answer.status_code in (wanted if isinstance(wanted, tuple) else (wanted,)), answer.text


async def test_a_rule_holds_for_jobs_of_arrays(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "admit", forbidding(submissions.admit))
    job = {"application": "invert", "inputs": {"image": [await server.put(BLOB)]}}
    async with server.client() as client:
        for each in ({"labels": {"forbidden": "x"}}, {}):
            answer = await client.post("/v1/arrays", json={"job": job, "each": [{}, each]})
            assert answer.status_code == (422 if each else 202), answer.text


async def test_an_arrays_jobs_are_bounded_as_one_alone(server: Any) -> None:
    async with server.client() as client:
        kernel = {"source": "kernel void k() {}", "kernel": "k", "global_size": [1]}
        body = {"job": {"kernel": kernel, "min_progress": 0.5}, "each": [{}]}
        refused = [await client.post("/v1/jobs", json=body["job"]), await client.post("/v1/arrays", json=body)]
    assert [(answer.status_code, answer.json()["field"]) for answer in refused] == [(409, "min_progress")] * 2


async def test_a_board_alone_refuses_what_only_a_pool_can_give(server: Any) -> None:
    """An option that nobody looks at would be a promise: the server of this test computes."""
    job = {"application": "invert", "inputs": {"image": [await server.put(BLOB)]}}
    options: dict[str, Any] = {"board_labels": "rack=1", "resident_module": "dct", "apart": "x", "same_board_as": 1}
    async with server.client() as client:
        for name, value in {**options, "board_kind": "model"}.items():
            answer = await client.post("/v1/jobs", json={**job, name: value})
            assert (answer.status_code, answer.json()["field"]) == (422, name), answer.text
        for kind in (None, "computing", "any"):
            answer = await client.post("/v1/jobs", json={**job, "board_kind": kind})
            assert (answer.status_code, answer.json()["board_kind"]) == (202, kind), answer.text


def test_a_rule_holds_at_a_head_of_a_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submitting, "admit", forbidding(submissions.admit))
    ada, known = PoolTenant("ada", max_priority=3), {"old"}

    async def is_known(_: str, key: str) -> bool:
        return key in known

    parts: Any = SimpleNamespace(
        table=SimpleNamespace(known=is_known),
        catalogue=SimpleNamespace(application=lambda name: name),
        lead=SimpleNamespace(mirror=SimpleNamespace(boards={})),
    )

    async def kept(key: str = "", **fields: Any) -> dict[str, Any]:
        job = JobSubmission(application="invert", **fields)
        (found,) = await submitting.requests_of(parts, ada, ada, [job], key)
        return found

    assert asyncio.run(kept(priority=3)) == {"application": "invert", "priority": 3, "batch": 1}
    with pytest.raises(InvalidRequest, match="forbidden"):
        asyncio.run(kept(labels={"forbidden": "x"}))
    with pytest.raises(InvalidRequest, match="at most 3"):
        asyncio.run(kept(priority=9))
    assert asyncio.run(kept("old", priority=9))["priority"] == 9, "what was accepted is not refused when sent again"
    ada = replace(ada, max_priority=1)
    assert asyncio.run(kept(priority=9))["priority"] == 1


def test_requests_are_made_of_submissions_in_one_place() -> None:
    made: dict[str, set[str]] = {"JobRequest": set(), "request": set(), "check_kind": set()}
    for path in [*(RUNTIME / "api").rglob("*.py"), *(RUNTIME / "pool").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                of = getattr(getattr(node.func, "value", None), "id", "")
                if name in made and (name != "request" or of in ("body", "job", "submission")):
                    made[name].add(path.relative_to(RUNTIME).as_posix())
    assert made == {
        "JobRequest": {"api/request_bodies/jobs.py"},
        "request": {"api/request_bodies/jobs.py"},
        "check_kind": {"api/request_bodies/jobs.py", "api/request_bodies/arrays.py"},
    }
