# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""An OpenCL host over real HTTP: its kernels compute on the board; a server that goes away is codes, not a crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from eddy.api.service.server import Server, ServerSettings
from eddy.client import Client
from eddy.hypervisor.intake.kernels import KernelLimits
from eddy.opencl.standard import number
from kernel_kit import kernel_board
from unit.gpu_kit import CACHE

TESTS = Path(__file__).parents[2]


def test_a_host_computes_over_http_and_outlives_the_server(tmp_path: Path) -> None:
    (tmp_path / "step.h").write_text("#define STEP(x, by) ((x) * (by) + 1)\n")
    limits, bitstreams = KernelLimits(4, 5e-2, waves=8), TESTS.parent / "bitstreams"
    settings = ServerSettings(
        "model", "tiny", "fcfs", tmp_path / "data", bitstreams, port=0, kernels=limits, kernel_cache=CACHE
    )
    log = tmp_path / "log"
    with ExitStack() as stack, ExitStack() as server_stack:
        server = server_stack.enter_context(Server(settings, board=kernel_board(arena=8 << 20)).background())
        with Client(server.url, server.key_file.read_text().strip()) as operator:
            key = operator.add_tenant("ada")["key"]
        environment = {
            **os.environ,
            **{"EDDY_URL": server.url, "EDDY_KEY": key, "EDDY_HTTP_RETRIES": "0", "EDDY_OPENCL_MEMORY": str(2 << 20)},
            **{"EDDY_OPENCL_PYTHON": sys.executable, "EDDY_OPENCL_LOG": str(log), "EDDY_OPENCL_HELPER": ""},
            "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]),
        }
        command = [sys.executable, str(TESTS / "system" / "kernels" / "opencl_program.py"), str(tmp_path)]
        host = stack.enter_context(
            subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        assert host.stdout is not None
        lines = [host.stdout.readline(), host.stdout.readline()]
        with Client(server.url, key) as client:
            answer = client.transport.json("GET", "/v1/sessions")
            (session,) = [each for each in answer["sessions"] if each["state"] == "resident"]
        server_stack.close()
        rest, _ = host.communicate("go on\n", timeout=120)
        assert host.returncode == 0, log.read_text()
    check(json.loads(lines[1]), lines[0], log.read_text())
    assert (session["launches"], session["bytes_up"]) == (8, 320)
    failed = number("CL_OUT_OF_RESOURCES")
    assert json.loads(rest) == {"late": failed, "buffer": "CL_MEM_OBJECT_ALLOCATION_FAILURE"}


def check(found: dict[str, object], printed: str, log: str) -> None:
    """What the program computed, and what it was refused."""
    x = np.arange(64, dtype="u4")
    for _ in range(3):
        x = x * np.uint32(3) + np.uint32(1)
    assert printed == "77\n"
    assert found["device"] == "Eddy 1C4W4T", "no cluster was loaded yet when it was asked"
    assert found["sums"] == x.reshape(4, 16).sum(axis=1).tolist()
    times = found["times"]
    assert isinstance(times, list)
    assert all(row == sorted(row) and row[3] > row[2] > 0 for row in times)
    texels = np.arange(32, dtype="u1").reshape(2, 4, 4)
    assert found["image"] == (np.pad(texels, ((0, 1), (0, 1), (0, 0)), "edge")[1:, 1:] + 1).tobytes().hex()
    assert found["wild"] == number("CL_OUT_OF_RESOURCES")
    assert found["part"] == x[63:].tobytes().hex()
    assert found["again"] == (x[1:2] * np.uint32(3) + np.uint32(1)).tobytes().hex()
    assert found["full"] == "CL_MEM_OBJECT_ALLOCATION_FAILURE"
    assert found["kept"] in (1, 2)  # what launches keep may lie between
    assert found["bad"] == "CL_BUILD_PROGRAM_FAILURE"
    assert "use of undeclared identifier 'nothing'" in str(found["log"])
    assert "misaligned-access" in log
