# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A disk that fills up under a server: it says so, loses nothing, and goes on once there is room."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from bitstreams_kit import package
from eddy.api.service.server import Server, ServerSettings
from eddy.client import Client, Job
from eddy.core.errors import EddyError, StorageFull, StorageReadOnly
from eddy.store.disk import files
from hypervisor_kit import model_board
from system.service.test_server_model import inputs, result

PATIENCE_S = 180.0


def until(condition: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


@contextlib.contextmanager
def limited(server: Server, pages: int | None = None) -> Iterator[None]:
    """Let SQLite find no room for more than it has (`max_page_count`), as on a full disk."""
    database = server.store.database

    def say(pragma: str) -> Any:
        with database._turns:
            return database._connection.execute(f"PRAGMA {pragma}").fetchone()[0]

    say(f"max_page_count = {say('page_count') if pages is None else pages}")
    try:
        yield
    finally:
        say("max_page_count = 1000000")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    settings = ServerSettings("model", "tiny", "fcfs", tmp_path / "data", package(tmp_path / "bitstreams"), port=0)
    with Server(settings, board=model_board()).background() as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with Client(server.url, server.key_file.read_text().strip(), retries=0) as made:
        yield made


def ready(server: Server) -> httpx.Response:
    return _get(server, "/readyz")


def _get(server: Server, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
    return httpx.get(server.url + path, headers=headers, timeout=PATIENCE_S)


def test_a_full_disk_is_said_and_work_goes_on_by_itself(server: Server, client: Client) -> None:
    data = inputs(3)
    accepted: list[Job] = [client.submit("chain", data).wait(timeout_s=PATIENCE_S)]  # its inputs are there from now on
    refusals: list[EddyError] = []

    def refused(call: Callable[[], Any]) -> bool:
        """Whether a call found no room; small ones may still fit into pages that are there."""
        try:
            call()
        except StorageFull as error:
            refusals.append(error)
        return bool(refusals)

    with limited(server):
        until(lambda: refused(lambda: accepted.append(client.submit("chain", data))))
        answer = ready(server)
        while answer.status_code == 200:
            refused(lambda: accepted.append(client.submit("chain", data)))
            answer = ready(server)
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"] == "storage-full"
        headers = {"Authorization": f"Bearer {server.key_file.read_text().strip()}"}
        until(lambda: "\neddy_up 0.0\n" in _get(server, "/metrics", headers).text)
        assert _get(server, "/healthz").status_code == 200
        assert client.jobs(), "what is there can be read"
    until(lambda: ready(server).status_code == 200)
    assert "free space" in refusals[0].message
    for job in [*accepted, client.submit("chain", data)]:
        np.testing.assert_array_equal(job.wait(timeout_s=PATIENCE_S).outputs["out"], result(3))
    assert not server.failed


def test_jobs_under_way_are_not_lost_however_long_the_disk_is_full(server: Server, client: Client) -> None:
    with limited(server, 1000):
        for slot in range(3):  # none may be done before the disk is full
            client.drain(slot, "the disk is about to be full")
        jobs = [client.submit("chain", inputs(8, salt), idempotency_key=str(salt)) for salt in range(12)]
        with limited(server):
            for slot in range(3):
                with contextlib.suppress(StorageFull):
                    client.undrain(slot)
            until(lambda: server.store.problem is not None)
            time.sleep(3.0)  # more than the tries after which an unforeseen error ends the hypervisor
            assert not server.failed
    until(lambda: ready(server).status_code == 200)
    for slot in range(3):
        client.undrain(slot)
    for salt, job in enumerate(jobs):
        np.testing.assert_array_equal(job.wait(timeout_s=PATIENCE_S).outputs["out"], result(8, salt))
        ends = [event for event in job.events() if event.kind == "item_done"]
        assert len({(event.data["task"], event.data["item"]) for event in ends}) == len(ends) == 24


def test_outputs_that_find_no_room_wait_for_it(server: Server, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    data = inputs(3)
    client.submit("chain", data).wait(timeout_s=PATIENCE_S)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "write_all", full)
    job = client.submit("chain", data)
    until(lambda: ready(server).status_code == 507)
    time.sleep(3.0)
    assert not server.failed
    assert job.refresh().state not in ("failed", "succeeded")
    with pytest.raises(StorageFull, match="free space"):
        client.submit("chain", inputs(3, 1))
    monkeypatch.undo()
    np.testing.assert_array_equal(job.wait(timeout_s=PATIENCE_S).outputs["out"], result(3))
    until(lambda: ready(server).status_code == 200)


def test_a_data_base_that_became_read_only(server: Server, client: Client) -> None:
    database = server.store.database
    with database._turns:
        database._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StorageReadOnly, match="cannot be written"):
        client.add_tenant("ada")
    assert (ready(server).status_code, ready(server).json()["code"]) == (503, "storage-read-only")
    with database._turns:
        database._connection.execute("PRAGMA query_only = OFF")
    until(lambda: ready(server).status_code == 200)
    client.add_tenant("ada")


def _mounted(folder: Path) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    try:
        return os.geteuid() == 0 and subprocess.run(command, check=False, capture_output=True).returncode == 0
    except OSError:
        return False


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    if not _mounted(folder):
        pytest.skip("no file system can be mounted here; the tests above stand in")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Leave no room."""
    path = folder / "fill"
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    return path


def test_a_small_file_system(small: Path, tmp_path: Path) -> None:
    settings = ServerSettings("model", "tiny", "fcfs", small / "data", package(tmp_path / "bitstreams"), port=0)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Server(settings, board=model_board()).background())
        client = stack.enter_context(Client(server.url, server.key_file.read_text().strip(), retries=0))
        job = client.submit("chain", inputs(2))
        full = fill(small)
        until(lambda: ready(server).status_code == 507)
        full.unlink()
        until(lambda: ready(server).status_code == 200)
        np.testing.assert_array_equal(job.wait(timeout_s=PATIENCE_S).outputs["out"], result(2))
    full = fill(small)
    for data in ("data", "new"):
        command = [sys.executable, "-m", "eddy", "serve", "--board", "model", "--port", "0", "--data"]
        done = subprocess.run([*command, str(small / data)], capture_output=True, text=True, check=False, timeout=180)
        assert done.returncode == 6
        assert len(done.stderr.splitlines()) == 1
        assert "is full" in done.stderr
    full.unlink()
    with Server(settings, board=model_board()).background() as server:
        assert ready(server).status_code in (200, 503)
