# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What jobs, arrays and events are called tells a tenant nothing of how much others do."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pytest
from eddy.core.records import JobEvent, JobEventKind, SlotStatus
from eddy.core.tenants import Quota, TenantRecord
from eddy.store.db.numbers import load_numbers
from eddy.store.db.rows import Commit

pytestmark = pytest.mark.anyio


@pytest.fixture
def hidden(server: Any) -> Any:
    """A server that tells its counts as one in service does."""
    server.tell_as(load_numbers(server.store.database))
    for name in ("ada", "grace"):
        quota = Quota(max_jobs=10, max_blob_bytes=1000, max_priority=9)
        server.store.tenants.put(
            TenantRecord(name, server.app.state.context.hasher.hash(server.keys[name]), quota=quota)
        )
    return server


async def events(server: Any, path: str, who: str, last: int | None = None) -> list[tuple[int, dict[str, Any]]]:
    """A stream's entries, with their ids."""
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    async with server.client(who) as client:
        answer = await client.get(path, headers=headers)
    found, number = list[tuple[int, dict[str, Any]]](), 0
    for line in answer.text.splitlines():
        if line.startswith("id: "):
            number = int(line[4:])
        elif line.startswith('data: {"'):
            found.append((number, json.loads(line[6:])))
    return found


async def test_ids_say_nothing_of_what_others_submitted(hidden: Any) -> None:
    server = hidden
    first = (await server.submit())["id"]
    for _ in range(2):
        await server.submit("grace")
    second = (await server.submit())["id"]
    assert {len(str(first)), len(str(second))} == {12}
    assert [server.store.numbers.job.resolve_id(job) for job in (first, second)] == [1, 4]
    assert abs(second - first) > 1000


async def test_no_count_is_in_any_answer_about_jobs(hidden: Any) -> None:
    server = hidden
    for _ in range(3):
        await server.submit("grace")
    job = await server.submit(labels={"a": "b"})
    after = await server.submit(after=[job["id"]], afterany=[job["id"]], afternotok=[job["id"]])
    body = {"job": {"application": "invert", "inputs": job_inputs()}, "each": [{}]}
    number = server.store.numbers.job.resolve_id(job["id"])
    assert number == 4
    server.hypervisor.statuses = (SlotStatus(0, "pipeline", "slot_0", "inverter", "ada", number, 0, 0, "running", 0.5),)
    span = JobEvent(0, number, "ada", 2.0, JobEventKind.ITEM_DONE, slot=0, task=0, item=0, started_s=1.5)
    server.store.commit(Commit(events=(span,)))
    here = f"/v1/jobs/{job['id']}"
    async with server.client() as client:
        array = await client.post("/v1/arrays", json=body)
        assert array.status_code == 202, array.text
        answers = {
            path: await client.get(path)
            for path in (here, f"{here}/explain", "/v1/jobs?limit=1", "/v1/overview", "/v1/slots", f"{here}/log",
                         f"/v1/arrays/{array.json()['id']}", f"/v1/jobs?array={array.json()['id']}",
                         f"{here}/outputs/result")
        }  # fmt: skip
        page = answers["/v1/jobs?limit=1"].json()
        following = await client.get("/v1/jobs", params={"limit": 1, "cursor": page["next"]})
        answers["cancel"] = await client.delete(here)
        answers["again"] = await client.delete(f"/v1/arrays/{array.json()['id']}")
        answers["gone"] = await client.delete(f"/v1/arrays/{array.json()['id']}")
        blob = job["links"]["self"]
    assert blob == here
    assert answers[here].json()["id"] == job["id"]
    assert (after["after"], page["jobs"][0]["array"]["id"]) == ([job["id"]], array.json()["id"])
    assert following.json()["jobs"][0]["id"] == after["id"]
    assert answers["/v1/slots"].json()["slots"][0]["job"] == job["id"]
    assert answers["/v1/overview"].json()["spans"][0]["job"] == job["id"]
    assert answers[f"{here}/explain"].json()["job"] == job["id"]
    assert answers[f"/v1/jobs?array={array.json()['id']}"].json()["jobs"][0]["array"]["id"] == array.json()["id"]
    named = re.compile(r"(?:jobs?|array|\"id\"|\"after\w*\")[\": /\[]*([0-9]+)")
    for what, answer in answers.items():
        said = answer.text + json.dumps(dict(answer.headers))
        short = [found for found in named.findall(said) if len(found) < 12]
        assert not short, (what, short, said)


def job_inputs() -> dict[str, list[str]]:
    """What `Server.submit` has uploaded."""
    return {"image": [hashlib.sha256(bytes(range(6))).hexdigest()]}


async def test_events_are_called_alike_in_every_stream_and_resumed_by_that(hidden: Any) -> None:
    server = hidden
    for _ in range(2):
        await server.submit("grace")
    job = await server.submit()
    server.hypervisor.finish(
        server.store.jobs.get("ada", server.store.numbers.job.resolve_id(job["id"])), result=bytes(6)
    )
    own = await events(server, f"/v1/jobs/{job['id']}/events", "ada")
    feed = await events(server, "/v1/events?follow=false&last=100", "ada")
    assert [number for number, _ in own] == [number for number, _ in feed]
    assert {entry["job"] for _, entry in own} == {job["id"]}
    assert all(len(str(number)) == 15 for number, _ in own)
    for place, (number, _) in enumerate(own):
        assert await events(server, "/v1/events?follow=false", "ada", number) == feed[place + 1 :]
        assert await events(server, f"/v1/jobs/{job['id']}/events", "ada", number) == own[place + 1 :]


async def test_the_operator_names_everyones_jobs_as_their_tenants_do(hidden: Any) -> None:
    server = hidden
    jobs = {who: (await server.submit(who))["id"] for who in ("ada", "grace")}
    async with server.client("operator") as client:
        listed = (await client.get("/v1/jobs")).json()["jobs"]
        assert {job["tenant"]: job["id"] for job in listed} == jobs
        for who, job in jobs.items():
            assert (await client.get(f"/v1/jobs/{job}")).json()["tenant"] == who
        assert (await client.delete(f"/v1/jobs/{jobs['grace']}")).json()["state"] == "cancelled"


GONE = "there is no job {}, or it was removed after its end: `eddy jobs` lists yours"


@pytest.mark.parametrize("who", ["ada", "operator"])
async def test_counts_and_guesses_name_no_job(hidden: Any, who: str) -> None:
    """What is there and another's, what is inside the range and not there, and what is outside are answered alike."""
    server = hidden
    other = (await server.submit("grace"))["id"]
    free = server.store.numbers.job.public_id(77)
    guesses = [1, 2, 99, free, 10**12, (1 << 63) - 1, *([other] if who == "ada" else [])]
    async with server.client(who) as client:
        for guess in guesses:
            for path in (f"/v1/jobs/{guess}", f"/v1/jobs/{guess}/explain", f"/v1/jobs/{guess}/log"):
                answer = await client.get(path)
                assert (answer.status_code, answer.json()["asked"]) == (404, guess)
                assert answer.json()["detail"] == GONE.format(guess)
            answer = await client.get(f"/v1/arrays/{guess}")
            assert (answer.status_code, answer.json()["detail"]) == (
                404,
                f"There is no array {guess}, or it was removed after its end; a job is shown by `eddy job`.",
            )
            answer = await client.post("/v1/jobs", json={"application": "invert", "inputs": {}, "after": [guess]})
            assert answer.status_code == 422
            assert (await client.get("/v1/jobs", params={"array": guess})).json()["jobs"] == []
