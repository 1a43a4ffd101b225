# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Connections that the bound on open files has room for; a server with few files answers all the same."""

from __future__ import annotations

import logging
import re
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from eddy.api.http.connections import ConnectionLimits
from eddy.api.service import descriptors
from eddy.core.errors import InvalidRequest

ASKED = ConnectionLimits(connections=512, connections_per_client=256)


@pytest.mark.parametrize(
    ("soft", "hard", "raised", "connections", "per_client"),
    [
        (1024, 1 << 20, 1420, 512, 256),
        (4096, 4096, None, 512, 256),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, None, 512, 256),
        (256, resource.RLIM_INFINITY, 1420, 512, 256),
        (1024, 1024, None, 314, 256),
        (256, 512, 512, 58, 58),
    ],
)
def test_the_bound_on_files_is_raised_or_connections_are_fewer(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, raised: int | None, connections: int, per_client: int
) -> None:
    asked = list[int]()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, bounds: asked.append(bounds[0]))
    found = descriptors.fit_connection_limits(ASKED)
    assert asked == ([] if raised is None else [raised])
    assert (found.connections, found.connections_per_client) == (connections, per_client)


def test_a_bound_that_cannot_be_raised_after_all_stays(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr(resource, "getrlimit", lambda _: (512, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    with caplog.at_level(logging.WARNING):
        assert descriptors.fit_connection_limits(ASKED).connections == 58
    assert "512 files may be open, which is room for 58 connections, not 512" in caplog.text


def test_too_few_files_are_said_to_be_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 64))
    with pytest.raises(InvalidRequest, match=r"64 files open, and a server needs 428: raise the bound \(`ulimit -n`"):
        descriptors.fit_connection_limits(ASKED)


def test_a_server_with_few_files_serves_beside_many_connections(tmp_path: Path) -> None:
    serve = "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (450, 450)); sys.argv[0] = 'eddy'"
    command = [sys.executable, "-c", f"{serve}; from eddy.cli.main import app; app()", "serve", "--board", "model"]
    log = tmp_path / "log"
    with log.open("wb") as output:
        server = subprocess.Popen([*command, "--port", "0", "--data", str(tmp_path / "data")], stderr=output)
    crowd = list[socket.socket]()
    try:
        while not (said := re.search(r"serving on http://127\.0\.0\.1:(\d+) ", log.read_text())):
            assert server.poll() is None, log.read_text()
            time.sleep(0.05)
        port = int(said[1])
        for _ in range(600):
            crowd.append(socket.create_connection(("127.0.0.1", port)))
        for each in crowd[:5]:
            each.close()
        assert httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=180).status_code == 200
    finally:
        for each in crowd:
            each.close()
        server.terminate()
        server.wait(180)
    assert "Too many open files" not in log.read_text()
    assert "room for 27 connections" in log.read_text()
