# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Blobs in several requests: resumed where they broke off, bounded, swept, and nobody else's."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from eddy.client.calls.blob_calls import put_in_parts
from eddy.client.transport.transport import Transport
from eddy.store import Store
from eddy.store.bytes.partial import KEPT_S, MAX_PARTIAL
from eddy.store.disk.names import INCOMING

pytestmark = pytest.mark.anyio
DATA = bytes(range(200))
NAME = hashlib.sha256(DATA).hexdigest()
ADDRESS = f"/v1/blobs/{NAME}/upload"


def part(offset: int, complete: bool = False) -> dict[str, str]:
    return {"Upload-Offset": str(offset), "Upload-Complete": "?1" if complete else "?0"}


async def test_parts_make_a_blob(server: Any) -> None:
    async with server.client() as client:
        assert (await client.head(ADDRESS)).status_code == 404
        first = await client.patch(ADDRESS, content=DATA[:70], headers=part(0))
        assert (first.status_code, first.headers["upload-offset"], first.headers["upload-complete"]) == (
            204,
            "70",
            "?0",
        )
        assert (await client.head(f"/v1/blobs/{NAME}")).status_code == 404, "it is no blob yet"
        head = await client.head(ADDRESS)
        assert (head.status_code, head.headers["upload-offset"], head.headers["upload-complete"]) == (204, "70", "?0")
        for offset in (0, 69, 71, 9999):
            wrong = await client.patch(ADDRESS, content=b"x", headers=part(offset))
            assert wrong.status_code in (409, 413)
            if wrong.status_code == 409:
                assert wrong.json()["offset"] == 70
        assert server.store.blobs.ledger.tenant_bytes("ada") == 70
        last = await client.patch(ADDRESS, content=DATA[70:], headers=part(70, True))
        assert (last.status_code, last.json()) == (201, {"sha256": NAME, "bytes": 200})
        assert (await client.get(f"/v1/blobs/{NAME}")).content == DATA
        assert (await client.head(ADDRESS)).headers["upload-complete"] == "?1"
        again = await client.patch(ADDRESS, content=DATA, headers=part(0, True))
        assert (again.status_code, again.json()["bytes"]) == (200, 200)
    assert server.store.blobs.ledger.tenant_bytes("ada") == 200
    assert not list((server.store.blobs.folder / INCOMING).iterdir())


async def test_what_breaks_off_is_resumed(server: Any) -> None:
    async def broken() -> Any:
        yield DATA[:50]
        raise RuntimeError("cut")

    async with server.client() as client:
        assert (await client.patch(ADDRESS, content=DATA[:30], headers=part(0))).status_code == 204
        assert (await client.patch(ADDRESS, content=broken(), headers=part(30))).status_code == 500
        there = int((await client.head(ADDRESS)).headers["upload-offset"])
        assert 30 <= there <= 80
        last = await client.patch(ADDRESS, content=DATA[there:], headers=part(there, True))
        assert last.status_code == 201


async def test_other_bytes_than_its_name_says_are_forgotten(server: Any) -> None:
    async with server.client() as client:
        answer = await client.patch(ADDRESS, content=b"other", headers=part(0, True))
        assert (answer.status_code, answer.json()["field"]) == (422, "sha256")
        assert (await client.head(ADDRESS)).status_code == 404
    assert server.store.blobs.ledger.tenant_bytes("ada") == 0


async def test_quota_size_and_number_are_bounded(server: Any) -> None:
    async with server.client() as client:
        assert (await client.patch(ADDRESS, content=bytes(600), headers=part(0))).status_code == 204
        full = await client.patch(ADDRESS, content=bytes(600), headers=part(600))
        assert (full.status_code, full.json()["code"]) == (429, "quota-exceeded")
        assert (await client.head(ADDRESS)).headers["upload-offset"] == "600", "what came before stays"
        assert (await client.delete(ADDRESS)).status_code == 204
        assert (await client.delete(ADDRESS)).status_code == 404
        assert server.store.blobs.ledger.tenant_bytes("ada") == 0
        large = await client.patch(ADDRESS, content=bytes(2001), headers=part(0))
        assert (large.status_code, large.json()["code"]) == (413, "payload-too-large")
        for number in range(MAX_PARTIAL):
            address = f"/v1/blobs/{number:064x}/upload"
            assert (await client.patch(address, content=b"x", headers=part(0))).status_code == 204
        more = await client.patch(ADDRESS, content=b"x", headers=part(0))
        assert (more.status_code, more.json()["limit"]) == (429, MAX_PARTIAL)
        for headers in ({}, {"Upload-Offset": "-1"}, {"Upload-Offset": "0", "Upload-Complete": "yes"}):
            assert (await client.patch(ADDRESS, content=b"x", headers=headers)).status_code == 422


