# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Outputs that are held stay when room is made: within the tenant's bytes, or at the operator's word."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from eddy.api.service.retention import collect
from eddy.core.jobs import JobState
from eddy.core.records import JobRequest
from eddy.store import Store
from eddy.store.db.rows import Commit, ItemOutput
from eddy.store.job_tables.retention import EvictionCandidate

pytestmark = pytest.mark.anyio


async def ended(server: Any, who: str = "ada", data: bytes = bytes(6)) -> int:
    job = int((await server.submit(who))["id"])
    server.hypervisor.finish(server.store.jobs.get(who, job), result=data)
    return job


async def ask(server: Any, who: str, method: str, job: int) -> Any:
    async with server.client(who) as client:
        return await client.request(method, f"/v1/jobs/{job}/hold")


def make_room(server: Any, quota: int) -> bool:
    context = server.app.state.context
    context.settings = dataclasses.replace(context.settings, max_output_bytes=quota)
    return collect(context)


async def test_what_is_held_stays_and_what_is_let_go_goes(server: Any) -> None:
    first, second = await ended(server), await ended(server)
    held = await ask(server, "ada", "PUT", first)
    assert (held.status_code, held.json()["held_by"]) == (200, "tenant")
    assert (await ask(server, "ada", "PUT", first)).json() == held.json(), "holding twice is holding"
    assert server.store.blobs.ledger.tenant_bytes("ada") == 6 + 6, "the input blob, and what is held, once"
    assert make_room(server, 7)
    assert server.store.jobs.get("ada", second).collected_unix_s is not None
    async with server.client() as client:
        assert (await client.get(f"/v1/jobs/{first}/outputs/result")).content == bytes(6)
        assert (await client.get("/v1/quota")).json()["blob_bytes"] == 12
        assert (await client.get("/v1/jobs")).json()["jobs"][1]["held_by"] == "tenant"
    gone = await ask(server, "ada", "PUT", second)
    assert (gone.status_code, gone.json()["code"]) == (410, "outputs-collected")
    assert (await ask(server, "ada", "DELETE", first)).json()["held_by"] is None
    assert server.store.blobs.ledger.tenant_bytes("ada") == 6
    assert make_room(server, 1)
    assert server.store.jobs.get("ada", first).collected_unix_s is not None


async def test_a_hold_is_within_the_quota_of_bytes(server: Any) -> None:
    large = await ended(server, data=bytes(995))
    refused = await ask(server, "ada", "PUT", large)
    assert (refused.status_code, refused.json()["code"], refused.json()["limit"]) == (429, "quota-exceeded", 1000)
    assert server.store.blobs.ledger.tenant_bytes("ada") == 6, "nothing stays booked"
    small = await ended(server, data=bytes(990))
    assert (await ask(server, "ada", "PUT", small)).status_code == 200
    async with server.client() as client:
        assert (await client.put(f"/v1/blobs/{'0' * 64}", content=bytes(500))).status_code == 429
    assert not make_room(server, 100), "what is held leaves no room, and that is said"
    assert server.store.jobs.get("ada", small).collected_unix_s is None


async def test_nobody_holds_anothers_and_nothing_is_held_before_its_end(server: Any) -> None:
    theirs = await ended(server, "grace")
    for method in ("PUT", "DELETE"):
        assert (await ask(server, "ada", method, theirs)).status_code == 404
    running = (await server.submit())["id"]
    early = await ask(server, "ada", "PUT", running)
    assert (early.status_code, early.json()["state"]) == (409, "queued")


async def test_an_operators_hold_costs_the_tenant_nothing_and_is_not_the_tenants_to_end(server: Any) -> None:
    job = await ended(server, data=bytes(994))
    assert (await ask(server, "ada", "PUT", job)).status_code == 200
    assert (await ask(server, "operator", "PUT", job)).json()["held_by"] == "operator"
    assert server.store.blobs.ledger.tenant_bytes("ada") == 6, "the operator's hold replaces the tenant's"
    assert (await ask(server, "ada", "PUT", job)).json()["held_by"] == "operator"
    assert (await ask(server, "ada", "DELETE", job)).status_code == 409
    assert (await ask(server, "operator", "DELETE", job)).json()["held_by"] is None
    assert [(e.actor, e.action, e.facts["tenant"]) for e in server.store.audit.entries()] == [
        ("operator", "hold-outputs", "ada"),
        ("operator", "let-outputs-go", "ada"),
    ]


async def test_a_hold_that_comes_while_room_is_made_holds(server: Any) -> None:
    job = await ended(server)
    leaving = [EvictionCandidate(job, 6)]
    server.store.holds.hold("ada", job)
    assert server.store.retention.collect(leaving) == 0
    assert server.store.outputs.read("ada", job, "result") == bytes(6)


async def test_holds_outlive_the_server(tmp_path: Path) -> None:
    store = Store(tmp_path / "eddy.sqlite3")
    record, _ = store.submissions.add_job(JobRequest("ada", "invert"), 0.0)
    ended = dataclasses.replace(record, state=JobState.SUCCEEDED, ended_s=1.0)
    store.commit(Commit(jobs=((ended, {}),), results=(ItemOutput(record.id, "result", 0, bytes(6)),)))
    store.holds.hold("ada", record.id)
    store.close()
    store = Store(tmp_path / "eddy.sqlite3")
    assert (store.blobs.ledger.tenant_bytes("ada"), store.jobs.get("ada", record.id).held_by) == (6, "tenant")
    assert store.holds.let_go("ada", record.id).held_by == ""
    assert store.blobs.ledger.tenant_bytes("ada") == 0
