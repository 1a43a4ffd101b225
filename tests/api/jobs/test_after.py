# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`after` over HTTP: only one's own jobs, and nothing to learn of another's."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.anyio


async def test_a_job_says_what_it_waits_for_and_others_jobs_are_unknown(server: Any) -> None:
    mine, theirs = await server.submit(), await server.submit("grace")
    blob = await server.put(bytes(6))
    body = {"application": "invert", "inputs": {"image": [blob]}}
    async with server.client() as client:
        answer = await client.post("/v1/jobs", json={**body, "after": [mine["id"], mine["id"]]})
        assert (answer.status_code, answer.json()["after"]) == (202, [mine["id"]])
        refusals = []
        for number in (theirs["id"], 4711):
            refused = await client.post("/v1/jobs", json={**body, "after": [number]})
            assert (refused.status_code, refused.json()["field"]) == (422, "after[0]")
            refusals.append(
                {**refused.json(), "asked": 0, "detail": refused.json()["detail"].replace(f"array {number}", "array N")}
            )
        assert refusals[0] == refusals[1]
        assert (await client.post("/v1/jobs", json={**body, "after": list(range(1, 66))})).status_code == 422


async def test_the_same_key_is_the_same_job_though_what_it_waits_for_has_ended(server: Any) -> None:
    first = await server.submit()
    blob = await server.put(bytes(6))
    body = {"application": "invert", "inputs": {"image": [blob]}, "after": [first["id"]]}
    async with server.client() as client:
        one = await client.post("/v1/jobs", json=body, headers={"Idempotency-Key": "once"})
        server.hypervisor.finish(server.store.jobs.get("ada", first["id"]), result=bytes(6))
        two = await client.post("/v1/jobs", json=body, headers={"Idempotency-Key": "once"})
        other = await client.post("/v1/jobs", json={**body, "after": []}, headers={"Idempotency-Key": "once"})
    assert (one.json()["id"], other.status_code) == (two.json()["id"], 409)
