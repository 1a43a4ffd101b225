# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""An OpenCL host over real HTTP: its kernels compute on the board; a server that goes away is codes, not a crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from eddy.api.service.server import Server, ServerSettings
from eddy.client import Client
from eddy.hypervisor.intake.kernels import KernelLimits
from eddy.opencl.remote import LEASE_S
from eddy.opencl.standard import number
from kernel_kit import kernel_board
from unit.gpu_kit import CACHE

TESTS = Path(__file__).parents[2]


@contextmanager
def serving(folder: Path) -> Iterator[tuple[Server, Client, dict[str, str], ExitStack]]:
    """A server, a tenant's client, the environment of its hosts, and what ends the server before the block does."""
    limits, bitstreams = KernelLimits(4, 5e-2, waves=8), TESTS.parent / "bitstreams"
    settings = ServerSettings(
        "model", "tiny", "fcfs", folder / "data", bitstreams, port=0, kernels=limits, kernel_cache=CACHE
    )
    with ExitStack() as stack:
        server = stack.enter_context(Server(settings, board=kernel_board(arena=8 << 20)).background())
        with Client(server.url, server.key_file.read_text().strip()) as operator:
            key = operator.add_tenant("ada")["key"]
        environment = {
            **os.environ,
            **{"EDDY_URL": server.url, "EDDY_KEY": key, "EDDY_HTTP_RETRIES": "0", "EDDY_OPENCL_MEMORY": str(2 << 20)},
            **{"EDDY_OPENCL_PYTHON": sys.executable, "EDDY_OPENCL_LOG": str(folder / "log")},
            **{"EDDY_OPENCL_HELPER": ""},
            "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]),
        }
        with Client(server.url, key) as client:
            yield server, client, environment, stack


def sessions_of(client: Client, state: str) -> list[dict[str, Any]]:
    """A tenant's sessions in a state."""
    found = client.transport.json("GET", "/v1/sessions")["sessions"]
    return [each for each in found if each["state"] == state]


def host_of(environment: Mapping[str, str], *command: str) -> subprocess.Popen[str]:
    """A host, in Python."""
    return subprocess.Popen(
        [sys.executable, *command], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_a_host_computes_over_http_and_outlives_the_server(tmp_path: Path) -> None:
    (tmp_path / "step.h").write_text("#define STEP(x, by) ((x) * (by) + 1)\n")
    with serving(tmp_path) as (_, client, environment, stack):
        program = str(TESTS / "system" / "kernels" / "opencl_program.py")
        with host_of(environment, program, str(tmp_path)) as host:
            assert host.stdout is not None
            lines = [host.stdout.readline(), host.stdout.readline()]
            (session,) = sessions_of(client, "resident")
            stack.close()
            rest, _ = host.communicate("go on\n", timeout=120)
    log = (tmp_path / "log").read_text()
    assert host.returncode == 0, log
    check(json.loads(lines[1]), lines[0], log)
    assert (session["launches"], session["bytes_up"]) == (8, 320)
    failed = number("CL_OUT_OF_RESOURCES")
    assert json.loads(rest) == {"late": failed, "buffer": "CL_MEM_OBJECT_ALLOCATION_FAILURE"}


IDLE_HOST = """
import sys
from opencl_kit import Host
host = Host()
context = host.context()
buffer = host.buffer(context, 64)
print(1, flush=True)
sys.stdin.readline()
"""


def test_what_killed_hosts_and_helpers_held_is_given_back(tmp_path: Path) -> None:
    """A host's helper closes its sessions; those of a killed helper end with their lease, but not if they are used."""
    with serving(tmp_path) as (server, client, environment, _):
        hosts = [host_of(environment, "-c", IDLE_HOST) for _ in range(2)]
        try:
            lines = [host.stdout.readline() for host in hosts if host.stdout is not None]
            assert lines == ["1\n", "1\n"]
            opened = sessions_of(client, "resident")
            assert [(each["lease_s"], each["buffers"]) for each in opened] == [(LEASE_S, 1)] * 2
            hosts[0].kill()
            while len(left := sessions_of(client, "resident")) > 1:
                time.sleep(0.05)
            (helper,) = children_of(hosts[1].pid)
            os.kill(helper, signal.SIGKILL)
            name = left[0]["session"]
            service = server.context.hypervisor.sessions
            service.get(name, None).heard_s -= LEASE_S / 2
            adopted = client.session(name)
            assert adopted.read(adopted.held_buffer(1, 64)).result() is not None
            service.get(name, None).heard_s -= LEASE_S
            while sessions_of(client, "resident"):
                time.sleep(0.05)
            causes = {each["session"]: each["cause"] for each in sessions_of(client, "closed")}
            assert causes[name] == "client-gone"
            assert set(causes.values()) == {"client-gone", "closed"}
        finally:
            for host in hosts:
                host.kill()
                host.communicate()


def children_of(parent: int) -> list[int]:
    """Processes that a process has begun."""
    return [int(each) for each in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


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
