# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Waits and feeds at a head: they ask the servers for nothing while nothing happens, end with who opened them, and are
bounded by tenant."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import AsyncIterator
from unittest.mock import patch

import httpx
import pytest
from eddy.api.http.connections import ConnectionLimits
from eddy.pool.connection.streams import EVENTS
from eddy.pool.head.head_server import Head
from eddy.pool.routes.context import HeadParts
from pool_kit import WAIT_S, Pool, in_its_loop, parts_of, until

APP = "image_compression"
MANY = 20


@contextlib.asynccontextmanager
async def asked(head: Head, key: str) -> AsyncIterator[httpx.AsyncClient]:
    limits = httpx.Limits(max_connections=500, max_keepalive_connections=500)
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=head.url, headers=headers, timeout=WAIT_S, limits=limits) as client:
        yield client


async def submitted(client: httpx.AsyncClient) -> int:
    while (answer := await client.post("/v1/jobs", json={"application": APP})).status_code == 503:
        pass
    assert answer.status_code == 202, answer.text
    return int(answer.json()["id"])


class Open:
    """A wait or a feed, in the background.

    Attributes:
        lines: What a feed has told.
    """

    def __init__(self, client: httpx.AsyncClient, path: str) -> None:
        self.lines, self.status = list[str](), 0
        self.task = asyncio.ensure_future(self._follow(client, path))

    async def _follow(self, client: httpx.AsyncClient, path: str) -> None:
        async with client.stream("GET", path) as answer:
            self.status = answer.status_code
            async for line in answer.aiter_lines():
                self.lines.append(line)


async def all_open(head: Head, opened: list[Open]) -> None:
    """Wait until a head has all of them under way."""
    deadline = time.monotonic() + WAIT_S
    while sum(parts_of(head).in_flight._held.values()) < len(opened):
        assert time.monotonic() < deadline
        assert not any(each.task.done() for each in opened)
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.5)  # what they ask at their beginning is asked


def ways(job: int) -> list[str]:
    return [f"/v1/jobs/{job}?wait=60", f"/v1/jobs/{job}?wait=60&while=queued", f"/v1/jobs/{job}/events", "/v1/events"]


