# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A server is killed while notices wait, and while one is on its way: the next one tells each end that was
acknowledged, and keeps the maintenance calendar."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from bitstreams_kit import package
from eddy.client import Client
from forks_kit import Fork, forks
from receiver_kit import Receiver, until
from system.service.test_server_model import inputs


class KilledServer:
    """`eddy serve` on one folder, which is killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._bitstreams = folder, package(folder / "bitstreams")
        self._fork: Fork | None = None

    def start(self) -> str:
        out = self._folder / f"out{time.monotonic_ns()}"
        command = ["eddy", "serve", "--board", "model", "--profile", "kv260", "--port", "0", "--json"]
        more = ["--data", str(self._folder / "data"), "--bitstreams", str(self._bitstreams)]
        self._fork = forks().start([*command, *more], out, self._folder / "errors")
        until(lambda: out.exists() and out.read_text().endswith("}\n"))
        told: dict[str, Any] = json.loads(out.read_text())
        return str(told["url"])

    def kill(self) -> None:
        if self._fork is not None:
            self._fork.kill()
            self._fork.wait(60)

    def client(self, url: str) -> Client:
        return Client(url, (self._folder / "data" / "operator.key").read_text().strip())


def test_nothing_that_was_acknowledged_is_lost(tmp_path: Path) -> None:
    server = KilledServer(tmp_path)
    with Receiver() as hook:
        hook.gate.clear()
        try:
            with server.client(server.start()) as client:
                made = client.subscribe(hook.url, ["job.ended", "slot.drained", "slot.undrained"], everyone=True)
                window = client.plan_maintenance("a new fan", time.time() - 1, 3600.0, slots=[1])["id"]
                jobs = {client.submit("chain", inputs(1, salt)).wait().id for salt in range(3)}
                until(lambda: [slot["slot"] for slot in client.slots()["slots"] if slot["drained"]] == [1])
                until(lambda: client.deliveries(made["id"]))  # one is on its way, and gets no answer
            server.kill()
            hook.gate.set()
            hook.got.clear()
            with server.client(server.start()) as client:
                assert [slot["slot"] for slot in client.slots()["slots"] if slot["drained"]] == [1]
                client.cancel_maintenance(window)
                until(lambda: [body["type"] for body in hook.bodies()].count("slot.undrained"))
                until(lambda: {each["state"] for each in client.deliveries(made["id"])} == {"delivered"})
                assert not any(slot["drained"] for slot in client.slots()["slots"])
        finally:
            server.kill()
    ended = [body["data"]["job"] for body in hook.bodies() if body["type"] == "job.ended"]
    assert set(ended) == jobs
    ids = [headers["webhook-id"] for headers, _ in hook.got]
    assert len(set(ids)) == len(jobs) + 2  # a message may come twice, under one id
