# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What stands in the query of a request is known to its route, and stands there once."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.anyio
OTHERS = {"/v1/session/sign-on/callback"}
"""Addresses that providers send browsers to, with whatever parameters they have."""


async def test_a_parameter_that_nobody_knows_submits_nothing(server: Any) -> None:
    async with server.client() as client:
        for path in ("/v1/jobs", "/v1/arrays"):
            answer = await client.post(f"{path}?dryrun=true", json={"application": "invert"})
            problem = answer.json()
            assert (answer.status_code, problem["code"], problem["field"]) == (422, "invalid-request", "dryrun")
        assert (await client.get("/v1/jobs")).json()["jobs"] == []


async def test_every_route_refuses_what_it_does_not_know(server: Any) -> None:
    count = 0
    async with server.client("operator") as client:
        paths = (await client.get("/openapi.json")).json()["paths"]
        for path, methods in paths.items():
            if path in OTHERS:
                continue
            concrete = path.replace("{sha256}", "0" * 64)
            for name in ("job", "array", "slot", "seq", "key", "hold"):
                concrete = concrete.replace(f"{{{name}}}", "1")
            for method in methods.keys() - {"options"}:
                answer = await client.request(method.upper(), f"{concrete}?nobody_knows=1", json={})
                assert answer.status_code == 422, (method, path, answer.text)
                assert method == "head" or answer.json()["field"] == "nobody_knows"
                count += 1
    assert count > 40


async def test_two_values_are_refused_where_one_is_taken(server: Any) -> None:
    async with server.client() as client:
        answer = await client.post("/v1/jobs?dry_run=true&dry_run=false", json={})
        assert (answer.status_code, answer.json()["field"]) == (422, "dry_run")
        assert (await client.get("/v1/jobs?limit=1&limit=2")).json()["field"] == "limit"
        assert (await client.get("/v1/jobs?limit=1&limit=1")).status_code == 200
        assert (await client.get("/v1/jobs?label=a%3Db&label=c%3Dd")).status_code == 200
        assert (await client.get("/v1/jobs/1?wait=0&while=running")).status_code == 404
        many = "&".join(["limit=1"] * 300)
        assert (await client.get(f"/v1/jobs?{many}")).json()["field"] == "query"


async def test_what_no_route_has_is_still_not_found(server: Any) -> None:
    async with server.client() as client:
        assert (await client.get("/v1/nothing?a=1")).status_code == 404