def test_nothing_is_asked_while_nothing_happens_and_all_are_woken_when_it_does(pool: Pool) -> None:
    """Whatever is open at a head costs the servers no message more than a head alone: each asked 2 to 20 times a
    second. Another head ends the job."""
    head, other = pool.head("a"), pool.head("b")
    pool.tenant(head)
    key = pool.keys["ada"]

    async def sent_in(wall_s: float) -> int:
        stats = parts_of(head).link.nats.stats
        before = stats["out_msgs"]
        await asyncio.sleep(wall_s)
        return int(stats["out_msgs"] - before)

    async def check() -> None:
        async with asked(head, key) as client, asked(other, key) as there:
            job = await submitted(client)
            alone = await sent_in(3.0)
            opened = [Open(client, path) for path in ways(job) for _ in range(MANY // 2)]
            await all_open(head, opened)
            assert await sent_in(3.0) <= alone + MANY, (alone, len(opened))
            assert (await there.delete(f"/v1/jobs/{job}")).status_code == 202
            one = opened[: -(MANY // 2)]
            await asyncio.wait_for(asyncio.gather(*(each.task for each in one)), WAIT_S)
            assert all('"cancelled"' in "".join(each.lines) for each in one)
            assert all("event: end" in each.lines for each in one[MANY:])
            for each in opened:
                each.task.cancel()

    asyncio.run(check())


def test_a_submission_asks_for_its_key_and_its_tenant_and_waits_for_two_writes(pool: Pool) -> None:
    """Each question is a round of head and server: there were three for who asks, and one that waited for the event."""
    head = pool.head("a")
    pool.tenant(head)
    nats, sent = parts_of(head).link.nats, list[tuple[str, bool]]()
    publish = nats.publish

    async def noted(subject: str, payload: bytes = b"", reply: str = "", headers: dict[str, str] | None = None) -> None:
        sent.append((subject, bool(reply)))
        await publish(subject, payload, reply, headers)

    async def check() -> None:
        async with asked(head, pool.keys["ada"]) as client:
            first = await submitted(client)
            with patch.object(nats, "publish", noted):
                job = await submitted(client)
            assert job != first

    asyncio.run(check())
    beats = ("$KV.eddy_leases.", "$KV.eddy_leader.")
    of_the_job = [(subject, waits) for subject, waits in sent if not subject.startswith(beats)]
    assert [(re.sub(r"\.(ada\.)?[0-9a-f]+$", "", subject), waits) for subject, waits in of_the_job] == [
        ("$JS.API.STREAM.MSG.GET.KV_eddy_keys", True),
        ("$JS.API.STREAM.MSG.GET.KV_eddy_keys", True),
        ("$KV.eddy_submissions", True),
        ("$KV.eddy_jobs", True),
        ("eddy.events", False),
    ]


def test_what_is_open_ends_with_its_client_and_leaves_nothing_behind(pool: Pool) -> None:
    head = pool.head("a")
    pool.tenant(head)

    async def left(parts: HeadParts) -> tuple[int, ...]:
        events = len(await parts.link.js.consumers_info(EVENTS))
        return events, len(parts.link.nats._subs), len(parts.lead.mirror.followers._followed), parts.in_flight._all

    async def check() -> None:
        async with asked(head, pool.keys["ada"]) as client:
            job = await submitted(client)
            before = await asyncio.to_thread(in_its_loop, head, left)
            opened = [Open(client, path) for path in ways(job) for _ in range(MANY // 4)]
            await all_open(head, opened)
            assert await asyncio.to_thread(in_its_loop, head, left) != before
            for each in opened:
                each.task.cancel()
        deadline = time.monotonic() + WAIT_S
        while (found := await asyncio.to_thread(in_its_loop, head, left)) != before:
            assert time.monotonic() < deadline, (found, before)
            await asyncio.sleep(0.1)

    asyncio.run(check())


def test_one_tenant_has_so_many_open_at_once_and_costs_others_none(pool: Pool) -> None:
    """As on a board: the same setting, and the same code."""
    head = pool.head("a", connections=ConnectionLimits(connections_per_client=40))
    pool.tenant(head)
    pool.tenant(head, "eve")

    async def check() -> None:
        async with asked(head, pool.keys["eve"]) as eve, asked(head, pool.keys["ada"]) as ada:
            job = await submitted(eve)
            opened = [Open(eve, ways(job)[place % 4]) for place in range(10)]
            await all_open(head, opened)
            for path in (*ways(job), "/v1/quota"):
                refused = await eve.get(path)
                assert (refused.status_code, refused.json()["code"]) == (429, "rate-limited")
                assert refused.headers["retry-after"] == "1"
            assert (await ada.get("/v1/quota")).status_code == 200
            async with asked(head, pool.key) as operator:
                assert (await operator.get("/v1/pool")).status_code == 200
            opened.pop().task.cancel()
            deadline = time.monotonic() + WAIT_S
            while (await eve.get("/v1/quota")).status_code == 429:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.05)
            for each in opened:
                each.task.cancel()

    asyncio.run(check())


def test_what_is_open_ends_with_its_key(pool: Pool) -> None:
    head, other = pool.head("a"), pool.head("b")
    pool.tenant(head)
    operator = pool.operator(other)

    async def check() -> None:
        async with asked(head, pool.keys["ada"]) as client:
            job = await submitted(client)
            opened = [Open(client, path) for path in ways(job)]
            await all_open(head, opened)
            (key,) = operator.transport.json("GET", "/v1/keys", params={"tenant": "ada"})["keys"]
            operator.transport.request("DELETE", f"/v1/keys/{key['id']}")
            await asyncio.wait_for(asyncio.gather(*(each.task for each in opened)), WAIT_S)
            assert [each.status for each in opened] == [401, 401, 200, 200]
            assert not any("event: end" in each.lines for each in opened)

    asyncio.run(check())


def test_a_head_that_ends_answers_who_waits(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    head = pool.head("a")
    pool.tenant(head)

    async def check() -> None:
        async with asked(head, pool.keys["ada"]) as client:
            job = await submitted(client)
            opened = [Open(client, path) for path in ways(job)]
            await all_open(head, opened)
            head.stop()
            await asyncio.wait_for(asyncio.gather(*(each.task for each in opened)), WAIT_S)
            assert [each.status for each in opened] == [200] * 4
            assert all('"queued"' in "".join(each.lines) for each in opened[:2])

    with caplog.at_level(logging.WARNING):
        asyncio.run(check())
    until(lambda: not pool.heads[0][1].is_alive())
    assert "Traceback" not in caplog.text
