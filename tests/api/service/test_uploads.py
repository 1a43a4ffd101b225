# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Uploads while they come in: bounded at once, by tenant and in bytes, and gone where they break off."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from eddy.api.access.uploads import TooManyUploads, UploadLimits, Uploads

pytestmark = pytest.mark.anyio
DATA = bytes(range(256)) * 3


def url(data: bytes) -> str:
    return f"/v1/blobs/{hashlib.sha256(data).hexdigest()}"


def files(server: Any) -> list[Path]:
    return [path for path in server.store.blobs.folder.rglob("*") if path.is_file()]


async def slowly(data: bytes, go_on: asyncio.Event, started: asyncio.Event) -> AsyncIterator[bytes]:
    yield data[:100]
    started.set()
    await go_on.wait()
    yield data[100:]


async def test_pieces_make_a_blob(server: Any) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(DATA), 7):
            yield DATA[at : at + 7]

    async with server.client() as client:
        assert (await client.put(url(DATA), content=pieces())).status_code == 201
        assert (await client.put(url(DATA), content=DATA)).status_code == 200
        assert (await client.head(url(DATA))).status_code == 200
    assert [path.read_bytes() for path in files(server)] == [DATA]


async def test_a_quota_counts_what_is_on_its_way(server: Any) -> None:
    go_on, started = asyncio.Event(), asyncio.Event()
    other = bytes(600)
    async with server.client() as client, server.client() as second, anyio.create_task_group() as group:

        async def send() -> None:
            headers = {"Content-Length": str(len(DATA))}
            answer = await client.put(url(DATA), content=slowly(DATA, go_on, started), headers=headers)
            assert answer.status_code == 201

        group.start_soon(send)
        await started.wait()
        refused = await second.put(url(other), content=other)
        assert (refused.status_code, refused.json()["code"]) == (429, "quota-exceeded")
        go_on.set()
    assert server.store.blobs.ledger.room_bytes("ada") == 1000 - len(DATA)


async def test_one_that_says_nothing_of_its_size_is_stopped_at_the_bound(server: Any) -> None:
    async def pieces(count: int) -> AsyncIterator[bytes]:
        for _ in range(count):
            yield bytes(100)

    async with server.client() as client:
        for count in (11, 19):
            with anyio.fail_after(180):
                answer = await client.put(url(b"whatever"), content=pieces(count))
            assert (answer.status_code, answer.json()["code"]) == (429, "quota-exceeded")
        assert files(server) == []
        too_large = await client.put(url(b"whatever"), content=pieces(21))
        assert too_large.status_code == 413


async def test_a_client_that_goes_away_leaves_nothing(server: Any) -> None:
    go_on, started = asyncio.Event(), asyncio.Event()
    async with server.client() as client:
        upload = asyncio.ensure_future(client.put(url(DATA), content=slowly(DATA, go_on, started)))
        await started.wait()
        upload.cancel()
        with pytest.raises(asyncio.CancelledError):
            await upload
        assert files(server) == []
        assert server.store.blobs.ledger.room_bytes("ada") == 1000
        assert (await client.head(url(DATA))).status_code == 404


async def test_a_wrong_hash_is_a_problem_that_says_the_right_one(server: Any) -> None:
    async with server.client() as client:
        answer = await client.put(url(b"other"), content=DATA)
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["field"]) == (422, "invalid-request", "sha256")
    assert problem["allowed"] == hashlib.sha256(DATA).hexdigest()
    assert files(server) == []


async def test_a_damaged_output_is_a_problem_that_names_it(server: Any) -> None:
    job = await server.submit()
    server.hypervisor.finish(server.store.jobs.get("ada", job["id"]), result=b"abcdef")
    (path,) = server.store.outputs.folder.iterdir()
    async with server.client() as client:
        address = f"/v1/jobs/{job['id']}/outputs/result"
        answer = await client.get(address)
        assert (answer.content, answer.headers["content-length"]) == (b"abcdef", "6")
        path.write_bytes(b"abcdeX")
        damaged = await client.get(address)
    assert (damaged.status_code, damaged.json()["code"]) == (500, "file-damaged")
    assert "output result of job 1" in damaged.json()["detail"]


async def test_too_many_at_once_wait_and_then_are_told(start: Any) -> None:
    server = start(uploads=UploadLimits(uploads_per_tenant=1, wait_s=0.05))
    go_on, started = asyncio.Event(), asyncio.Event()
    small = b"small"
    async with server.client() as client, server.client() as second, anyio.create_task_group() as group:
        group.start_soon(lambda: client.put(url(DATA), content=slowly(DATA, go_on, started)))
        await started.wait()
        refused = await second.put(url(small), content=small)
        assert (refused.status_code, refused.json()["code"]) == (503, "too-many-uploads")
        assert refused.headers["retry-after"] == "1"
        async with server.client("grace") as other:
            assert (await other.put(url(small), content=small)).status_code == 201
        go_on.set()
    async with server.client() as client:
        assert (await client.put(url(small), content=small)).status_code == 201


async def hold(uploads: Uploads, tenant: str, size: int, inside: list[str], leave: asyncio.Event) -> None:
    async with uploads.place(tenant, size):
        inside.append(tenant)
        await leave.wait()


@pytest.mark.parametrize(
    "limits",
    [UploadLimits(uploads=2, wait_s=5), UploadLimits(upload_bytes=250, wait_s=5)],
    ids=["uploads", "bytes"],
)
async def test_who_waits_gets_in_when_a_place_is_free(limits: UploadLimits) -> None:
    uploads, inside = Uploads(limits), list[str]()
    leave = [asyncio.Event() for _ in range(3)]
    async with anyio.create_task_group() as group:
        for tenant, event in zip("abc", leave, strict=True):
            group.start_soon(hold, uploads, tenant, 100, inside, event)
            await anyio.wait_all_tasks_blocked()
        assert inside == ["a", "b"]
        leave[0].set()
        await anyio.wait_all_tasks_blocked()
        assert inside == ["a", "b", "c"]
        for event in leave:
            event.set()


async def test_one_tenant_has_half_of_the_bytes_at_most() -> None:
    uploads, inside, leave = Uploads(UploadLimits(upload_bytes=400, wait_s=5)), list[str](), asyncio.Event()
    async with anyio.create_task_group() as group:
        for tenant in "aaabb":
            group.start_soon(hold, uploads, tenant, 100, inside, leave)
            await anyio.wait_all_tasks_blocked()
        assert inside == ["a", "a", "b", "b"]
        leave.set()


async def test_one_larger_than_all_may_be_gets_in_alone() -> None:
    uploads = Uploads(UploadLimits(upload_bytes=250, wait_s=0.02))
    async with uploads.place("a", 1000):
        with pytest.raises(TooManyUploads):
            async with uploads.place("b", 1):
                pass
    async with uploads.place("b", 1):
        pass


async def test_a_coded_blob_is_refused(server: Any) -> None:
    """Its bytes would be kept as they came, coded."""
    async with server.client() as client:
        for coding, status in (("gzip", 415), ("identity", 201)):
            data = coding.encode()
            headers = {"Content-Encoding": coding}
            answer = await client.put(f"/v1/blobs/{hashlib.sha256(data).hexdigest()}", content=data, headers=headers)
            assert answer.status_code == status, answer.text
