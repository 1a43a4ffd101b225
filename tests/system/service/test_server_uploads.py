# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Large blobs and outputs on a live server: its memory stays as it is, and what breaks off leaves nothing."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MEGABYTE = 1 << 20
EACH = 24 * MEGABYTE
UPLOADS = 8


@dataclass(frozen=True)
class Live:
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    port: int
    key: str
    data: Path

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=180)

    def put(self, data: bytes, declared: int | None = None) -> tuple[int, dict[str, object]]:
        connection = self.connect()
        connection.putrequest("PUT", f"/v1/blobs/{hashlib.sha256(data).hexdigest()}")
        connection.putheader("Authorization", f"Bearer {self.key}")
        connection.putheader("Content-Length", str(len(data) if declared is None else declared))
        connection.endheaders()
        for at in range(0, len(data), MEGABYTE):
            connection.send(data[at : at + MEGABYTE])
        if declared is not None:
            connection.close()
            return 0, {}
        answer = connection.getresponse()
        status, body = answer.status, json.loads(answer.read())
        connection.close()
        return status, body

    @property
    def peak_bytes(self) -> int:
        """The most memory it has had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024

    def blobs(self) -> list[Path]:
        return [path for path in (self.data / "blobs").rglob("*") if path.is_file()]


BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
"""As on a machine that is not set up for development: what a command says must come without being asked for twice."""


@contextmanager
def live(data: Path) -> Iterator[Live]:
    command = [sys.executable, "-m", "eddy.cli.main", "serve", "--board", "model", "--profile", "tiny", "--port", "0"]
    command += ["--request-timeout-s", "180"]  # nobody here is slow on purpose
    process = subprocess.Popen(
        [*command, "--data", str(data), "--json"], stdout=subprocess.PIPE, text=True, cwd=ROOT, env=BUFFERED
    )
    try:
        text = ""
        assert process.stdout is not None
        for line in process.stdout:
            text += line
            if line.rstrip().endswith("}"):
                break
        said = json.loads(text)
        key = Path(said["operator_key_file"]).read_text().strip()
        yield Live(process, int(said["url"].rsplit(":", 1)[1]), key, data)
    finally:
        process.kill()
        process.communicate(timeout=180)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("uploads") / "data") as running:
        yield running


def test_memory_does_not_grow_with_uploads(server: Live) -> None:
    assert server.put(b"small")[0] == 201
    before, kept = server.peak_bytes, server.blobs()
    bodies = [bytes([number]) * EACH for number in range(UPLOADS)]
    with ThreadPoolExecutor(UPLOADS) as pool:
        assert {status for status, _ in pool.map(server.put, bodies)} == {201}
    assert server.peak_bytes - before < EACH, "less than one of the eight that were under way"
    assert [path.stat().st_size for path in server.blobs() if path not in kept] == [EACH] * UPLOADS


def test_a_connection_that_breaks_leaves_nothing(server: Live) -> None:
    kept = set(server.blobs())
    server.put(b"x" * (2 * MEGABYTE), declared=50 * MEGABYTE)
    assert server.put(b"another")[0] == 201
    until_s = time.monotonic() + 180
    while len(server.blobs()) > len(kept) + 1 and time.monotonic() < until_s:
        time.sleep(0.01)
    assert [path.read_bytes() for path in server.blobs() if path not in kept] == [b"another"]


def test_one_that_is_refused_hears_it_however_much_it_sends(server: Live) -> None:
    kept, connection = server.blobs(), server.connect()
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
    small = json.dumps({"id": "ada", "quota": {"max_blob_bytes": 10}})
    connection.request("POST", "/v1/admin/tenants", small, headers)
    key = json.loads(connection.getresponse().read())["key"]
    body, digest = bytes(8 * MEGABYTE), hashlib.sha256(bytes(8 * MEGABYTE)).hexdigest()
    with contextlib.closing(connection):
        for sent in ({}, {"Connection": "close"}):
            connection.request("PUT", f"/v1/blobs/{digest}", body, {"Authorization": f"Bearer {key}", **sent})
            answer = connection.getresponse()
            assert (answer.status, json.loads(answer.read())["code"]) == (429, "quota-exceeded")
    assert server.blobs() == kept


def test_a_server_that_is_killed_in_an_upload_sweeps_what_it_left(tmp_path: Path) -> None:
    with live(tmp_path / "data") as server:
        assert server.put(b"kept")[0] == 201
        connection = server.connect()
        connection.putrequest("PUT", f"/v1/blobs/{hashlib.sha256(b'x').hexdigest()}")
        connection.putheader("Authorization", f"Bearer {server.key}")
        connection.putheader("Content-Length", str(50 * MEGABYTE))
        connection.endheaders()
        connection.send(b"x" * (2 * MEGABYTE))
        while len(server.blobs()) < 2:
            assert server.put(b"kept")[0] == 200
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(180)
        connection.close()
        assert len(server.blobs()) == 2
    with live(tmp_path / "data") as again:
        assert [path.read_bytes() for path in again.blobs()] == [b"kept"]
