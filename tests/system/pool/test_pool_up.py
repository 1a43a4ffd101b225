# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy pool up`: it ends when it is told to, and its NATS server with it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

from pool_kit import WAIT_S


def test_it_ends_with_its_server_when_it_is_told_to(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "eddy.cli.main", "pool", "up", "--data", str(tmp_path), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            told = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
            with socket.create_connection((told["host"], told["port"]), WAIT_S):
                pass
            process.send_signal(signal.SIGTERM)
            assert process.wait(WAIT_S) == 128 + signal.SIGTERM
        finally:
            process.kill()
    with socket.socket() as probe:
        assert probe.connect_ex((told["host"], told["port"])) != 0, "the server of the pool goes on"
