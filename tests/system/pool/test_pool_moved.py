# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A pool of a release that kept bytes at the servers: the first head moves them; who is killed loses nothing."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from eddy.pool.bytes.byte_store import MOVED, BlobName
from eddy.pool.bytes.folder_store import FolderStore
from eddy.pool.jetstream import moved_blobs
from eddy.pool.jetstream.blobs import PoolBlobs
from eddy.pool.jetstream.byte_accounts import OWNER, REFERENCE_BYTES
from eddy.pool.jetstream.link import Link, open_pool
from eddy.pool.jetstream.moved_blobs import OBJECTS, STREAM, WRITTEN
from eddy.pool.servers.nats_server import NatsServer
from nats.js.api import ObjectStoreConfig, StreamConfig
from nats.js.errors import NotFoundError
from pool_boards import fetched, file_of, objects_in, unhurried
from pool_kit import WAIT_S

BLOBS = [os.urandom(size) for size in (300_001, 5, 128 << 10)]
NAMES = [hashlib.sha256(data).hexdigest() for data in BLOBS]
EMPTY = hashlib.sha256(b"").hexdigest()


async def as_before(link: Link) -> None:
    """Keep bytes as that release did: of the last one, nobody wrote down who refers to it; one is damaged."""
    kept = await link.js.create_object_store(OBJECTS, ObjectStoreConfig(bucket=OBJECTS))
    await link.js.add_stream(StreamConfig(name=WRITTEN, subjects=["eddy.written.*.*"]))
    for sha, data in zip(NAMES, BLOBS, strict=True):
        await kept.put(f"ada/{sha}", data)
    await kept.put(f"ada/{EMPTY}", b"")
    await kept.put(f"ada/{'0' * 64}", b"not what its name says")
    await kept.put("something else", b"x")
    for sha, reference in ((NAMES[0], OWNER), (NAMES[0], ".7"), (NAMES[1], ".7"), (EMPTY, OWNER)):
        size = {NAMES[0]: len(BLOBS[0]), NAMES[1]: len(BLOBS[1])}.get(sha, 0)
        value = json.dumps({"bytes": size, "by": "x"}).encode()
        await link.accounts.bucket.put(f"ada.{sha}{reference}", value)


@pytest.mark.parametrize("kill", [None, "look", "keep", "draft"])
def test_bytes_of_an_earlier_release_are_moved_whoever_is_killed_meanwhile(tmp_path: Path, kill: str | None) -> None:
    async def go(server: NatsServer) -> None:
        pool = str(server.admission.head_file)
        async with open_pool(pool, "before", WAIT_S) as link:
            await as_before(link)
        if kill is not None:
            step, calls = getattr(FolderStore, kill), list[int]()

            def killed(*given: Any, **more: Any) -> Any:
                calls.append(1)
                if len(calls) == 2:
                    raise RuntimeError("killed")
                return step(*given, **more)

            with patch.object(FolderStore, kill, killed), pytest.raises(RuntimeError, match="killed"):
                async with open_pool(pool, "killed", WAIT_S):
                    pass
        async with open_pool(pool, "one", WAIT_S) as one, open_pool(pool, "two", WAIT_S) as two:
            for stream in (STREAM, WRITTEN):
                with pytest.raises(NotFoundError):
                    await one.js.stream_info(stream)
            for link in (one, two):
                blobs, account = PoolBlobs(link), await link.accounts.of("ada")
                for sha, data in zip((*NAMES, EMPTY), (*BLOBS, b""), strict=True):
                    assert await fetched(blobs, "ada", sha) == data
                    assert await blobs.size("ada", sha, look=True) == len(data)
                assert account.is_referenced(NAMES[2], OWNER), "what nobody counted is its tenant's"
                assert not await blobs.size("ada", "0" * 64)
            assert {name.generation for name in await objects_in(one)} == {MOVED}
            assert {name.sha256 for name in await objects_in(one)} == {*NAMES, EMPTY}
            kept = {name: file_of(one, name) for name in await objects_in(one)}
            assert all(hashlib.sha256(path.read_bytes()).hexdigest() == name.sha256 for name, path in kept.items())
            blobs = PoolBlobs(one)
            assert await blobs.release("ada", NAMES[0], OWNER)
            assert await fetched(blobs, "ada", NAMES[0]) == BLOBS[0], "job 7 has it"
            assert await blobs.release("ada", NAMES[0], "7")
            assert BlobName("ada", NAMES[0], MOVED) not in await objects_in(one)
            account = await one.accounts.of("ada")
            assert account.total >= len(BLOBS[1]) + len(BLOBS[2]) + 2 * REFERENCE_BYTES

    with unhurried(), NatsServer(tmp_path).running() as server:
        asyncio.run(asyncio.wait_for(go(server), 2 * WAIT_S))


def test_a_blob_that_lost_pieces_holds_no_head_up(tmp_path: Path) -> None:
    async def go(server: NatsServer) -> None:
        pool = str(server.admission.head_file)
        async with open_pool(pool, "before", WAIT_S) as link:
            await as_before(link)
            kept = await link.js.object_store(OBJECTS)
            info = await kept.get_info(f"ada/{NAMES[0]}")
            await link.js.purge_stream(STREAM, subject=f"$O.{OBJECTS}.C.{info.nuid}")
        with patch.object(moved_blobs, "MAX_S", 2.0):
            async with open_pool(pool, "one", WAIT_S) as one:
                assert await fetched(PoolBlobs(one), "ada", NAMES[2]) == BLOBS[2]
                assert await PoolBlobs(one).size("ada", NAMES[0], look=True) is None

    with unhurried(), NatsServer(tmp_path).running() as server:
        asyncio.run(asyncio.wait_for(go(server), 2 * WAIT_S))
