# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs that have ended and tenants go while a server works: by bounds, or at an operator's word."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import anyio
import pytest
from eddy.api.dependencies.context import Context
from eddy.api.service import purge_service
from eddy.api.service.purge_service import PurgeService
from eddy.core.errors import StorageFull
from eddy.store.db.bounds import JobBounds

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _young_jobs_go_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eddy.store.job_tables.purge.MIN_AGE_S", -1.0)


def bounded(server: Any, **bounds: float) -> Context:
    context: Context = server.app.state.context
    context.settings = dataclasses.replace(context.settings, retention=JobBounds(**bounds))  # type: ignore[arg-type]
    return context


async def ended(server: Any, count: int, who: str = "ada") -> list[int]:
    found = []
    for _ in range(count):
        job = await server.submit(who)
        server.hypervisor.finish(server.store.jobs.get(who, job["id"]), result=bytes(6))
        found.append(job["id"])
    return found


async def listed(server: Any, who: str = "ada") -> list[int]:
    async with server.client(who) as client:
        return sorted(job["id"] for job in (await client.get("/v1/jobs")).json()["jobs"])


async def until_gone(server: Any, tenant: str) -> None:
    while tenant in server.store.tenants.list_leaving():
        await PurgeService(server.app.state.context).purge_excess()


