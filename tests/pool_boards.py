# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The servers of a pool with two boards let in, a head's gate, and a job: what a board's key may do is tried there."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

import httpx
from eddy.pool.agent.head_client import HeadClient
from eddy.pool.bytes.byte_store import BlobName
from eddy.pool.connection.connection import connected
from eddy.pool.connection.credentials import PoolAccess
from eddy.pool.connection.tasks import ended
from eddy.pool.head.app import create_head
from eddy.pool.head.board_requests import BoardRequestHandler
from eddy.pool.jetstream.blobs import MAX_BYTES, PoolBlobs
from eddy.pool.jetstream.jobs import PoolJobs
from eddy.pool.jetstream.link import Link, open_pool
from eddy.pool.jetstream.naming import load_pool_numbers
from eddy.pool.placement.leader import Leader
from eddy.pool.placement.shares import WeightRounds
from eddy.pool.records.records import PoolJob
from eddy.pool.routes.context import HeadParts
from eddy.pool.servers.nats_server import NatsServer
from fastapi import FastAPI
from nats.aio.client import Client as Nats
from pool_kit import WAIT_S, Pool

DATA = os.urandom(300_001)
SHA = hashlib.sha256(DATA).hexdigest()


@contextlib.contextmanager
def unhurried() -> Iterator[None]:
    """Nobody asks again, nor leaves a server, because that is slow: what is called once is done once."""
    with (
        patch("eddy.pool.connection.connection.PING_S", WAIT_S),
        patch("eddy.pool.connection.connection.CALL_S", WAIT_S),
        patch("eddy.pool.jetstream.link.ASKED_S", WAIT_S),
        patch("eddy.pool.agent.head_client.ANSWER_S", WAIT_S),
    ):
        yield


class Boards:
    """A server with boards b1 and b2, a head's gate and its HTTP API, and a job of `ada` on b1.

    Attributes:
        most_bytes: What a tenant may keep.
    """

    def __init__(self, server: NatsServer, link: Link, lead: Leader, job: PoolJob, app: FastAPI) -> None:
        self.server, self.link, self.lead, self.job, self.app = server, link, lead, job, app
        self.most_bytes = MAX_BYTES

    def http(self) -> httpx.AsyncClient:
        """Requests to the head, wherever it is said to be."""
        return httpx.AsyncClient(transport=httpx.ASGITransport(self.app), timeout=WAIT_S)

    @contextlib.asynccontextmanager
    async def board(self, name: str, access: PoolAccess | None = None) -> AsyncIterator[tuple[Nats, HeadClient]]:
        given = access or PoolAccess.named(str(self.server.admission.board_file(name)))
        async with connected(given, name, WAIT_S) as nats:
            client = HeadClient(nats, name)
            client._http = self.http()
            yield nats, client
            await client.aclose()


def with_boards(folder: Path, what: Callable[[Boards], Awaitable[None]], take_back_s: float = 600.0) -> None:
    """Do something with them, within ten minutes. Nobody need renew a lease: what is tried takes as long as it takes.

    Args:
        folder: For what is kept.
        take_back_s: Seconds for which the head leads before it takes anything from a board.
    """

    async def go() -> None:
        async with open_pool(str(server.admission.head_file), "head", WAIT_S) as link:
            numbers = await load_pool_numbers(link)
            lead = Leader(link, "head")
            app = create_head(link, lead, MagicMock(), numbers)
            transfers, mirror = app.state.parts.transfers, lead.mirror
            gate = BoardRequestHandler(link, mirror.on_board, WeightRounds(mirror).weights, mirror.floods, transfers)
            running = [asyncio.ensure_future(each.run()) for each in (gate, lead)]
            try:
                await PoolBlobs(link).put("ada", DATA)
                secret = await PoolBlobs(link).put("ada", b"of another job")
                assert secret
                table = PoolJobs(link)
                job = await table.submit("ada", {"application": "a", "batch": 4, "inputs": {"x": [SHA]}})
                job = await table.change(job.id, lambda it: it.place_on("b1", 0.0, {}))
                boards = Boards(server, link, lead, job, app)

                async def room(*_: object) -> int:
                    return boards.most_bytes

                with patch.object(HeadParts, "room", room):
                    await what(boards)
            finally:
                await ended(running)

    with (
        unhurried(),
        NatsServer(folder).running() as server,
        patch("eddy.pool.placement.leader.LEASE_S", take_back_s),
        patch(
            "eddy.pool.placement.leader.AGAIN_S", 600.0
        ),  # nobody told b1 of its job, and it is not to be told on a slow machine
        patch("eddy.pool.mirror.mirror.LEASE_S", 600),
    ):
        for name in ("b1", "b2"):
            server.admission.admit(name)
        asyncio.run(asyncio.wait_for(go(), 600))


def on_two_links(folder: Path, what: Callable[[Link, Link], Awaitable[None]]) -> None:
    """Do something with the links of two heads."""

    async def go() -> None:
        async with (
            open_pool(str(server.admission.head_file), "one", WAIT_S) as one,
            open_pool(str(server.admission.head_file), "two", WAIT_S) as two,
        ):
            await what(one, two)

    with unhurried(), NatsServer(folder).running() as server:
        asyncio.run(asyncio.wait_for(go(), 2 * WAIT_S))


async def objects_in(link: Link) -> dict[BlobName, int]:
    """What lies in the pool's place for bytes, with sizes."""
    async with contextlib.aclosing(link.bytes.blobs()) as there:
        return {name: seen.size_bytes async for name, seen in there}


async def fetched(blobs: PoolBlobs, tenant: str, sha256: str) -> bytes:
    """All bytes of a blob."""
    return b"".join([piece async for piece in blobs.pieces(tenant, sha256)])


def file_of(link: Link, name: BlobName) -> Path:
    """Where a blob lies, in a folder."""
    store: Any = link.bytes
    return Path(store._folder / name.path)


async def all_jobs(link: Link) -> list[PoolJob]:
    """Every record there is that can be read, by number."""
    found = []
    async with contextlib.aclosing(PoolJobs(link).following()) as following:
        async for told in following:
            if told is None:
                break
            if told.job is not None:
                found.append(told.job)
    return sorted(found, key=lambda job: job.id)


def at_the_servers(pool: Pool, what: Callable[[Link], Awaitable[None]]) -> None:
    """Do something with a pool's servers, as a head would."""

    async def go() -> None:
        async with open_pool(str(pool.head_file), "test", WAIT_S) as link:
            await what(link)

    with unhurried():
        asyncio.run(go())
