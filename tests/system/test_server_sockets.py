"""The sockets of a served API: how connections are set up."""

from __future__ import annotations

import socket
from pathlib import Path

import httpx
import pytest
from eddy.api.server import Server, ServerSettings, _listen

BITSTREAMS = Path(__file__).parents[2] / "bitstreams"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_listening_socket_says_it_is_tcp(host: str) -> None:
    with _listen(host, 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_accepted_connections_do_not_wait_for_acknowledgements(tmp_path: Path) -> None:
    settings = ServerSettings("model", "tiny", "fcfs", tmp_path / "data", BITSTREAMS, port=0)
    with Server(settings).background() as server, httpx.Client(base_url=server.url) as client:
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
        assert httpx.get(server.url + "/healthz", headers=asked).json()["status"] == "ok"
    said = capfd.readouterr()
    assert "ebSocket" not in said.err + said.out