async def test_another_tenants_parts_are_unknown(server: Any) -> None:
    async with server.client() as ada, server.client("grace") as grace:
        await ada.patch(ADDRESS, content=DATA[:70], headers=part(0))
        other = f"/v1/blobs/{'0' * 64}/upload"
        for address in (ADDRESS, other):
            assert (await grace.head(address)).status_code == 404
            assert (await grace.delete(address)).status_code == 404
            wrong = await grace.patch(address, content=b"x", headers=part(70))
            assert (wrong.status_code, wrong.json()["offset"]) == (409, 0)
        assert (await grace.patch(ADDRESS, content=DATA, headers=part(0, True))).status_code == 201
        assert (await ada.head(ADDRESS)).headers["upload-offset"] == "70"


def test_parts_survive_a_restart_and_are_swept_in_the_end(tmp_path: Path) -> None:
    path = tmp_path / "eddy.sqlite3"
    store = Store(path)
    for tenant in ("a.b", "c"):
        with store.partials.adding(tenant, NAME, 0) as partial:
            store.partials.add(tenant, partial, DATA[:70])
    store.close()
    store = Store(path)
    assert store.sweep() == []
    assert (
        store.partials.size_bytes("a.b", NAME),
        store.blobs.ledger.tenant_bytes("a.b"),
        store.blobs.ledger.tenant_bytes("c"),
    ) == (
        70,
        70,
        70,
    )
    (old,) = [each for each in (store.blobs.folder / INCOMING).iterdir() if each.name.startswith("c.")]
    os.utime(old, (0.0, time.time() - KEPT_S - 60))
    assert store.partials.sweep() == [], "the wall clock may have been set"
    store.close()
    store = Store(path)
    assert not old.exists()
    assert (store.partials.size_bytes("c", NAME), store.blobs.ledger.tenant_bytes("c")) == (None, 0)
    with store.partials.adding("a.b", NAME, 70) as partial:
        store.partials.add("a.b", partial, DATA[70:])
        assert store.partials.complete("a.b", NAME, partial)
    assert store.blobs.get("a.b", NAME) == DATA
    store.close()


def test_the_client_goes_on_where_an_answer_was_lost() -> None:
    kept, lost = bytearray(DATA[:20]), [True]  # an answer is lost once

    def handler(request: httpx.Request) -> httpx.Response:
        if request.method == "HEAD":
            return httpx.Response(204, headers={"Upload-Offset": str(len(kept))})
        offset = int(request.headers["Upload-Offset"])
        if offset != len(kept):
            return httpx.Response(409, json={"code": "conflict", "detail": "no", "offset": len(kept)})
        kept.extend(request.content)
        if len(kept) > 60 and lost:
            lost.clear()
            raise httpx.ReadError("cut", request=request)
        done = request.headers["Upload-Complete"] == "?1"
        return httpx.Response(201 if done else 204, headers={"Upload-Offset": str(len(kept))})

    transport = Transport("http://eddy", "key", http=httpx.MockTransport(handler), pause=lambda seconds: None)
    transport.run(put_in_parts(transport, NAME, DATA, 48))
    assert bytes(kept) == DATA


async def test_a_part_may_be_empty_and_the_page_says_so(server: Any) -> None:
    body = server.app.openapi()["paths"]["/v1/blobs/{sha256}/upload"]["patch"]["requestBody"]
    assert body["required"] is False
    async with server.client() as client:
        assert (await client.patch(ADDRESS, content=DATA, headers=part(0))).status_code == 204
        assert (await client.patch(ADDRESS, headers=part(200, complete=True))).status_code == 201
        again = await client.patch(ADDRESS, headers=part(0))
        assert (again.status_code, again.json()) == (200, {"sha256": NAME, "bytes": 200}), "it is there already"
