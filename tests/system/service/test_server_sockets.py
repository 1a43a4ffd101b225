# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The sockets of a served API: how connections are set up."""

from __future__ import annotations

import socket
from pathlib import Path

import httpx
import pytest
from eddy.api.service.listen_socket import listen
from eddy.api.service.server import Server, ServerSettings

BITSTREAMS = Path(__file__).parents[3] / "bitstreams"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_listening_socket_says_it_is_tcp(host: str) -> None:
    with listen(host, 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_accepted_connections_do_not_wait_for_acknowledgements(tmp_path: Path) -> None:
    settings = ServerSettings("model", "tiny", "fcfs", tmp_path / "data", BITSTREAMS, port=0)
    with Server(settings).background() as server, httpx.Client(base_url=server.url, timeout=180) as client:
        assert client.get("/healthz").status_code == 200
        connections = list(server._uvicorn.server_state.connections)
        assert connections
        for connection in connections:
            accepted = connection.transport.get_extra_info("socket")
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_asking_for_a_websocket_writes_nothing_into_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    settings = ServerSettings("model", "tiny", "fcfs", tmp_path / "data", BITSTREAMS, port=0)
    asked = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "eA==",
        "Sec-WebSocket-Version": "13",
    }
    with Server(settings).background() as server:
        assert httpx.get(server.url + "/healthz", headers=asked, timeout=180).json()["status"] == "ok"
    said = capfd.readouterr()
    assert "ebSocket" not in said.err + said.out


SMUGGLED = b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"


def said_to(server: Server, request: bytes) -> bytes:
    with socket.create_connection((server.host, server.port), timeout=180) as connection:
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(1 << 16):
            answer += piece
    return answer


def test_a_head_that_can_be_read_in_two_ways_is_refused_with_what_follows_it(tmp_path: Path) -> None:
    settings = ServerSettings("model", "tiny", "fcfs", tmp_path / "data", BITSTREAMS, port=0)
    post = b"POST /v1/jobs HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
    bodies = {
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n": b"0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n": b"0\r\n\r\n",
        b"Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 2\r\n": b"{}",
        b"Authorization: Bearer a\r\nauthorization: Bearer b\r\nContent-Length: 2\r\n": b"{}",
        b"content-type: text/plain\r\nContent-Length: 2\r\n": b"{}",
    }
    with Server(settings).background() as server:
        for head, body in bodies.items():
            answer = said_to(server, post + head + b"\r\n" + body + SMUGGLED)
            assert (answer.count(b"HTTP/1.1 "), answer[:12]) == (1, b"HTTP/1.1 400"), head
            assert b'"bad-request"' in answer
        coded = said_to(server, post + b"Content-Encoding: gzip\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        assert coded.startswith(b"HTTP/1.1 415")
        assert b'"Content-Encoding"' in coded


def test_what_is_not_http_writes_nothing_into_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    settings = ServerSettings("model", "tiny", "fcfs", tmp_path / "data", BITSTREAMS, port=0)
    with Server(settings).background() as server:
        for _ in range(3):
            assert said_to(server, b"\x16\x03\x01 hello\r\n\r\n").startswith(b"HTTP/1.1 400")
    said = capfd.readouterr()
    assert "nvalid" not in said.err + said.out
