# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Programs whose log cannot be written: they start, answer and end as they do where it can."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import httpx
import pytest
from contract.test_gateway import certificate
from eddy.host.trust import generate

nats = pytest.importorskip("eddy.pool.servers.nats_server")

WAIT_S = 180.0
SINKS = ("full", "pipe", "closed", "unread", "disk")
"""A device that is always full; a pipe nobody reads any more; a descriptor that is closed; a pipe whose reader stands
still; a file on a disk without room."""


def until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait until something holds, while a program runs."""
    deadline_s = time.monotonic() + WAIT_S
    while not condition():
        assert process.poll() is None, f"it ended with {process.returncode}"
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


@contextlib.contextmanager
def small_disk(path: Path, size: str) -> Iterator[Path]:
    """A file system of its own, which root may mount."""
    path.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def fill(disk: Path) -> Path:
    """Leave no byte of a disk free; answers what has them."""
    with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 16))
    with contextlib.suppress(OSError), (disk / "filler").open("ab", buffering=0) as file:
        while True:
            file.write(b"x")
    return disk / "filler"


@dataclass
class Sink:
    """Where both standard streams of a program go."""

    kind: str
    folder: Path
    undo: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def start(self, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        """Run `eddy` with a command line."""
        whole = [sys.executable, "-m", "eddy.cli.main", *command]
        if self.kind == "closed":
            whole = ["bash", "-c", 'exec "$@" <&- >&- 2>&-', "bash", *whole]
        stream = self._stream()
        process = subprocess.Popen(whole, stdout=stream, stderr=stream, env={**os.environ, **environment})
        self.undo.callback(process.wait)
        self.undo.callback(process.kill)
        return process

    def _stream(self) -> IO[bytes] | int | None:
        if self.kind in ("pipe", "unread"):
            reading, writing = os.pipe()
            self.undo.callback(os.close, writing)
            if self.kind == "pipe":
                os.close(reading)
            else:
                self.undo.callback(os.close, reading)
                os.set_blocking(writing, False)
                with contextlib.suppress(BlockingIOError):
                    while True:
                        os.write(writing, bytes(4096))
                os.set_blocking(writing, True)
            return writing
        if self.kind == "disk":
            disk = self.undo.enter_context(small_disk(self.folder / "logs", "64k"))
            fill(disk)
            return self.undo.enter_context((disk / "log").open("wb"))
        if self.kind == "full":
            return self.undo.enter_context(open("/dev/full", "wb"))
        return None if self.kind == "closed" else subprocess.DEVNULL


@pytest.fixture
def sink(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Sink]:
    made = Sink(request.param, tmp_path)
    with made.undo:
        yield made


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def ended(process: subprocess.Popen[bytes]) -> int:
    """How it ends when it is told to."""
    process.send_signal(signal.SIGTERM)
    return process.wait(WAIT_S)


def serve_arguments(folder: Path, port: int, *more: str) -> list[str]:
    return ["serve", "--board", "model", "--profile", "tiny", "--port", str(port), "--data", str(folder), *more]


def fails_with_a_line(url: str, data: Path) -> None:
    """Requests that are logged, each answered in the form all are."""
    key = (data / "operator.key").read_text().strip()
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=WAIT_S) as client:
        sent = b"to be damaged"
        name = hashlib.sha256(sent).hexdigest()
        assert client.put(f"/v1/blobs/{name}", content=sent).status_code == 201
        (file,) = (data / "blobs").glob(f"t-*/{name}")
        file.write_bytes(b"was damaged..")
        for path, status, code in (
            (f"/v1/blobs/{name}", 500, "file-damaged"),
            ("/v1/jobs/1", 404, "not-found"),
            ("/v1/jobs?limit=x", 422, "invalid-request"),
        ):
            answer = client.get(path)
            assert (answer.status_code, answer.json()["code"]) == (status, code)
            assert answer.headers["content-type"] == "application/problem+json"
        file.write_bytes(sent)
        assert client.get(f"/v1/blobs/{name}").content == sent
        metrics = client.get("/metrics").text
    lost = [line for line in metrics.splitlines() if line.startswith("eddy_log_lines_lost_total")]
    assert float(lost[0].split()[1]) > 0


def nonsense(port: int) -> bytes:
    """What no HTTP is, and its answer: uvicorn has a line for it."""
    with socket.create_connection(("127.0.0.1", port), WAIT_S) as raw:
        raw.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
        return raw.recv(4096)


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("sink", SINKS, indirect=True)
def test_a_server(sink: Sink, tmp_path: Path, as_json: bool) -> None:
    port, data = nats.free_port("127.0.0.1"), tmp_path / "data"
    more = ["--log-level", "info", *(["--json"] if as_json else [])]
    process = sink.start(*serve_arguments(data, port, *more))
    url = f"http://127.0.0.1:{port}"
    until(lambda: listens(port) and httpx.get(f"{url}/readyz", timeout=WAIT_S).status_code == 200, process)
    fails_with_a_line(url, data)
    assert nonsense(port).startswith(b"HTTP/1.1 400")
    assert ended(process) == 0


@pytest.mark.rtl
@pytest.mark.parametrize("sink", SINKS, indirect=True)
def test_boardd_and_its_gateway(sink: Sink, tmp_path: Path) -> None:
    form = ["--json"] if sink.kind in ("full", "closed") else []
    at, port = tmp_path / "b.sock", nats.free_port("127.0.0.1")
    boardd = sink.start("boardd", "--board", "rtl", "--profile", "tiny", "--socket", str(at), *form)
    until(at.exists, boardd)
    (tmp_path / "keys").mkdir()
    generate(tmp_path / "keys" / "ada")
    pem = certificate(tmp_path, "gateway")
    tls = ["--tls-cert", str(pem), "--tls-key", str(tmp_path / "gateway-key.pem")]
    where = ["--keys", str(tmp_path / "keys"), "--socket", str(at), "--listen", f"127.0.0.1:{port}"]
    second = sink if sink.kind != "disk" else Sink("full", tmp_path)
    with second.undo if second is not sink else contextlib.nullcontext():
        gateway = second.start("gateway", *where, *tls, *form)
        until(lambda: listens(port), gateway)
        nonsense_is_closed(port)
        assert ended(gateway) == 0
    assert ended(boardd) == 0


def nonsense_is_closed(port: int) -> None:
    """Who sends no TLS is let go, and said to have been."""
    with socket.create_connection(("127.0.0.1", port), WAIT_S) as raw, contextlib.suppress(ConnectionError):
        raw.sendall(b"nonsense\r\n\r\n")
        while raw.recv(4096):
            pass


@pytest.mark.parametrize("sink", SINKS, indirect=True)
def test_a_pool_with_a_head_and_an_agent(sink: Sink, tmp_path: Path) -> None:
    folder = tmp_path / "pool"
    bus, head, board = (nats.free_port("127.0.0.1") for _ in range(3))
    up = sink.start("pool", "up", "--data", str(folder), "--port", str(bus), "--json")
    until(lambda: listens(bus) and (folder / "head.json").exists(), up)
    others = Sink("full" if sink.kind == "disk" else sink.kind, tmp_path)
    with others.undo:
        served = others.start("pool", "serve", "--data", str(folder), "--port", str(head))
        until(lambda: listens(head) and httpx.get(f"http://127.0.0.1:{head}/readyz").status_code == 200, served)
        admitted = [sys.executable, "-m", "eddy.cli.main", "pool", "admit", "b1", "--data", str(folder)]
        with open("/dev/full", "wb") as full:
            subprocess.run(admitted, check=True, stdout=subprocess.DEVNULL, stderr=full)
        (card,) = [each for each in folder.rglob("*b1*") if each.is_file()]
        agent = others.start(*serve_arguments(tmp_path / "data", board, "--pool", str(card)))
        key = (folder / "operator.key").read_text().strip()
        headers = {"Authorization": f"Bearer {key}"}

        def joined() -> bool:
            answer = httpx.get(f"http://127.0.0.1:{head}/v1/pool", headers=headers, timeout=WAIT_S)
            return answer.status_code == 200 and any(each["present"] for each in answer.json()["boards"])

        until(joined, agent)
        assert nonsense(head).startswith(b"HTTP/1.1 400")
        assert (ended(agent), ended(served)) == (0, 0)
    assert ended(up) == 128 + signal.SIGTERM


def test_a_disk_that_is_full_of_everything(tmp_path: Path) -> None:
    """The log, the data base and the blobs on one disk that has no room: every answer says so."""
    with small_disk(tmp_path / "disk", "16m") as disk:
        port, data = nats.free_port("127.0.0.1"), disk / "data"
        with (disk / "log").open("wb") as log:
            command = [sys.executable, "-m", "eddy.cli.main", *serve_arguments(data, port)]
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}"
            until(lambda: listens(port) and httpx.get(f"{url}/readyz", timeout=WAIT_S).status_code == 200, process)
            headers = {"Authorization": f"Bearer {(data / 'operator.key').read_text().strip()}"}
            filler = fill(disk)
            with httpx.Client(base_url=url, headers=headers, timeout=WAIT_S) as client:
                blob = os.urandom(1 << 20)
                refused = [
                    client.put(f"/v1/blobs/{hashlib.sha256(blob).hexdigest()}", content=blob),
                    *(client.post("/v1/admin/tenants", json={"id": f"t{number}" * 20}) for number in range(40)),
                ]
                assert any(each.status_code == 507 for each in refused)
                for each in refused:
                    assert each.status_code == 201 or each.json()["code"] == "storage-full", each.text
                assert client.get("/readyz").json()["code"] == "storage-full"
                filler.unlink()
                until(lambda: client.get("/readyz").status_code == 200, process)
                name = hashlib.sha256(blob).hexdigest()
                assert client.put(f"/v1/blobs/{name}", content=blob).status_code == 201
            assert ended(process) == 0
            said = (disk / "log").read_text(errors="replace")
            assert "could not be written (No space left on device)" in said
        finally:
            process.kill()
            process.wait()
