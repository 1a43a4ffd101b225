# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A stream ends with the key or the session it was opened with; one tenant's leave connections to others."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import anyio
import pytest
from eddy.api.http.connections import ConnectionLimits

pytestmark = pytest.mark.anyio
LONG_S = 180


async def _feeds(server: Any, group: Any, who: str, count: int = 1, **more: Any) -> list[int]:
    """Open feeds, and wait until the server holds them; in what is answered their statuses appear as they end."""
    statuses: list[int] = []
    standing = server.app.state.context.open_streams

    async def follow() -> None:
        async with server.client(who) as client:
            statuses.append((await client.get("/v1/events", **more)).status_code)

    def open_now() -> int:
        return sum(len(streams) for streams in standing._open.values())

    before = open_now()
    for _ in range(count):
        group.start_soon(follow)
    with anyio.fail_after(LONG_S):
        while open_now() + len(statuses) < before + count:
            await anyio.sleep(0.002)
    return statuses


async def test_a_feed_ends_when_its_key_is_revoked_and_others_go_on(server: Any) -> None:
    standing = server.app.state.context.open_streams
    async with server.client("ada") as client:
        made = (await client.post("/v1/keys", json={"label": "lost"})).json()
    server.keys["lost"] = made["key"]
    async with anyio.create_task_group() as group:
        lost = await _feeds(server, group, "lost")
        kept = await _feeds(server, group, "ada")
        standing.end_revoked()
        await anyio.sleep(0.02)
        assert (lost, kept) == ([], [])
        async with server.client("ada") as client:
            assert (await client.delete(f"/v1/keys/{made['id']}")).status_code == 204
        standing.end_revoked()
        with anyio.fail_after(LONG_S):
            while not lost:
                await anyio.sleep(0.002)
        assert (lost, kept) == ([200], [])
        async with server.client("lost") as client:
            assert (await client.get("/v1/events?follow=false")).status_code == 401
        group.cancel_scope.cancel()


