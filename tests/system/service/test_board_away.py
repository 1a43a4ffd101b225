# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""boardd dies, hangs or comes back, and nothing runs: readiness, metrics, slots and log say it."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from contract.boardd_process import Start, processes
from eddy.api.service.server import Server, ServerSettings
from eddy.board.remote.socket import SocketBoard

BITSTREAMS = Path(__file__).parents[3] / "bitstreams"
SOON_S, LATE_S = 0.5, 20.0
"""Patience with a boardd that stands still, and with one that is slow, as everything is on a busy machine."""


@pytest.fixture
def boardd(tmp_path: Path) -> Iterator[tuple[Start, Path]]:
    """Starts boardd processes on the RTL, all on one socket."""
    with processes(tmp_path) as made:
        yield made


def until(client: httpx.Client, status: int, patience_s: float = 180.0) -> dict[str, str]:
    """Ask for readiness until it has that status."""
    deadline = time.monotonic() + patience_s
    while (answer := client.get("/readyz")).status_code != status:
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.05)
    found: dict[str, str] = answer.json()
    return found


def shown(client: httpx.Client, key: str) -> tuple[set[str], bool]:
    """The phases of the slots, and whether `eddy_up` is 1."""
    headers = {"Authorization": f"Bearer {key}"}
    slots = client.get("/v1/slots", headers=headers).json()["slots"]
    return {slot["phase"] for slot in slots}, "\neddy_up 1.0" in client.get("/metrics", headers=headers).text


@pytest.mark.rtl
@pytest.mark.xdist_group("board-rtl")
def test_a_boardd_that_dies_hangs_or_comes_back_is_noticed(
    boardd: tuple[Start, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    start, path = boardd
    first = start()
    settings = ServerSettings("rtl", "tiny", "fcfs", tmp_path / "data", BITSTREAMS, boardd=path, port=0)
    board = SocketBoard(path, patience_s=LATE_S)
    with (
        caplog.at_level(logging.WARNING, "eddy.hypervisor"),
        Server(settings, board=board).background() as server,
        httpx.Client(base_url=server.url, timeout=180) as client,
    ):
        key = server.key_file.read_text().strip()
        until(client, 200)
        assert shown(client, key) == ({"empty"}, True)

        board._patience_s = SOON_S
        os.kill(first.pid, signal.SIGSTOP)
        assert "away" in until(client, 503)["detail"]
        assert shown(client, key) == ({"unknown"}, False)
        board._patience_s = LATE_S
        os.kill(first.pid, signal.SIGCONT)
        until(client, 200)
        assert shown(client, key) == ({"empty"}, True)

        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        said = until(client, 503)["detail"]
        assert "away" in said
        assert str(path) not in said, "which socket it is concerns the operator alone"
        operators = client.get("/v1/overview", headers={"Authorization": f"Bearer {key}"}).json()["detail"]
        assert str(path) in operators
        assert shown(client, key) == ({"unknown"}, False)
        start()
        until(client, 200)
        assert shown(client, key) == ({"empty"}, True)
    lines = [record.getMessage() for record in caplog.records if "board is" in record.getMessage()]
    assert len(lines) == 4, lines
    assert ["unreachable" in line for line in lines] == [True, False, True, False]
