# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Arrays of jobs over HTTP: all or none, one id, and nobody else's."""

from __future__ import annotations

from typing import Any

import pytest
from eddy.core.tenants import Quota, TenantRecord

pytestmark = pytest.mark.anyio


async def body(server: Any, jobs: int, who: str = "ada", **shared: Any) -> dict[str, Any]:
    blobs = [await server.put(bytes([number] * 6), who) for number in range(jobs)]
    each = [{"inputs": {"image": [blob]}, "labels": {"run": str(run)}} for run, blob in enumerate(blobs)]
    return {"job": {"application": "invert", "labels": {"series": "moon"}, **shared}, "each": each}


async def test_an_array_is_one_id_and_many_jobs(server: Any) -> None:
    wanted = await body(server, 3)
    async with server.client() as client:
        answer = await client.post("/v1/arrays", json=wanted, headers={"Idempotency-Key": "once"})
        array = answer.json()
        assert answer.status_code == 202
        assert answer.headers["location"] == array["links"]["self"] == f"/v1/arrays/{array['id']}"
        assert (array["size"], array["ended"], array["counts"]["queued"]) == (3, False, 3)
        again = await client.post("/v1/arrays", json=wanted, headers={"Idempotency-Key": "once"})
        assert again.json() == array
        other = await client.post("/v1/arrays", json=await body(server, 2), headers={"Idempotency-Key": "once"})
        assert other.status_code == 409
        jobs = (await client.get(array["links"]["jobs"])).json()["jobs"]
        assert [job["array"] for job in jobs] == [{"id": array["id"], "index": n, "size": 3} for n in range(3)]
        assert array["id"] not in [job["id"] for job in jobs], "its id is its own"
        assert [job["labels"] for job in jobs] == [{"series": "moon", "run": str(n)} for n in range(3)]
        requests = [server.store.jobs.request("ada", job["id"]).inputs["image"] for job in jobs]
        assert [list(blobs) for blobs in requests] == [each["inputs"]["image"] for each in wanted["each"]]
        server.hypervisor.finish(server.store.jobs.get("ada", jobs[1]["id"]), result=bytes(6))
        shown = (await client.get(f"/v1/arrays/{array['id']}")).json()
        assert (shown["counts"]["succeeded"], shown["counts"]["queued"]) == (1, 2)
        cancelled = (await client.delete(f"/v1/arrays/{array['id']}")).json()
        assert (cancelled["ended"], cancelled["counts"]["cancelled"]) == (True, 2)
        assert (await client.delete(f"/v1/arrays/{array['id']}")).json() == cancelled


async def test_an_array_is_accepted_whole_or_not_at_all(server: Any) -> None:
    async with server.client() as client:
        answer = await client.post("/v1/arrays", json=await body(server, 4))
        assert (answer.status_code, answer.json()["code"], answer.json()["limit"]) == (429, "quota-exceeded", 3)
        wrong = await body(server, 2)
        wrong["each"][1]["inputs"] = {"image": ["00" * 32]}
        answer = await client.post("/v1/arrays", json=wrong, headers={"Idempotency-Key": "once"})
        assert (answer.status_code, answer.json()["field"]) == (422, "each[1].inputs.image[0]")
        for each in ({"arguments": {"0": {"value": 1}}}, {"inputs": {"other": ["00" * 32]}}, {"batch": 2}):
            answer = await client.post("/v1/arrays", json={**wrong, "each": [each]})
            assert (answer.status_code, answer.json()["field"].partition(".")[0]) == (422, "each[0]"), answer.text
        assert server.store.lists.page(None) == ()
        right = await client.post("/v1/arrays", json=await body(server, 3), headers={"Idempotency-Key": "once"})
        assert right.status_code == 202, "what was refused took neither key nor quota"


async def test_another_tenants_array_is_as_unknown_as_none(server: Any) -> None:
    async with server.client("grace") as client:
        theirs = (await client.post("/v1/arrays", json=await body(server, 2, "grace"))).json()["id"]
    single = (await server.submit())["id"]
    async with server.client() as client:
        for call in (client.get, client.delete):
            answers = [await call(f"/v1/arrays/{number}") for number in (theirs, single, 4711)]
            assert {answer.status_code for answer in answers} == {404}
            bodies = [
                answer.text.replace(f"arrays/{number}", "").replace(f"array {number}", "").replace(f":{number},", "")
                for answer, number in zip(answers, (theirs, single, 4711), strict=True)
            ]
            assert bodies[0].replace(f":{theirs}}}", "") == bodies[2].replace(":4711}", "")
        assert (await client.get(f"/v1/jobs?array={theirs}")).json()["jobs"] == []
    async with server.client("operator") as client:
        assert (await client.get(f"/v1/arrays/{theirs}")).json()["tenant"] == "grace"
        assert (await client.get("/v1/arrays/4711")).status_code == 404


async def test_an_array_that_has_ended_is_not_cancelled(server: Any) -> None:
    server.store.tenants.put(TenantRecord("ada", server.store.tenants.get("ada").key_hash, False, Quota(max_jobs=5)))
    async with server.client() as client:
        array = (await client.post("/v1/arrays", json=await body(server, 2))).json()["id"]
        for number in server.store.jobs.elements("ada", array):
            server.hypervisor.finish(server.store.jobs.get("ada", number), result=bytes(6))
        answer = await client.delete(f"/v1/arrays/{array}")
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


async def test_what_a_job_of_an_array_has_is_checked_when_it_is_put_together(server: Any) -> None:
    wanted = await body(server, 1, labels={f"a{number}": "" for number in range(15)})
    wanted["each"][0]["labels"] = {"b0": "", "b1": ""}
    async with server.client() as client:
        answer = await client.post("/v1/arrays", json=wanted)
        assert (answer.status_code, answer.json()["field"]) == (422, "each[0].labels"), answer.text
        wanted["each"][0]["labels"] = {"b0": "", "a1": "other"}
        assert (await client.post("/v1/arrays", json=wanted)).status_code == 202


@pytest.mark.parametrize("place", ["01", "00", "+1", "1 ", "\u0661"])
async def test_a_place_is_written_in_one_way(server: Any, place: str) -> None:
    value = {"value": 1}
    kernel = {"source": "kernel void k(int a, int b) {}", "kernel": "k", "global_size": [1], "arguments": [value] * 2}
    wanted = {"job": {"kernel": kernel}, "each": [{"arguments": {"1": value, place: value}}]}
    async with server.client() as client:
        answer = await client.post("/v1/arrays", json=wanted)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request"), answer.text
    assert answer.json()["field"].startswith("each[0].arguments")