async def test_a_clock_that_jumped_takes_no_job_for_old_until_it_was_steady(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = await ended(server, 2)
    wall, steady, now_s = [0.0], [100.0], time.time()
    context = bounded(server, max_age_s=3600.0)
    looking = PurgeService(context, lambda: wall[0] + steady[0], lambda: steady[0])
    monkeypatch.setattr("eddy.store.job_tables.purge.time.time", lambda: now_s + wall[0])
    wall[0] = 86400.0
    await looking.purge_excess()
    steady[0] += purge_service.BELIEVED_S - 1
    await looking.purge_excess()
    assert await listed(server) == jobs
    steady[0] += 1
    await looking.purge_excess()
    assert await listed(server) == []


async def test_jobs_beyond_a_bound_go_and_answers_say_so(server: Any) -> None:
    jobs = await ended(server, 5)
    looking = PurgeService(bounded(server, max_jobs_per_tenant=3))
    await looking.purge_excess()
    assert await listed(server) == jobs[3:]
    async with server.client() as client:
        for path in ("", "/events", "/log", "/outputs/result"):
            gone = await client.get(f"/v1/jobs/{jobs[0]}{path}")
            assert (gone.status_code, gone.json()["code"]) == (404, "not-found"), path
            assert gone.json()["detail"] == (
                f"there is no job {jobs[0]}, or it was removed after its end: `eddy jobs` lists yours"
            )
        body = {"application": "invert", "inputs": {"image": [await server.put(bytes(range(6)))]}, "after": [jobs[0]]}
        refused = await client.post("/v1/jobs", json=body)
        assert (refused.status_code, refused.json()["field"]) == (422, "after[0]")
        assert "or it was removed after its end" in refused.json()["detail"]
    async with server.client("operator") as client:
        text = (await client.get("/metrics")).text
    assert "eddy_jobs_purged_total 3.0" in text
    assert "eddy_jobs_kept 2.0" in text
    (entry,) = server.store.audit.entries()
    assert (entry.actor, entry.action, entry.facts["before"]) == ("", "purge-jobs", 0)
    assert entry.facts["retention_jobs_per_tenant"] == 3
    await looking.purge_excess()
    assert len(server.store.audit.entries()) == 1, "nothing went"


async def test_the_audit_log_does_not_grow_with_every_job_that_goes(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking = PurgeService(bounded(server, max_jobs=1))
    for _ in range(3):
        await ended(server, 2)
        await looking.purge_excess()
    assert len(server.store.audit.entries()) == 1
    monkeypatch.setattr(purge_service, "NOTE_S", 0.0)
    await ended(server, 2)
    await looking.purge_excess()
    assert [entry.facts["before"] for entry in server.store.audit.entries()] == [0, 5]


async def test_a_feed_goes_on_from_an_event_of_a_job_that_went(server: Any) -> None:
    jobs = await ended(server, 2)
    async with server.client() as client:
        seen = server.store.events.list_events("ada", jobs[0])[-1].seq
        await PurgeService(bounded(server, max_jobs=1)).purge_excess()
        await ended(server, 1)
        following = {"Last-Event-ID": str(seen)}
        feed = await client.get("/v1/events?follow=false", headers=following)
        assert feed.status_code == 200
        assert '"submitted"' in feed.text
        earlier = {"Last-Event-ID": str(seen - 1)}
        missed = await client.get("/v1/events?follow=false", headers=earlier)
        assert (missed.status_code, missed.json()["code"]) == (410, "unknown-cursor"), "it would miss one"
        unknown = await client.get("/v1/events?follow=false", headers={"Last-Event-ID": str(seen + 10_000)})
        assert (unknown.status_code, unknown.json()["code"]) == (410, "unknown-cursor")


async def test_the_operator_purges_by_age_count_and_tenant(server: Any) -> None:
    mine, theirs = await ended(server, 3), await ended(server, 2, "grace")
    async with server.client("operator") as client:
        nothing = await client.post("/v1/admin/purge", json={"older_than_s": 3600})
        assert nothing.json() == {"removed": 0, "more": False}
        time.sleep(0.001)
        some = await client.post("/v1/admin/purge", json={"older_than_s": 0, "tenant": "ada", "keep": 1})
        assert some.json() == {"removed": 2, "more": False}
        assert (await client.post("/v1/admin/purge", json={})).status_code == 422
    assert (await listed(server), await listed(server, "grace")) == (mine[2:], theirs)
    entry = server.store.audit.entries()[-1]
    assert (entry.actor, entry.action) == ("operator", "purge-jobs")
    assert entry.facts == {"before": 0, "older_than_s": 0.0, "tenant": "ada", "keep": 1}
    async with server.client() as client:
        assert (await client.post("/v1/admin/purge", json={"older_than_s": 0})).status_code == 403


async def test_a_long_purge_answers_in_between(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eddy.api.routes.admin._WORK_S", -1.0)
    monkeypatch.setattr("eddy.store.job_tables.purge.BATCH", 2)
    await ended(server, 3)
    removed, more, asked = 0, True, 0
    async with server.client("operator") as client:
        while more:
            answer = (await client.post("/v1/admin/purge", json={"older_than_s": 0})).json()
            removed, more, asked = removed + answer["removed"], answer["more"], asked + 1
    assert (removed, await listed(server)) == (3, [])
    assert asked > 1


async def test_a_tenant_is_removed_once_its_jobs_were_cancelled(server: Any) -> None:
    blob = await server.put(b"only mine")
    await ended(server, 1)
    running = (await server.submit())["id"]
    kept = await ended(server, 1, "grace")
    async with server.client("operator") as client:
        refused = await client.delete("/v1/admin/tenants/ada")
        assert (refused.status_code, refused.json()["code"], refused.json()["jobs"]) == (409, "conflict", 1)
        assert await listed(server) != [], "nothing has changed"
        asked = await client.delete("/v1/admin/tenants/ada?cancel=true")
        assert (asked.status_code, asked.json()) == (202, {"id": "ada", "jobs": 1})
        assert (await client.get("/v1/admin/tenants/ada")).json()["leaving"] is True
        assert "eddy_tenants_leaving 1.0" in (await client.get("/metrics")).text
        assert (await client.patch("/v1/admin/tenants/ada", json={"weight": 2})).status_code == 409
        assert (await client.post("/v1/keys", json={"tenant": "ada"})).status_code == 409
    async with server.client() as client:
        assert (await client.get("/v1/jobs")).status_code == 401, "its keys end with the answer"
    assert server.store.jobs.get("ada", running).state.value == "queued"
    await until_gone(server, "ada")
    assert server.store.blobs.size_bytes("ada", blob) is None
    async with server.client("operator") as client:
        assert (await client.get("/v1/admin/tenants/ada")).status_code == 404
        assert (await client.delete("/v1/admin/tenants/ada")).status_code == 404
        assert (await client.get(f"/v1/jobs/{running}")).status_code == 404
        again = await client.post("/v1/admin/tenants", json={"id": "ada"})
        assert (again.status_code, again.json()["code"]) == (409, "conflict")
        assert "keep its name: use another one" in again.json()["detail"]
    assert await listed(server, "grace") == kept
    (entry,) = [entry for entry in server.store.audit.entries() if entry.action == "remove-tenant"]
    assert (entry.actor, entry.action, entry.facts) == ("operator", "remove-tenant", {"tenant": "ada", "cancel": True})


async def test_streams_and_sessions_of_a_tenant_end(server: Any) -> None:
    async with server.client() as browser:
        await browser.post("/v1/session", json={"key": server.keys["ada"]})
        del browser.headers["Authorization"]
        assert (await browser.get("/v1/jobs")).status_code == 200
        async with server.client("operator") as client:
            await client.delete("/v1/admin/tenants/ada")
        assert (await browser.get("/v1/jobs")).status_code == 401


async def test_operators_stay(server: Any) -> None:
    async with server.client("operator") as client:
        refused = await client.delete("/v1/admin/tenants/operator?cancel=true")
        assert (refused.status_code, refused.json()["field"]) == (409, "tenant")
    async with server.client("grace") as client:
        assert (await client.delete("/v1/admin/tenants/ada")).status_code == 403


async def test_a_disk_that_refuses_is_asked_again(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = await ended(server, 3)
    calls = 0

    def refuse(*_: Any) -> int:
        nonlocal calls
        calls += 1
        raise StorageFull("the disk is full")

    monkeypatch.setattr(purge_service, "PERIOD_S", 0.001)
    looking = PurgeService(bounded(server, max_jobs=2))
    with monkeypatch.context() as patched:
        patched.setattr(server.store.purge, "purge_excess", refuse)
        async with anyio.create_task_group() as group:
            group.start_soon(looking.run)
            while calls < 2:
                await anyio.sleep(0.001)
            group.cancel_scope.cancel()
    assert await listed(server) == jobs
    async with anyio.create_task_group() as group:
        group.start_soon(looking.run)
        while await listed(server) != jobs[2:]:
            await anyio.sleep(0.001)
        group.cancel_scope.cancel()