async def test_a_feed_ends_when_its_key_expires(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    standing = server.app.state.context.open_streams
    async with server.client("ada") as client:
        made = (await client.post("/v1/keys", json={"expires_in_s": 1000})).json()
    server.keys["short"] = made["key"]
    async with anyio.create_task_group() as group:
        short = await _feeds(server, group, "short")
        standing.end_revoked()
        await anyio.sleep(0.02)
        assert short == []
        monkeypatch.setattr(standing, "clock", lambda: made["expires_unix_s"] + 1)
        standing.end_revoked()
        with anyio.fail_after(LONG_S):
            while not short:
                await anyio.sleep(0.002)


async def test_a_wait_and_an_upload_end_with_their_key(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ends or is told after a key was revoked is not told to whoever has it, and nothing more is taken."""
    standing, job = server.app.state.context.open_streams, await server.submit("ada")
    async with server.client("ada") as client:
        made = (await client.post("/v1/keys", json={})).json()
    server.keys["lost"] = made["key"]
    answers: dict[str, Any] = {}

    async def for_ever(*_: object) -> None:
        await anyio.sleep_forever()

    monkeypatch.setattr(server.hypervisor.following, "wait_until", for_ever)
    revoked = anyio.Event()
    data = bytes(600)
    name = hashlib.sha256(data).hexdigest()

    async def pieces() -> AsyncIterator[bytes]:
        for begin in range(0, len(data), 200):
            yield data[begin : begin + 200]
            await revoked.wait()

    async def ask(what: str, method: str, path: str, **more: Any) -> None:
        async with server.client("lost") as client:
            answers[what] = await client.request(method, path, **more)

    part = {"Upload-Offset": "0"}
    async with anyio.create_task_group() as group:
        group.start_soon(ask, "wait", "GET", f"/v1/jobs/{job['id']}?wait=60")
        group.start_soon(partial(ask, "put", "PUT", f"/v1/blobs/{name}", content=pieces()))
        group.start_soon(partial(ask, "part", "PATCH", f"/v1/blobs/{name}/upload", content=pieces(), headers=part))
        with anyio.fail_after(LONG_S):
            while not standing._open or server.app.state.context.uploads._of["ada"] != 2:
                await anyio.sleep(0.002)
            standing.end_revoked()
            await anyio.sleep(0.02)
            assert answers == {}
            async with server.client("ada") as client:
                assert (await client.delete(f"/v1/keys/{made['id']}")).status_code == 204
            standing.end_revoked()
            revoked.set()
            while len(answers) < 3:
                await anyio.sleep(0.002)
    for what, answer in answers.items():
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized"), what
    async with server.client("ada") as client:
        assert (await client.get(f"/v1/blobs/{name}")).status_code == 404
        assert (await client.get(f"/v1/jobs/{job['id']}")).json()["state"] == "queued"
    assert not standing._open


async def test_a_browsers_feed_ends_when_it_logs_out(server: Any) -> None:
    standing = server.app.state.context.open_streams
    async with server.client(None) as browser, anyio.create_task_group() as group:
        said = (await browser.post("/v1/session", json={"key": server.keys["ada"]})).json()
        statuses: list[int] = []

        async def follow() -> None:
            headers = {"Authorization": "Basic b3RoZXI6"}  # as a proxy before us asks browsers for
            statuses.append((await browser.get("/v1/events", headers=headers)).status_code)

        group.start_soon(follow)
        with anyio.fail_after(LONG_S):
            while not standing._open:
                await anyio.sleep(0.002)
            standing.end_revoked()
            await anyio.sleep(0.02)
            assert statuses == []
            answer = await browser.delete("/v1/session", headers={"X-CSRF-Token": said["csrf_token"]})
            assert answer.status_code == 204
            standing.end_revoked()
            while not statuses:
                await anyio.sleep(0.002)


async def test_a_tenant_holds_a_part_of_the_connections_and_operators_find_room(start: Any) -> None:
    server = start(connections=ConnectionLimits(connections=16, connections_per_client=8))
    held = server.app.state.context.in_flight
    assert (held.most_of_one, held.most_of_all) == (2, 12)
    async with anyio.create_task_group() as group:
        assert await _feeds(server, group, "ada", 2) == []
        async with server.client("ada") as client:
            refused = await client.get("/v1/jobs")
            assert refused.status_code == 429
            assert refused.json()["code"] == "rate-limited"
            assert refused.json()["limit"] == 2
            assert int(refused.headers["Retry-After"]) >= 1
        for who in ("grace", "operator"):
            async with server.client(who) as client:
                assert (await client.get("/v1/jobs")).status_code == 200
        group.cancel_scope.cancel()
    async with server.client("ada") as client:
        for _ in range(20):  # none of those that ended, or were refused, is counted any more
            assert (await client.get("/v1/jobs")).status_code == 200
            assert (await client.get("/v1/jobs/999")).status_code == 404


async def test_all_tenants_together_leave_room_for_operators(start: Any) -> None:
    server = start(connections=ConnectionLimits(connections=4, connections_per_client=8))
    async with anyio.create_task_group() as group:
        assert await _feeds(server, group, "ada", 2) == []
        assert await _feeds(server, group, "grace", 1) == []
        async with server.client("grace") as client:
            assert (await client.get("/v1/jobs")).status_code == 429
        async with server.client("operator") as client:
            assert (await client.get("/v1/jobs")).status_code == 200
        group.cancel_scope.cancel()


async def test_a_key_made_with_one_that_expires_expires_no_later(server: Any) -> None:
    async with server.client("ada") as client:
        short = (await client.post("/v1/keys", json={"expires_in_s": 1000})).json()
    server.keys["short"] = short["key"]
    async with server.client("short") as client:
        for asked in ({}, {"expires_in_s": 5000}):
            made = (await client.post("/v1/keys", json=asked)).json()
            assert made["expires_unix_s"] == short["expires_unix_s"]
        sooner = (await client.post("/v1/keys", json={"expires_in_s": 10})).json()
        assert sooner["expires_unix_s"] < short["expires_unix_s"]
    async with server.client("operator") as client:
        brief = (await client.post("/v1/keys", json={"expires_in_s": 1000, "scope": "operator"})).json()
    server.keys["brief"] = brief["key"]
    async with server.client("brief") as client:  # an operator gives tenants keys of their own
        assert (await client.post("/v1/keys", json={"tenant": "ada"})).json()["expires_unix_s"] is None
