# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""No id is both a job's and an array's: each route takes its own, and what names either says which it is."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from eddy.core.tenants import Quota

pytestmark = pytest.mark.anyio
PLACES = re.compile(r"{(job|array)}")


async def both(server: Any, who: str = "ada") -> tuple[int, list[int]]:
    """The id of an array of two jobs, and theirs."""
    blob = await server.put(bytes(6), who)
    body = {"job": {"application": "invert", "inputs": {"image": [blob]}}, "each": [{}, {}]}
    async with server.client(who) as client:
        array = (await client.post("/v1/arrays", json=body)).json()
        jobs = (await client.get(array["links"]["jobs"])).json()["jobs"]
    return array["id"], [job["id"] for job in jobs]


def routes(server: Any) -> list[tuple[str, str, str]]:
    """Method, path and what it names, of all routes that name a job or an array."""
    found = []
    for path, methods in server.app.openapi()["paths"].items():
        place = PLACES.search(path)
        if place:
            found += [(method.upper(), path, place[1]) for method in methods]
    return found


def at(path: str, number: int) -> str:
    return PLACES.sub(str(number), path).replace("{name}", "result")


def without(text: str, number: int) -> str:
    return re.sub(rf"\b{number}\b", "N", text)


@pytest.mark.parametrize("who", ["ada", "operator"])
async def test_each_route_takes_its_own_ids_and_none_of_the_others(server: Any, who: str) -> None:
    array, (first, second) = await both(server)
    every = routes(server)
    assert len({path for _, path, _ in every}) >= 7, every
    async with server.client(who) as client:
        for method, path, what in every:
            for wrong in (first, second) if what == "array" else (array,):
                where = at(path, wrong)
                answer = await client.request(method, where)
                assert (answer.status_code, answer.json()["code"]) == (404, "not-found"), (method, where)
                says = "it is an array: `eddy array show" if what == "job" else "`eddy job`"
                assert says in answer.json()["detail"], answer.text
        shown = (await client.get(f"/v1/arrays/{array}")).json()
        assert (shown["counts"]["queued"], shown["size"]) == (2, 2), "nothing was cancelled"


async def test_who_may_not_see_an_array_is_not_told_that_it_is_one(server: Any) -> None:
    array, _ = await both(server)
    async with server.client("grace") as client:
        for method, path, _ in routes(server):
            answers = [await client.request(method, at(path, number)) for number in (array, 4711)]
            assert {answer.status_code for answer in answers} == {404}
            texts = [without(answer.text, number) for answer, number in zip(answers, (array, 4711), strict=True)]
            assert texts[0] == texts[1]


async def test_lists_are_of_arrays_and_of_no_job(server: Any) -> None:
    array, (first, second) = await both(server)
    async with server.client() as client:
        for number, found in ((array, [second, first]), (first, []), (second, [])):
            jobs = (await client.get(f"/v1/jobs?array={number}")).json()["jobs"]
            assert [job["id"] for job in jobs] == found
            assert all(job["array"]["id"] == array for job in jobs)


async def test_what_a_job_waits_for_may_be_either(server: Any) -> None:
    array, (first, _) = await both(server)
    blob = await server.put(bytes(6))
    body = {"application": "invert", "inputs": {"image": [blob]}}
    named = {"after": [array, first], "afterany": [array], "afternotok": [first]}
    async with server.client() as client:
        answer = (await client.post("/v1/jobs", json={**body, **named})).json()
        assert {name: answer[name] for name in named} == named
        shown = (await client.get(answer["links"]["self"])).json()
        assert {name: shown[name] for name in named} == named
        record = server.store.jobs.get("ada", answer["id"])
    assert [(each.id, each.wanted.value, each.array) for each in record.asked.after] == [
        *((array, "after", True), (first, "after", False)),
        *((array, "afterany", True), (first, "afternotok", False)),
    ]


@pytest.mark.parametrize("field", ["after", "afterany", "afternotok", "aftercorr"])
async def test_others_arrays_cannot_be_told_from_none(server: Any, field: str) -> None:
    theirs, _ = await both(server, "grace")
    blob = await server.put(bytes(6))
    shared = {"application": "invert", "inputs": {"image": [blob]}}
    async with server.client() as client:
        for dry in ("", "?dry_run=true"):
            texts = []
            for number in (theirs, 4711):
                answer = await client.post(f"/v1/jobs{dry}", json={**shared, field: [number]})
                assert (answer.status_code, answer.json()["field"]) == (422, f"{field}[0]")
                texts.append(without(answer.text, number))
            assert texts[0] == texts[1]
        array = await client.post("/v1/arrays", json={"job": {**shared, field: [theirs]}, "each": [{}, {}]})
        assert (array.status_code, array.json()["field"]) == (422, f"{field}[0]")


async def test_places_and_bounds_of_an_array(server: Any) -> None:
    array, (first, second) = await both(server)
    server.store.tenants.put(replace(server.store.tenants.get("ada"), quota=Quota(max_jobs=50)))
    blob = await server.put(bytes(6))
    job = {"application": "invert", "inputs": {"image": [blob]}, "aftercorr": [array]}
    async with server.client() as client:
        wanted = {"job": job, "each": [{}, {}], "max_running": 1}
        once = {"Idempotency-Key": "once"}
        made = await client.post("/v1/arrays", json=wanted, headers=once)
        assert (made.status_code, made.json()["max_running"]) == (202, 1)
        jobs = (await client.get(made.json()["links"]["jobs"])).json()["jobs"]
        assert [each["after"] for each in jobs] == [[first], [second]]
        assert (await client.get(made.json()["links"]["self"])).json()["max_running"] == 1
        assert (await client.post("/v1/arrays", json=wanted, headers=once)).json()["id"] == made.json()["id"]
        other = await client.post("/v1/arrays", json={**wanted, "max_running": 2}, headers=once)
        assert (other.status_code, other.json()["code"]) == (409, "conflict")
        for wrong, field in (
            ({**wanted, "each": [{}]}, "aftercorr[0]"),
            ({**wanted, "max_running": 0}, "max_running"),
            ({**wanted, "max_running": 1001}, "max_running"),
            ({"job": {**job, "aftercorr": [first]}, "each": [{}, {}]}, "aftercorr[0]"),
        ):
            answer = await client.post("/v1/arrays", json=wrong)
            assert (answer.status_code, answer.json()["field"]) == (422, field), answer.text
        assert (await client.post("/v1/jobs", json={**job, "max_running": 1})).status_code == 422
        assert (await client.get(f"/v1/arrays/{array}")).json()["max_running"] is None


async def test_an_array_and_a_job_do_not_share_an_idempotency_key(server: Any) -> None:
    blob = await server.put(bytes(6))
    job = {"application": "invert", "inputs": {"image": [blob]}}
    async with server.client() as client:
        for key, first, second in (
            ("a", ("/v1/arrays", {"job": job, "each": [{}]}), ("/v1/jobs", job)),
            ("b", ("/v1/jobs", job), ("/v1/arrays", {"job": job, "each": [{}]})),
        ):
            headers = {"Idempotency-Key": key}
            assert (await client.post(first[0], json=first[1], headers=headers)).status_code == 202
            answer = await client.post(second[0], json=second[1], headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
