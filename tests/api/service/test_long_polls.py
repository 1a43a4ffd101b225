# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Asking once and being answered when something has happened."""

from __future__ import annotations

import time
from typing import Any

import anyio
import pytest
from eddy.core.jobs import JobState

pytestmark = pytest.mark.anyio
LONG_S = 60


async def test_an_answer_comes_when_the_job_ends_and_not_before(server: Any) -> None:
    job = await server.submit()
    answers: list[Any] = []

    async def ask(query: str) -> None:
        async with server.client() as client:
            answers.append((await client.get(f"/v1/jobs/{job['id']}?{query}")).json())

    with anyio.fail_after(LONG_S / 2):
        async with anyio.create_task_group() as group:
            group.start_soon(ask, f"wait={LONG_S}")
            group.start_soon(ask, f"wait={LONG_S}&while=queued")
            for _ in range(20):
                await anyio.sleep(0)
            await anyio.sleep(0.05)
            assert answers == []
            record = server.hypervisor.move(server.store.jobs.get("ada", job["id"]), JobState.PLACED)
            while not answers:
                await anyio.sleep(0.005)
            assert [answer["state"] for answer in answers] == ["placed"]
            server.hypervisor.finish(record, result=bytes(6))
        assert [answer["state"] for answer in answers] == ["placed", "succeeded"]


async def test_what_is_so_already_is_answered_at_once_and_patience_ends(server: Any) -> None:
    job = await server.submit()
    async with server.client() as client:
        with anyio.fail_after(LONG_S / 2):
            assert (await client.get(f"/v1/jobs/{job['id']}?wait=0.02")).json()["state"] == "queued"
            assert (await client.get(f"/v1/jobs/{job['id']}?wait={LONG_S}&while=running")).json()["state"] == "queued"
            cancelled = await client.delete(f"/v1/jobs/{job['id']}?wait={LONG_S}")
            assert cancelled.json()["cancellation"]["effective_s"] == 1.0
            assert (await client.get(f"/v1/jobs/{job['id']}?wait={LONG_S}")).json()["state"] == "cancelled"
        for text in ("61", "-1", "nan", "x"):
            assert (await client.get(f"/v1/jobs/{job['id']}?wait={text}")).status_code == 422
    async with server.client("grace") as client:
        began_s = time.monotonic()
        for number in (job["id"], 4711):
            assert (await client.get(f"/v1/jobs/{number}?wait={LONG_S}")).status_code == 404
        assert time.monotonic() - began_s < LONG_S, "what is unknown is not waited for"


async def test_nobody_waits_for_a_server_that_ends(server: Any) -> None:
    job = await server.submit()
    with anyio.fail_after(LONG_S / 2):
        async with server.client() as client, anyio.create_task_group() as group:

            async def ask() -> None:
                assert (await client.get(f"/v1/jobs/{job['id']}?wait={LONG_S}")).json()["state"] == "queued"

            group.start_soon(ask)
            await anyio.sleep(0.02)
            server.app.state.context.ending.set()
