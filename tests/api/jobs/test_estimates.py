# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What jobs are told of their start and end over HTTP, and submissions that are only tried out."""

from __future__ import annotations

from typing import Any

import pytest
from eddy.hypervisor.forecast.estimator import Expectation, JobEstimate
from eddy.hypervisor.forecast.job_standing import JobStanding
from eddy.hypervisor.forecast.waits import WaitNow

pytestmark = pytest.mark.anyio

DRY = "/v1/jobs?dry_run=1"


def told(place: int | None = 2) -> JobEstimate:
    """What a job is told at a place among its tenant's; five of others are before it."""
    start = None if place is None else Expectation(5.0, 7.0)
    return JobEstimate(1.0, place and place + 5, place, start, Expectation(8.0, 9.5), True)


async def body_of(server: Any, **fields: Any) -> dict[str, Any]:
    return {"application": "invert", "inputs": {"image": [await server.put(bytes(range(6)))]}, **fields}


async def test_a_job_that_waits_says_its_place_and_times(server: Any) -> None:
    job = await server.submit()
    server.hypervisor.told[job["id"]] = told()
    async with server.client() as client:
        shown = (await client.get(f"/v1/jobs/{job['id']}")).json()["estimate"]
        listed = (await client.get("/v1/jobs")).json()["jobs"][0]["estimate"]
        glance = (await client.get("/v1/overview")).json()["jobs"][0]["estimate"]
    assert shown == listed == glance
    assert shown == {
        **{"at_s": 1.0, "age_s": 0.0, "position": 2, "known": True},
        **{"start_p50_s": 5.0, "start_p90_s": 7.0, "end_p50_s": 8.0, "end_p90_s": 9.5},
    }


async def test_only_an_operators_place_counts_others(server: Any) -> None:
    job = await server.submit()
    server.hypervisor.told[job["id"]] = told(2)
    server.hypervisor.standing = JobStanding(1.0, WaitNow("slot", "All slots are taken."), (), told(2))
    for who, place in (("ada", 2), ("operator", 7)):
        async with server.client(who) as client:
            shown = (await client.get(f"/v1/jobs/{job['id']}")).json()["estimate"]
            listed = (await client.get("/v1/jobs")).json()["jobs"][0]["estimate"]
            glance = (await client.get("/v1/overview")).json()["jobs"][0]["estimate"]
            explained = (await client.get(f"/v1/jobs/{job['id']}/explain")).json()["estimate"]
        assert shown == listed == glance == explained
        assert shown["position"] == place


async def test_a_job_that_runs_has_no_place_and_one_that_ended_no_estimate(server: Any) -> None:
    running, ended = await server.submit(), await server.submit()
    server.hypervisor.told |= {running["id"]: told(None), ended["id"]: told()}
    server.hypervisor.finish(server.store.jobs.get("ada", ended["id"]), result=bytes(6))
    async with server.client() as client:
        shown = (await client.get(f"/v1/jobs/{running['id']}")).json()["estimate"]
        assert (shown["position"], shown["start_p50_s"], shown["end_p90_s"]) == (None, None, 9.5)
        assert (await client.get(f"/v1/jobs/{ended['id']}")).json()["estimate"] is None


async def test_while_the_board_is_away_nothing_is_told(server: Any) -> None:
    job = await server.submit()
    server.hypervisor.told[job["id"]] = told()
    server.hypervisor.lost = "boardd does not answer"
    async with server.client() as client:
        assert (await client.get(f"/v1/jobs/{job['id']}")).json()["estimate"] is None


async def test_a_dry_run_answers_cost_loads_and_times_and_keeps_nothing(server: Any) -> None:
    body = await body_of(server, batch=1, priority=9)
    async with server.client() as client:
        answer = await client.post(DRY, json=body)
        assert (await client.get("/v1/jobs")).json()["jobs"] == []
    assert answer.status_code == 200
    assert "location" not in answer.headers
    found = answer.json()
    assert (found["admitted"], found["application"], found["pool"]) == (True, "invert", "pipeline")
    assert (found["slot_seconds"], found["core_seconds"]) == (0.5, 0.0)
    assert found["loads"] == [{"task": 0, "module": "inverter", "slot": 2, "at_s": 1.0, "load_s": 0.1}]
    assert found["estimate"]["end_p90_s"] == 4.0
    assert server.store.lists.page(None) == ()


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"application": "nothing"}, 422),
        ({"batch": 5}, 422),
        ({"priority": 2}, 422),
        ({"inputs": {}}, 422),
        ({"inputs": {"image": ["0" * 64]}}, 422),
        ({"after": [77]}, 422),
        ({"surprise": 1}, 422),
    ],
)
async def test_a_dry_run_is_refused_just_as_the_submission(server: Any, fields: dict[str, Any], status: int) -> None:
    body = await body_of(server, **fields)
    async with server.client() as client:
        dry, real = await client.post(DRY, json=body), await client.post("/v1/jobs", json=body)
    assert dry.status_code == real.status_code == status
    assert _said(dry) == _said(real)


async def test_a_dry_run_beyond_the_quota_is_refused_and_uses_none(server: Any) -> None:
    body = await body_of(server)
    async with server.client() as client:
        for _ in range(6):
            assert (await client.post(DRY, json=body)).status_code == 200
        for _ in range(3):
            await server.submit()
        dry, real = await client.post(DRY, json=body), await client.post("/v1/jobs", json=body)
    assert dry.status_code == real.status_code == 429
    assert _said(dry) == _said(real)


async def test_false_is_a_submission_and_anything_else_is_not_understood(server: Any) -> None:
    body = await body_of(server)
    async with server.client() as client:
        assert (await client.post("/v1/jobs?dry_run=false", json=body)).status_code == 202
        assert (await client.post("/v1/jobs?dry_run=perhaps", json=body)).status_code == 422


def _said(answer: Any) -> dict[str, Any]:
    return {name: value for name, value in answer.json().items() if name not in ("instance", "request_id")}
