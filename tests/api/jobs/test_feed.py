# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The feed of all of a tenant's jobs, and the blobs it keeps: its own, and nobody else's."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

pytestmark = pytest.mark.anyio


def ids(text: str) -> list[tuple[str, str]]:
    blocks = [
        dict(line.split(": ", 1) for line in block.splitlines() if line[:1] != ":") for block in text.split("\n\n")
    ]
    return [(block["event"], block.get("id", "")) for block in blocks if "event" in block]


async def test_a_feed_has_all_of_ones_jobs_and_nothing_of_anothers(server: Any) -> None:
    first, second, hers = [await server.submit(who) for who in ("ada", "ada", "grace")]
    server.hypervisor.finish(server.store.jobs.get("ada", first["id"]), result=bytes(6))
    seen = {}
    for who in ("ada", "grace", "operator"):
        async with server.client(who) as client:
            answer = await client.get("/v1/events?last=100&follow=false")
            assert answer.headers["content-type"].startswith("text/event-stream")
            seen[who] = ids(answer.text)
    assert [kind for kind, _ in seen["ada"]] == ["submitted", "submitted", "state", "end"]
    assert [kind for kind, _ in seen["grace"]] == ["submitted", "end"]
    assert len(seen["operator"]) == 5
    assert f'"job":{hers["id"]}' in (await _feed(server, "grace"))
    assert f'"job":{hers["id"]},' not in (await _feed(server, "ada"))
    assert f'"job":{second["id"]}' in (await _feed(server, "ada"))
    async with server.client("ada") as client:
        newest = await client.get("/v1/events?last=1&follow=false")
        assert [kind for kind, _ in ids(newest.text)] == ["state", "end"]
        assert ids((await client.get("/v1/events?follow=false")).text) == [("end", "")]
        after = {"Last-Event-ID": seen["ada"][0][1]}
        rest = await client.get("/v1/events?last=100&follow=false", headers=after)
        assert ids(rest.text) == seen["ada"][1:]
        assert (await client.get("/v1/events?last=1001")).status_code == 422


async def _feed(server: Any, who: str) -> str:
    async with server.client(who) as client:
        return str((await client.get("/v1/events?last=100&follow=false")).text)


async def test_blobs_are_listed_and_fetched_by_their_owner_alone(server: Any) -> None:
    names = sorted([await server.put(bytes([number] * 7), "ada") for number in range(5)])
    theirs = await server.put(b"secret", "grace")
    async with server.client("ada") as client:
        found, cursor = [], ""
        while True:
            page = (await client.get(f"/v1/blobs?limit=2&cursor={cursor}")).json()
            found += page["blobs"]
            cursor = page["next"]
            if cursor is None:
                break
        assert [blob["sha256"] for blob in found] == names
        assert {blob["bytes"] for blob in found} == {7}
        answer = await client.get(f"/v1/blobs/{names[0]}")
        assert hashlib.sha256(answer.content).hexdigest() == names[0]
        assert answer.headers["etag"] == f'"{names[0]}"'
        there, never = await client.get(f"/v1/blobs/{theirs}"), await client.get(f"/v1/blobs/{'0' * 64}")
        assert there.status_code == never.status_code == 404
        same = {**there.json(), "detail": "", "instance": "", "asked": ""}
        assert same == {**never.json(), "detail": "", "instance": "", "asked": ""}
        server.store.blobs.file("ada", names[1]).path.write_bytes(b"1234567")
        damaged = await client.get(f"/v1/blobs/{names[1]}")
        assert (damaged.status_code, damaged.json()["code"]) == (500, "file-damaged")
