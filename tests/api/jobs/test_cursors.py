# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Places to go on from: each list and stream takes its own, and refuses all others by one code, whatever they were."""

from __future__ import annotations

import re
from typing import Any

import pytest
from eddy.store.db.numbers import load_numbers

pytestmark = pytest.mark.anyio
BEHIND = (1 << 63) - 1
IDS = re.compile(r"^id: (\d+)$", re.MULTILINE)


@pytest.fixture(params=["as they are", "as in service"])
def counted(request: Any, server: Any) -> Any:
    """A server, whose counts are told as they are, or as one in service tells them."""
    if request.param == "as in service":
        server.tell_as(load_numbers(server.store.database))
    return server


async def refused(client: Any, path: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
    answer = await client.get(path, headers=headers or {})
    assert (answer.status_code, answer.json()["code"]) == (410, "unknown-cursor"), (path, headers, answer.text)
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    return found


async def test_streams_go_on_from_their_own_events_alone(counted: Any) -> None:
    server = counted
    mine, other = await server.submit(), await server.submit()
    theirs = await server.submit("grace")
    for job in (mine, other):
        server.hypervisor.finish(
            server.store.jobs.get("ada", server.store.numbers.job.resolve_id(job["id"])), result=bytes(6)
        )
    async with server.client("operator") as client:
        everything = list(map(int, IDS.findall((await client.get("/v1/events?last=100&follow=false")).text)))
        hers = list(map(int, IDS.findall((await client.get(f"/v1/jobs/{mine['id']}/events")).text)))
    assert (len(everything), len(hers)) == (5, 2)
    async with server.client() as client:
        feed = list(map(int, IDS.findall((await client.get("/v1/events?last=100&follow=false")).text)))
        assert len(feed) == 4
        texts = set()
        for event in {*everything, 1, 77, 10**14 + 7, BEHIND, max(everything) + 1}:
            last = {"Last-Event-ID": str(event)}
            if event in feed:
                after = IDS.findall((await client.get("/v1/events?follow=false", headers=last)).text)
                assert after == [str(each) for each in feed[feed.index(event) + 1 :]]
            else:
                problem = await refused(client, "/v1/events?follow=false", last)
                texts.add(re.sub(rf"\b{event}\b", "N", str(problem)))
                assert (problem["field"], problem["asked"]) == ("Last-Event-ID", event)
            where = f"/v1/jobs/{mine['id']}/events"
            if event in hers:
                answer = await client.get(where, headers=last)
                assert answer.status_code == (204 if event == hers[-1] else 200)
                assert IDS.findall(answer.text) == [str(each) for each in hers[hers.index(event) + 1 :]]
            else:
                await refused(client, where, last)
        assert len(texts) == 1, "another tenant's cannot be told from none"
        for path in ("/v1/events?follow=false", f"/v1/jobs/{mine['id']}/events"):
            start = await client.get(path, headers={"Last-Event-ID": "0"})
            assert len(IDS.findall(start.text)) == (len(feed) if "follow" in path else len(hers))
            for garbage in ("soon", "-1", "1.5", "", "9" * 30):
                answer = await client.get(path, headers={"Last-Event-ID": garbage})
                assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request"), garbage
        assert theirs["id"] not in feed
    async with server.client("operator") as client:
        for event in everything:
            assert (
                await client.get("/v1/events?follow=false", headers={"Last-Event-ID": str(event)})
            ).status_code == 200


async def test_an_event_that_was_removed_is_none(server: Any) -> None:
    job = await server.submit()
    async with server.client() as client:
        (event,) = IDS.findall((await client.get("/v1/events?last=9&follow=false")).text)
        with server.store.database.transaction() as db:
            db.execute("DELETE FROM event")
        for path in ("/v1/events?follow=false", f"/v1/jobs/{job['id']}/events"):
            await refused(client, path, {"Last-Event-ID": event})


@pytest.mark.parametrize("sort", ["newest", "oldest", "ended"])
async def test_a_list_goes_on_from_its_own_places_alone(counted: Any, sort: str) -> None:
    server = counted
    jobs = [await server.submit() for _ in range(3)]
    meant = server.store.numbers.job.resolve_id
    for job in jobs:
        server.hypervisor.finish(server.store.jobs.get("ada", meant(job["id"])), result=bytes(6))
    theirs = await server.submit("grace")
    server.hypervisor.finish(server.store.jobs.get("grace", meant(theirs["id"])), result=bytes(6))
    async with server.client("grace") as client:
        await client.get(f"/v1/jobs?limit=1&sort={sort}")
        foreign = (await client.get(f"/v1/jobs?limit=1&sort={sort}")).json()
    assert foreign["next"] is None
    async with server.client("operator") as client:
        everyone = (await client.get(f"/v1/jobs?limit=1&sort={sort}&tenant=grace")).json()
        assert everyone["next"] is None
        hers = (await client.get(f"/v1/jobs?limit=4&sort={sort}")).json()["jobs"]
        assert len(hers) == 4
    async with server.client() as client:
        page = (await client.get(f"/v1/jobs?limit=2&sort={sort}")).json()
        place, number = page["next"].split(".")
        rest = (await client.get(f"/v1/jobs?limit=2&sort={sort}&cursor={page['next']}")).json()
        assert (len(rest["jobs"]), rest["next"]) == (1, None)
        wrong = [f"{int(place) + 1}.{number}", f"0.{number}", f"{place}.{theirs['id']}", f"{place}.{int(number) + 70}"]
        wrong += [f"{place}.{10**17}", f"{place}.0", f"{round(theirs['submitted_unix_s'] * 1e6)}.{theirs['id']}"]
        for cursor in wrong:
            problem = await refused(client, f"/v1/jobs?limit=2&sort={sort}&cursor={cursor}")
            assert problem["field"] == "cursor"
        for garbage in ("x", "1", "1.", ".1", "1.2.3", "-1.2"):
            answer = await client.get(f"/v1/jobs?sort={sort}&cursor={garbage}")
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
        # What stood there may have been removed since; the place is still one of the list.
        with server.store.database.transaction() as db:
            for table, column in (("label", "job"), ("result", "job"), ("idempotency", "job"), ("job", "id")):
                db.execute(f"DELETE FROM {table} WHERE {column} = ?", (meant(int(number)),))
        again = await client.get(f"/v1/jobs?limit=2&sort={sort}&cursor={page['next']}")
        assert again.json()["jobs"] == rest["jobs"]


async def test_the_audit_log_goes_on_from_entries_there_were(server: Any) -> None:
    async with server.client("operator") as client:
        for number in range(3):
            assert (await client.post("/v1/admin/tenants", json={"id": f"t{number}"})).status_code == 201
        entries = (await client.get("/v1/admin/audit")).json()["entries"]
        last = entries[-1]["seq"]
        assert (await client.get(f"/v1/admin/audit?after={last}")).json()["entries"] == []
        assert len((await client.get(f"/v1/admin/audit?after={last - 1}")).json()["entries"]) == 1
        for after in (last + 1, BEHIND):
            assert (await refused(client, f"/v1/admin/audit?after={after}"))["field"] == "after"


def cursors(server: Any) -> set[tuple[str, str]]:
    """Routes that take a place to go on from, by the parameter that names it."""
    names = ("cursor", "after", "last-event-id")
    return {
        (path, each["name"].lower())
        for path, methods in server.app.openapi()["paths"].items()
        for each in methods.get("get", {}).get("parameters", ())
        if each["name"].lower() in names
    }


def test_every_route_with_a_cursor_is_tried_here_or_in_the_market(server: Any) -> None:
    assert cursors(server) == {
        ("/v1/jobs", "cursor"),
        ("/v1/jobs/{job}/events", "last-event-id"),
        ("/v1/events", "last-event-id"),
        ("/v1/admin/audit", "after"),
        ("/v1/market/history", "after"),
        ("/v1/blobs", "cursor"),  # a hash is a place of its own, whether or not such bytes are there
    }
