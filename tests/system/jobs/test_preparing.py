# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A job whose module must be built first waits alone, says so, and goes on, fails, or is cancelled, alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from bitstreams_kit import package
from eddy.api.service.server import Server, ServerSettings
from eddy.board.model.model import ModelBoard
from eddy.board.port.port import READY, Preparation
from eddy.client import Client, Job, JobFailed
from hypervisor_kit import BYTES, KEY, expected, item, model_board

WORDS = "building the simulation model of rotate, 3 s so far"
ALONE: dict[str, Any] = {
    "application": "alone",
    "buffers": {
        name: {"role": role, "dtype": "u1", "shape": [BYTES]} for name, role in (("in", "input"), ("out", "output"))
    },
    "tasks": [{"name": "flip", "arguments": {"in": "in", "out": "out"}, "estimate_us": 1000, "time_limit_ms": 100}],
}
"""An application that needs none of the modules but one."""


class UnpreparedBoard:
    """A model board that answers about modules as a test says."""

    def __init__(self) -> None:
        self.board: ModelBoard = model_board()
        self.answers: dict[str, Preparation] = {"rotate": Preparation(False, WORDS)}

    def prepare(self, module: str) -> Preparation:
        return self.answers.get(module, READY)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.board, name)


@contextmanager
def serving(folder: Path, board: Any) -> Iterator[Callable[[str], Client]]:
    """A server over a board; makes the client of a tenant."""
    bitstreams = package(folder / "bitstreams")
    (bitstreams / "applications" / "alone.yaml").write_text(yaml.safe_dump(ALONE))
    settings = ServerSettings("model", "tiny", "fcfs", folder / "data", bitstreams, port=0)
    with ExitStack() as stack:
        server = stack.enter_context(Server(settings, board=board).background())
        operator = stack.enter_context(Client(server.url, server.key_file.read_text().strip()))
        known = {tenant["id"] for tenant in operator.tenants()}

        def client(name: str) -> Client:
            key_file = folder / f"{name}.key"
            if name not in known:
                key_file.write_text(operator.add_tenant(name)["key"])
            return Client(server.url, key_file.read_text())

        yield client


def chain(client: Client) -> Job:
    return client.submit(
        "chain", {"in": np.frombuffer(item(0), np.uint8)[np.newaxis], "key": np.frombuffer(KEY, np.uint8)}
    )


def alone(client: Client) -> Job:
    return client.submit("alone", {"in": np.frombuffer(item(0), np.uint8)[np.newaxis]})


def held(job: Job) -> None:
    """Wait until the server says what the job waits for."""
    deadline = time.monotonic() + 180
    while job.refresh().data["doing"] != WORDS:
        assert time.monotonic() < deadline, job.data
        time.sleep(0.02)
    assert job.state == "queued"


def test_a_job_waits_for_its_module_and_others_do_not_wait_for_it(tmp_path: Path) -> None:
    board = UnpreparedBoard()
    with serving(tmp_path, board) as client, client("ada") as ada, client("grace") as grace:
        waiting = chain(ada)
        held(waiting)
        for _ in range(2):
            assert alone(grace).wait(timeout_s=180).state == "succeeded"
        held(waiting)
        board.answers.clear()
        assert waiting.wait(timeout_s=180).data["doing"] == ""
        np.testing.assert_array_equal(waiting.outputs["out"], np.frombuffer(expected(1), np.uint8).reshape(1, BYTES))
        told = [event.data.get("detail") for event in waiting.events() if event.kind == "wait"]
    assert WORDS in told


def test_a_module_that_cannot_be_built_fails_its_job_alone(tmp_path: Path) -> None:
    board = UnpreparedBoard()
    with serving(tmp_path, board) as client, client("ada") as ada, client("grace") as grace:
        waiting = chain(ada)
        held(waiting)
        board.answers["rotate"] = Preparation(False, "", "rotate cannot be built: error: no such wire")
        with pytest.raises(JobFailed, match="no such wire"):
            waiting.wait(timeout_s=180)
        error = waiting.data["error"]
        assert error is not None
        assert (error["cause"], error["message"]) == ("module-not-built", "rotate cannot be built: error: no such wire")
        with pytest.raises(JobFailed, match="no such wire"):
            chain(ada).wait(timeout_s=180)
        assert alone(grace).wait(timeout_s=180).state == "succeeded"


def test_a_job_that_waits_can_be_cancelled(tmp_path: Path) -> None:
    with serving(tmp_path, UnpreparedBoard()) as client, client("ada") as ada:
        waiting = chain(ada)
        held(waiting)
        waiting.cancel()
        with pytest.raises(JobFailed, match="cancelled"):
            waiting.wait(timeout_s=180)


def test_a_job_that_waits_goes_on_waiting_after_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path, UnpreparedBoard()) as client, client("ada") as ada:
        number = chain(ada).id
        held(ada.job(number))
    board = UnpreparedBoard()
    with serving(tmp_path, board) as client, client("ada") as ada:
        waiting = ada.job(number)
        held(waiting)
        board.answers.clear()
        assert waiting.wait(timeout_s=180).state == "succeeded"
