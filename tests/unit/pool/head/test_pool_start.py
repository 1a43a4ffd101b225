# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A head that starts while the servers of its pool choose leaders: it waits for them, and does not give up;
`eddy pool serve` as a process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import selectors
import socket
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest
import uvicorn
from eddy.api.http.connections import ConnectionLimits
from eddy.api.service.listen_socket import listen
from eddy.cli.main import app
from eddy.host import interpreter_switching, memory_tuning
from eddy.pool.connection import connection, streams
from eddy.pool.connection.credentials import PoolAccess
from eddy.pool.head import head_server
from eddy.pool.head.head_server import Head, HeadSettings
from eddy.pool.jetstream import link
from eddy.pool.jetstream.budget import RECORDS
from nats.errors import TimeoutError as NatsTimeout
from nats.js.api import StreamConfig
from typer.testing import CliRunner


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes only where everybody waits, and then at once."""

    def __init__(self) -> None:
        self.now_s = 0.0
        loop = self

        class Selector(selectors.SelectSelector):
            def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
                ready = super().select(0)
                if not ready and timeout:
                    loop.now_s += timeout
                return ready

        super().__init__(Selector())

    def time(self) -> float:
        return self.now_s


class Streams:
    """JetStream of which each part answers only from a time on; before, whoever asks waits 5 s in vain."""

    def __init__(self, leads_s: Callable[[str], float]) -> None:
        self.leads_s = leads_s

    def jetstream(self, timeout: float) -> Streams:
        self.timeout_s = timeout
        return self

    async def key_value(self, name: str) -> str:
        if asyncio.get_running_loop().time() < self.leads_s(name):
            await asyncio.sleep(self.timeout_s)
            raise NatsTimeout
        return name

    async def stream_info(self, name: str) -> Any:
        await self.key_value(name)
        noted = {RECORDS: "1"}
        config = StreamConfig(max_consumers=streams.MAX_CONSUMERS, allow_rollup_hdrs=False, metadata=noted)
        return SimpleNamespace(config=config)


NAMES = ("eddy_submissions", "eddy_jobs", "eddy_boards", "eddy_leases", "eddy_leader", "eddy_keys", "eddy_bytes")


def test_streams_that_lost_their_leaders_are_waited_for_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = JumpingLoop()
    place: Any = SimpleNamespace(capacity=lambda: 0)
    servers: Any = Streams(lambda name: 2.0 * NAMES.index(name) if name in NAMES else 13.0)
    try:
        monkeypatch.setattr(link, "_begun", AsyncMock())
        made: Any = loop.run_until_complete(link._steadily_made(servers, replicas=3, patience_s=10.0, place=place))
    finally:
        loop.close()
    assert (made.submissions, made.leader, made.accounts.bucket) == ("eddy_submissions", "eddy_leader", "eddy_bytes")
    assert 13.0 <= loop.now_s <= 13.0 + link.ASKED_S + 0.5


class Tenants:
    """Tenants of a pool: what happens when an operator is looked for, and let in."""

    outcomes: list[BaseException | bool | None]

    def __init__(self, _: Any) -> None:
        pass

    async def operated(self) -> Any:
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async def operate(self, secret: str) -> None:
        self.let_in.append(secret)
        await self.operated()

    let_in: list[str]


@pytest.mark.parametrize(
    ("outcomes", "tries"),
    [
        ([False, None], 1),
        ([True], 0),
        ([NatsTimeout(), OSError(), False, None], 1),
        ([False, NatsTimeout(), False, None], 2),
        ([False, NatsTimeout(), True], 1),
    ],
)
def test_the_operators_key_is_made_though_a_server_ends_meanwhile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, outcomes: list[BaseException | bool | None], tries: int
) -> None:
    monkeypatch.setattr(head_server, "PoolTenants", Tenants)
    Tenants.outcomes, Tenants.let_in = [*outcomes], []
    file = tmp_path / "operator.key"
    head = Head(HeadSettings("nats://nowhere", tmp_path, file, "h", port=0))
    loop = JumpingLoop()
    try:
        loop.run_until_complete(head._see_to_operator(None))  # type: ignore[arg-type]
    finally:
        loop.close()
        head._socket.close()
    assert Tenants.let_in == [file.read_text().strip()] * tries if tries else not file.exists()
    assert Tenants.outcomes == []


def test_a_head_that_is_told_to_end_while_it_starts_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It waits for a pool that is away, for ever."""
    waits = threading.Event()

    @contextlib.asynccontextmanager
    async def open_session(*_: object, **__: object) -> AsyncIterator[None]:
        waits.set()
        await asyncio.Event().wait()
        yield

    monkeypatch.setattr(head_server, "open_pool", open_session)
    head = Head(HeadSettings("nats://nowhere", tmp_path, tmp_path / "operator.key", "h", port=0))
    running = threading.Thread(target=head.run, daemon=True)
    running.start()
    assert waits.wait(180)
    head.stop()
    running.join(180)
    assert not running.is_alive()


