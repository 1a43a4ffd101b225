# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The end of a connection to the pool's servers, at the moment at which it was about to be made again."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from eddy.pool.connection import connection
from eddy.pool.connection.credentials import PoolAccess
from nats.aio.transport import TcpTransport

INFO = b'INFO {"server_id":"one","max_payload":1048576,"proto":1,"headers":true}\r\n'


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Let in whoever comes, as a server of NATS does, and answer pings."""
    writer.write(INFO)
    while line := await reader.readline():
        if line.startswith(b"PING"):
            writer.write(b"PONG\r\n")
    writer.close()


class Connections:
    """Connections of one client, each of which was made although its attempt was cancelled."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = asyncio.Event()
        self.writers: list[asyncio.StreamWriter] = []
        connect = TcpTransport.connect

        async def slowly(transport: TcpTransport, *arguments: Any, **options: Any) -> None:
            self.begun.set()
            with contextlib.suppress(asyncio.CancelledError):  # as `asyncio.wait_for` loses it before Python 3.12
                await asyncio.sleep(0.05 if self.writers else 0.0)
            await connect(transport, *arguments, **options)
            assert transport._io_writer is not None
            self.writers.append(transport._io_writer)

        monkeypatch.setattr(TcpTransport, "connect", slowly)

    async def lose(self) -> None:
        """Break the first connection, and wait for the attempt to make another."""
        self.begun.clear()
        self.writers[0].transport.abort()
        await self.begun.wait()


@pytest.mark.parametrize("twice", [False, True], ids=["one attempt", "two attempts"])
def test_nothing_of_a_connection_is_left(monkeypatch: pytest.MonkeyPatch, twice: bool) -> None:
    async def run() -> tuple[list[asyncio.StreamWriter], set[asyncio.Task[Any]]]:
        connections = Connections(monkeypatch)
        server = await asyncio.start_server(greet, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = connection._Client(PoolAccess(f"nats://127.0.0.1:{port}"))
        await client.reach("test")
        client.options["reconnect_time_wait"] = 0
        await connections.lose()
        if twice:  # another attempt begins while the first has lost its cancellation
            first = client._reconnection_task
            client._reconnection_task = asyncio.create_task(client._attempt_reconnect())
            assert first is not None
            first.cancel()
            await asyncio.sleep(0.1)
        await client.hang_up()
        server.close()
        await asyncio.sleep(0.1)
        others = {each for each in asyncio.all_tasks() if "Client." in repr(each.get_coro())}
        return connections.writers, others

    writers, others = asyncio.run(run())
    assert len(writers) == 3 if twice else len(writers) <= 2
    assert all(writer.transport.is_closing() for writer in writers)
    assert others == set()
