# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Streams of events on real sockets: what is written to all at once is what each would have been sent, and a client
that reads slowly, or not at all, harms nobody."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
import uvicorn
from eddy.api.http.connections import ConnectionLimits, Connections, GuardedProtocol
from eddy.core.records import JobEvent, JobEventKind
from eddy.store.db.rows import Commit

pytestmark = pytest.mark.anyio
BATCH, BATCHES = 100, 100
MAX_BYTES = 250_000
"""What a slow client may keep the server holding: what asyncio takes before it says stop, two pages, and some."""

PATIENT, IMPATIENT = ConnectionLimits(patience_s=60.0), ConnectionLimits(patience_s=0.05)
"""The second for as long as nobody reads: a machine that is busy elsewhere would have it cut who does."""


@dataclass
class Live:
    """A server on a socket whose connections the kernel buffers little for."""

    parts: Any
    port: int
    uvicorn: uvicorn.Server
    connections: Connections
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    def happen(self, job: int, tenant: str, count: int = BATCH) -> None:
        event = JobEvent(
            0, job, tenant, 1.0, JobEventKind.ITEM_DONE, slot=3, task=1, item=7, started_s=0.5, detail="x" * 40
        )
        self.parts.store.commit(Commit(events=(event,) * count))
        self.parts.hypervisor.followers.publish([job])

    @property
    def held_bytes(self) -> int:
        """The most any connection keeps the server holding."""
        return max(each.transport.get_write_buffer_size() for each in self.uvicorn.server_state.connections)


@contextlib.asynccontextmanager
async def live(parts: Any) -> AsyncIterator[Live]:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    connections = Connections(PATIENT)
    server = uvicorn.Server(
        uvicorn.Config(
            parts.app,
            http=lambda **arguments: GuardedProtocol(connections, **arguments),  # type: ignore[arg-type]
            lifespan="off",
            log_level="error",
        )
    )
    found = Live(parts, listener.getsockname()[1], server, connections)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        yield found
    finally:
        for writer in found.writers:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
        parts.app.state.context.ending.set()
        server.should_exit = True
        await task


@dataclass
class Client:
    """Follows a path, and keeps what comes: whole events in each chunk."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    ids: list[int] = field(default_factory=list)
    others: list[bytes] = field(default_factory=list)
    size: int = 0

    @classmethod
    async def open(cls, server: Live, path: str, after: int = 0) -> Client:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        reader, writer = await asyncio.open_connection(sock=connection, limit=8192)
        server.writers.append(writer)
        last = f"Last-Event-ID: {after}\r\n" if after else ""
        key = server.parts.keys["ada"]
        writer.write(f"GET {path} HTTP/1.1\r\nHost: e\r\nAuthorization: Bearer {key}\r\n{last}\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        assert b"transfer-encoding: chunked" in head.lower()
        return cls(reader, writer)

    async def part(self) -> bytes:
        """One chunk, as RFC 9112 has it (7.1); b"" is the end."""
        size = int(await self.reader.readline(), 16)
        data = await self.reader.readexactly(size)
        assert await self.reader.readexactly(2) == b"\r\n"
        assert not data or data.endswith(b"\n\n")
        self.size += len(data)
        for text in data.split(b"\n\n")[:-1]:
            if text.startswith(b"id: "):
                self.ids.append(int(text.split(b"\n", 1)[0][4:]))
            else:
                self.others.append(text)
        return data

    async def until(self, good: Callable[[], bool]) -> None:
        """Read on until so much has come."""
        with anyio.fail_after(180):
            while not good():
                await self.part()

    async def up_to(self, number: int) -> None:
        """Read on until that event has come."""
        await self.until(lambda: self.ids[-1:] == [number])

    async def rest(self) -> None:
        """Read to the end."""
        with anyio.fail_after(180):
            while await self.part():
                pass


async def test_one_that_reads_nothing_for_long_harms_nobody_and_misses_nothing(server: Any) -> None:
    job = (await server.submit())["id"]
    async with live(server) as served:
        slow = await Client.open(served, "/v1/events?last=1")
        paths = ("/v1/events?last=1", f"/v1/jobs/{job}/events")
        quick = [await Client.open(served, paths[number % 2]) for number in range(6)]
        most_bytes = 0
        for number in range(1, BATCHES + 1):
            served.happen(job, "ada")
            await asyncio.gather(*(each.up_to(1 + BATCH * number) for each in quick))
            most_bytes = max(most_bytes, served.held_bytes)
        assert quick[0].size > 4 * MAX_BYTES > 4 * most_bytes > 0
        await slow.up_to(1 + BATCH * BATCHES)
        for each in (slow, *quick):
            assert each.ids == list(range(1, 2 + BATCH * BATCHES))


async def test_one_that_reads_nothing_for_too_long_is_closed_and_goes_on_where_it_was(server: Any) -> None:
    job = (await server.submit())["id"]
    async with live(server) as served:
        never = await Client.open(served, "/v1/events?last=1")
        await never.up_to(1)  # from here on it reads nothing
        served.connections.limits = IMPATIENT
        with anyio.fail_after(180):
            while served.uvicorn.server_state.connections:
                served.happen(job, "ada", 1000)
                await asyncio.sleep(0.02)
        served.connections.limits = PATIENT
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, ValueError):
            while True:
                await never.part()
        last = server.store.events.before_last("ada", 0)
        assert never.ids == list(range(1, len(never.ids) + 1))
        assert len(never.ids) < last
        again = await Client.open(served, "/v1/events?last=0", after=never.ids[-1])
        await again.up_to(last)
        assert again.ids == list(range(len(never.ids) + 1, last + 1))


async def test_what_is_written_to_all_at_once_has_its_place_among_what_is_sent_to_each(server: Any) -> None:
    job = (await server.submit())["id"]
    async with live(server) as served:
        feed, one = [await Client.open(served, path) for path in ("/v1/events?last=1", f"/v1/jobs/{job}/events")]
        for each in (feed, one):
            await each.until(lambda each=each: b": still here" in each.others)  # type: ignore[misc]
            assert each.others[0] == b"retry: 1000"
        served.happen(job, "ada", 3)
        for each in (feed, one):
            await each.up_to(4)
        server.hypervisor.finish(server.store.jobs.get("ada", job), result=bytes(6))
        await one.rest()
        assert one.ids == [1, 2, 3, 4, 5]
        assert one.others[-1] == b"event: end\ndata: {}"
        one.writer.write(b"GET /healthz HTTP/1.1\r\nHost: e\r\n\r\n")  # the connection goes on
        assert (await one.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        await feed.up_to(5)
        server.app.state.context.ending.set()
        await feed.rest()
        assert b"event: end\ndata: {}" not in feed.others