def test_a_heads_connections_are_bounded_as_a_servers_are() -> None:
    began = threading.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            assert (await receive())["type"] == "lifespan.startup"
            began.set()
            await send({"type": "lifespan.startup.complete"})
            await receive()

    listener = listen("127.0.0.1", 0)
    limits = ConnectionLimits(connections=4, connections_per_client=4, patience_s=0.2)
    server = uvicorn.Server(head_server.configuration(app, limits))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        assert began.wait(180)
        with socket.create_connection(listener.getsockname()) as slow:
            slow.settimeout(180)
            slow.sendall(b"GET / HTTP/1.1\r\nHo")
            assert slow.recv(65536).startswith(b"HTTP/1.1 408")
    finally:
        server.should_exit = True
        thread.join(180)
        listener.close()


def test_servers_that_are_slow_to_begin_with_are_given_more_time_at_each_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same time at each, a machine that is slow for a while would be cut off for as long."""
    monkeypatch.setattr(connection, "CONNECT_S", 0.05)
    tried = list[asyncio.StreamWriter]()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tried.append(writer)
        await asyncio.sleep(0.08)
        info = {"server_id": "s", "version": "2.11.0", "max_payload": 1 << 20, "proto": 1, "headers": True}
        writer.write(f"INFO {json.dumps(info)}\r\n".encode())
        while line := await reader.readline():
            if line.startswith(b"PING"):
                writer.write(b"PONG\r\n")
        writer.close()

    async def go() -> None:
        server = await asyncio.start_server(served, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with connection.connected(PoolAccess(f"nats://127.0.0.1:{port}", "", "", ""), "a head", 180.0) as client:
            assert client.options["connect_timeout"] == 0.05, "the next server that stands still is left as soon"
            before = len(tried)
            assert before > 1
            tried[-1].transport.abort()
            while client.stats["reconnects"] == 0:
                await asyncio.sleep(0.01)
            assert len(tried) > before + 1
            while client.options["connect_timeout"] != 0.05:
                await asyncio.sleep(0.01)
        server.close()

    asyncio.run(asyncio.wait_for(go(), 180))


def test_a_head_does_about_memory_and_turns_what_a_boards_server_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Few heaps of the C library from before its threads start; the rest once it serves."""
    done: list[str] = []

    class Watched:
        url = ""

        def __init__(self, *_: object) -> None:
            done.append("made")

        def run(self, ready: Callable[[], None]) -> None:
            done.append("runs")
            ready()

        def stop(self) -> None:
            pass

    monkeypatch.setattr("eddy.pool.head.head_server.Head", Watched)
    monkeypatch.setattr(memory_tuning, "limit_heaps", lambda: done.append("heaps"))
    monkeypatch.setattr(memory_tuning, "freeze_objects", lambda: done.append("frozen"))
    monkeypatch.setattr(interpreter_switching, "set_switch_interval", lambda: done.append("turns"))
    told = CliRunner().invoke(app, ["pool", "serve", "--data", str(tmp_path), "--json"])
    assert told.exit_code == 0, told.output
    assert done == ["heaps", "made", "runs", "frozen", "turns"]
