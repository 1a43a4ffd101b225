# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Labels, and lists of jobs by filter and order, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.anyio


async def ids(client: Any, query: str) -> list[int]:
    answer = await client.get(f"/v1/jobs?{query}")
    assert answer.status_code == 200, answer.text
    return [job["id"] for job in answer.json()["jobs"]]


async def test_jobs_are_listed_by_label_application_and_time(server: Any) -> None:
    first = await server.submit(labels={"run": "7", "series": "moon"})
    second = await server.submit(labels={"run": "8", "series": "moon"})
    await server.submit("grace", labels={"run": "7"})
    assert first["labels"] == {"run": "7", "series": "moon"}
    async with server.client() as client:
        assert await ids(client, "label=run=7") == [first["id"]]
        assert await ids(client, "label=series=moon") == [second["id"], first["id"]]
        assert await ids(client, "label=series=moon&label=run=8") == [second["id"]]
        assert await ids(client, "label=run=7&label=run=8") == []
        assert await ids(client, "application=invert&sort=oldest") == [first["id"], second["id"]]
        assert await ids(client, "application=other") == await ids(client, "kernel=invert") == []
        assert await ids(client, f"submitted_from={second['submitted_unix_s']}") == [second["id"]]
        assert await ids(client, f"submitted_before={second['submitted_unix_s']}") == [first["id"]]
        server.hypervisor.finish(server.store.jobs.get("ada", first["id"]), result=bytes(6))
        assert await ids(client, "sort=ended") == [first["id"]]
    async with server.client("operator") as client:
        assert len(await ids(client, "label=run=7")) == 2
        assert len(await ids(client, "label=run=7&tenant=grace")) == 1


@pytest.mark.parametrize("query", ["label=run=7&", "sort=oldest&", "", "sort=ended&"])
async def test_pages_follow_each_other_in_any_order(server: Any, query: str) -> None:
    jobs = [await server.submit(labels={"run": "7"}) for _ in range(3)]
    for job in jobs:
        server.hypervisor.clock_s += 1
        server.hypervisor.finish(server.store.jobs.get("ada", job["id"]), result=bytes(6))
    expected = [job["id"] for job in (jobs if "oldest" in query else reversed(jobs))]
    async with server.client() as client:
        found, cursor = list[int](), ""
        while True:
            page = (await client.get(f"/v1/jobs?{query}limit=2{cursor}")).json()
            found += [job["id"] for job in page["jobs"]]
            if page["next"] is None:
                break
            cursor = f"&cursor={page['next']}"
    assert found == expected


@pytest.mark.parametrize(
    "labels",
    [{f"n{number}": "" for number in range(17)}, {"": "x"}, {"-a": "x"}, {"a" * 64: "x"}, {"a": "x" * 65}, {"a": "\n"}],
)
async def test_labels_are_bounded(server: Any, labels: dict[str, str]) -> None:
    async with server.client() as client:
        answer = await client.post("/v1/jobs", json={"application": "invert", "labels": labels})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
    assert answer.json()["field"].startswith("labels")


@pytest.mark.parametrize(
    "query", ["label=run", "label=-=x", "sort=size", "cursor=17", "submitted_from=-1", "colour=red"]
)
async def test_filters_that_are_none_are_refused_with_their_name(server: Any, query: str) -> None:
    async with server.client() as client:
        answer = await client.get(f"/v1/jobs?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
    assert query.partition("=")[0] in answer.json()["field"]


async def test_labels_are_part_of_what_a_key_names(server: Any) -> None:
    blob = await server.put(bytes(6))
    body = {"application": "invert", "inputs": {"image": [blob]}, "labels": {"run": "7"}}
    headers = {"Idempotency-Key": "once"}
    async with server.client() as client:
        first = await client.post("/v1/jobs", json=body, headers=headers)
        again = await client.post("/v1/jobs", json=body, headers=headers)
        other = await client.post("/v1/jobs", json={**body, "labels": {"run": "8"}}, headers=headers)
    assert (first.json(), other.status_code) == (again.json(), 409)
