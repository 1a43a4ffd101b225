# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Clients that send or read slowly, and many of them, against a real socket: others are served, memory is bounded."""

from __future__ import annotations

import asyncio
import dataclasses
import ipaddress
import json
import logging
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import httpx
import pytest
import uvicorn
from eddy.api.http.connections import ConnectionLimits, Connections, client_of, guard_connections, proxy_options

LIMITS = ConnectionLimits(connections=12, connections_per_client=8, patience_s=0.4, bytes_per_s=1000)
WAIT_S = 180.0
LARGE = 12 << 20
HEAD = b"POST /echo HTTP/1.1\r\nHost: eddy\r\nContent-Length: 100000\r\n"


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the length of the body, or with a large body, or slowly; on /early before the body has come."""
    assert scope["type"] == "http"
    size, more = 0, scope["path"] != "/early"
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    body = bytes(LARGE) if scope["path"] == "/large" else str(size).encode()
    if scope["path"] == "/who":
        body = f"{scope['client'][0]} {scope['scheme']}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def serving(limits: ConnectionLimits, on_slow: Callable[[], None] = lambda: None) -> Iterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    http = guard_connections(limits, on_slow)
    config = uvicorn.Config(app, http=http, lifespan="off", log_level="error", **proxy_options(limits))  # type: ignore[arg-type]
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield int(listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(WAIT_S)
        listener.close()


@pytest.fixture
def port() -> Iterator[int]:
    with serving(LIMITS) as number:
        yield number


def connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.settimeout(WAIT_S)
    return connection


def everything(connection: socket.socket) -> bytes:
    """What still comes until the server closes."""
    data = b""
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            data += part
    return data


@pytest.mark.parametrize("begun", [b"", b"GET / HTT", HEAD])
def test_a_head_that_does_not_come_ends_the_connection(port: int, begun: bytes) -> None:
    with connect(port) as connection:
        connection.sendall(begun)
        answer = everything(connection)
    assert b"HTTP/1.1 408" in answer
    assert b"application/problem+json" in answer
    assert b'"request-timeout"' in answer


@pytest.mark.parametrize("rate", [0, 200])
def test_a_body_that_comes_too_slowly_ends_the_connection(port: int, rate: int) -> None:
    with connect(port) as connection:
        connection.sendall(HEAD + b"\r\n" + b"x" * 500)
        start = time.monotonic()
        with suppress(ConnectionError):
            while time.monotonic() - start < WAIT_S:
                connection.sendall(b"x" * (rate // 10))
                connection.settimeout(0.1)
                with suppress(TimeoutError):
                    first = connection.recv(65536)
                    break
            else:
                pytest.fail("it was not ended")
            connection.settimeout(WAIT_S)
            assert first.startswith(b"HTTP/1.1 408")
            assert b'"instance": "/echo"' in first + everything(connection)


def test_a_slow_upload_that_goes_on_is_left_alone(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(HEAD + b"\r\n")
        for _ in range(20):  # 2500 bytes a second, for five times the patience
            connection.sendall(b"x" * 250)
            time.sleep(0.1)
        connection.sendall(b"x" * (100000 - 20 * 250))
        data = b""
        while not data.endswith(b"100000"):
            data += connection.recv(65536)
    assert data.startswith(b"HTTP/1.1 200")


def test_an_answer_nobody_reads_ends_the_connection() -> None:
    slow = threading.Event()
    with serving(LIMITS, slow.set) as port, connect(port) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: eddy\r\n\r\n")
        assert slow.wait(WAIT_S)
        assert len(everything(connection)) < LARGE


def test_an_answer_that_is_read_slowly_comes_whole() -> None:
    limits = ConnectionLimits(patience_s=0.2, bytes_per_s=1000)
    with serving(limits) as port, connect(port) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: eddy\r\nConnection: close\r\n\r\n")
        size, start = 0, time.monotonic()
        while time.monotonic() - start < 2:
            size += len(connection.recv(1 << 14))
            time.sleep(0.05)
        size += len(everything(connection))
    assert size > LARGE


def test_whoever_waits_longest_makes_room_and_others_are_served(port: int) -> None:
    with ExitStack() as held:
        idle = [held.enter_context(connect(port)) for _ in range(40)]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=WAIT_S) as client:
            assert client.get("/").text == "0"
            assert client.get("/").text == "0"
        ended = sum(1 for connection in idle if everything_now(connection))
    assert ended >= 40 - LIMITS.connections_per_client


def everything_now(connection: socket.socket) -> bool:
    """Whether the server has answered or closed."""
    connection.settimeout(0.05)
    try:
        connection.recv(4096)
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


def test_where_all_are_at_work_the_next_is_refused() -> None:
    with serving(dataclasses.replace(LIMITS, patience_s=WAIT_S)) as port, ExitStack() as held:
        for _ in range(LIMITS.connections_per_client):
            busy = held.enter_context(connect(port))
            busy.sendall(HEAD + b"Expect: 100-continue\r\n\r\n")
            assert busy.recv(4096).startswith(b"HTTP/1.1 100"), "it is being answered"
        with connect(port) as late:
            answer = everything(late)
    assert answer.startswith(b"HTTP/1.1 503")
    assert b'"too-many-connections"' in answer
    assert b"retry-after: 1" in answer.lower()


def test_what_is_not_http_is_a_problem_too(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        answer = everything(connection)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert re.search(rb"\r\nx-request-id: [0-9a-f]{16}(\r\n|$)", head.lower())
    problem = json.loads(body)
    assert problem["code"] == "bad-request"
    assert "RFC 9112" in problem["detail"]


def test_nobody_answers_a_request_again_that_went_on_as_no_http(port: int) -> None:
    found = list[str]()
    handler = logging.Handler()
    handler.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("uvicorn.error")
    logger.addHandler(handler)
    try:
        with connect(port) as connection:
            connection.sendall(b"POST /early HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nx\r\n")
            assert everything(connection).startswith(b"HTTP/1.1 400")
        time.sleep(0.1)
    finally:
        logger.removeHandler(handler)
    assert found == []


def test_a_kept_alive_connection_goes_on_serving(port: int) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=WAIT_S) as client:
        for _ in range(3):
            assert client.post("/", content=b"x" * 200000).text == "200000"
            time.sleep(0.6)


PROXY = dataclasses.replace(LIMITS, trusted_proxies=(ipaddress.ip_network("127.0.0.0/8"),))


@pytest.mark.parametrize("limits", [LIMITS, PROXY], ids=["none", "trusted"])
def test_only_a_trusted_proxy_says_where_a_request_comes_from(
    limits: ConnectionLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # of uvicorn: it is no setting of ours
    said = {"X-Forwarded-For": "198.51.100.9, 203.0.113.7", "X-Forwarded-Proto": "https"}
    with serving(limits) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=WAIT_S) as client:
        who = client.get("/who", headers=said).text
    assert who == ("203.0.113.7 https" if limits is PROXY else "127.0.0.1 http")


def test_connections_of_a_trusted_proxy_are_those_of_many() -> None:
    """All of them are at work: none can make room for another."""
    with serving(dataclasses.replace(PROXY, patience_s=60.0)) as port, ExitStack() as stack:
        held = [stack.enter_context(connect(port)) for _ in range(PROXY.connections)]
        for connection in held:
            connection.sendall(HEAD + b"\r\n")
        time.sleep(0.2)
        for connection in held:
            connection.sendall(bytes(100_000))
        assert all(connection.recv(4096).startswith(b"HTTP/1.1 200") for connection in held)


class Watched:
    """A connection that keeps when it was looked at."""

    def __init__(self) -> None:
        self.looks: list[float] = []

    def end_if_slow(self, now_s: float) -> None:
        self.looks.append(now_s)


def test_time_in_which_the_server_stood_still_counts_against_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stopped, or its machine is, for longer than its patience: the next look is one step later, not twenty."""

    async def check() -> None:
        loop, wall, watched = asyncio.get_running_loop(), [100.0], Watched()
        monkeypatch.setattr(loop, "time", lambda: wall[0])
        connections = Connections(LIMITS)
        assert connections.add(watched, "a")  # type: ignore[arg-type]
        for passes in (0.1, 8.1, 0.1):
            wall[0] += passes
            connections._look()
        assert watched.looks == pytest.approx([100.1, 100.2, 100.3])
        assert connections.now_s == pytest.approx(100.3)
        connections._open.clear()

    asyncio.run(check())


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("2001:db8:0:1:aaaa::7", "2001:db8:0:1::/64"),
        ("2001:db8:0:1::", "2001:db8:0:1::/64"),
        ("2001:db8:0:2::7", "2001:db8:0:2::/64"),
        ("fe80::7%eth0", "fe80::/64"),
        ("", ""),
        ("a-socket", "a-socket"),
    ],
)
def test_what_counts_as_one_client(address: str, client: str) -> None:
    assert client_of(address) == client


@pytest.mark.anyio
async def test_the_addresses_of_one_client_of_ipv6_are_bounded_together() -> None:
    class Busy:
        is_waiting = False

        def end_if_slow(self, now_s: float) -> None:
            pass

    connections = Connections(ConnectionLimits(connections=8, connections_per_client=2))
    held = [Busy() for _ in range(4)]
    addresses = ("2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1")
    found = [connections.add(each, address) for each, address in zip(held, addresses, strict=True)]  # type: ignore[arg-type]
    assert found == [True, True, False, True]
    for each in held:
        connections.remove(each)  # type: ignore[arg-type]
