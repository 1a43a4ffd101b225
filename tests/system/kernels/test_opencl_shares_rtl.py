# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Two tenants' OpenCL programs and a third one's job on the cores of one simulated cluster: right, in their shares."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from bitstreams_kit import package
from contract.gpu_harness import MODULES, GpuHarness
from eddy.api.service.server import Server, ServerSettings
from eddy.client import Client
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.hypervisor.intake.kernels import KernelLimits
from kernel_kit import step_arrays, stepped
from unit.gpu_kit import CACHE

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]
TESTS = Path(__file__).parents[2]
WEIGHTS = {"ada": 1.0, "grace": 2.0, "eve": 1.0}
WORDS, ROUNDS, LAUNCHES = 256, 24, 24
STEP = """
kernel void step(global uint *y, global const uint *x, uint n) {
  uint i = get_global_id(0);
  for (uint k = 0; k < n; k++) y[i] = y[i] * 1664525u + x[i];
}
"""


def sharer(source: Path, url: str, key: str, salt: int, launches: int) -> subprocess.Popen[str]:
    """A tenant's OpenCL program, started."""
    environment = {
        **os.environ,
        **{"EDDY_URL": url, "EDDY_KEY": key, "EDDY_OPENCL_MEMORY": str(1 << 20), "EDDY_OPENCL_HELPER": ""},
        "EDDY_OPENCL_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]),
    }
    program = str(TESTS / "system" / "kernels" / "opencl_sharer.py")
    command = [sys.executable, program, str(source), *map(str, (WORDS, ROUNDS, launches, salt))]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def delivered(clients: list[Client]) -> tuple[list[float], list[float]]:
    """Core-seconds that each had, and that each was promised, in the epochs in which all had work."""
    epochs = [{each["epoch"]: each for each in client.market_history()} for client in clients]
    common = sorted(set.intersection(*map(set, epochs)))[1:-1]  # in the first and the last not all worked throughout
    had, promised = [0.0] * len(clients), [0.0] * len(clients)
    for number in common:
        for place, of in enumerate(epochs):
            for share in of[number]["me"]["shares"]:
                had[place] += share["core_seconds"]
                promised[place] += share["pes"] * (of[number]["ended_s"] - of[number]["at_s"])
    return had, promised


def test_programs_of_two_tenants_and_a_job_share_a_cluster(gpu: GpuHarness, tmp_path: Path) -> None:
    bitstreams = package(tmp_path / "bitstreams")
    shutil.copytree(MODULES / "gpu_2c2w2tx", bitstreams / "gpu_2c2w2tx")
    settings = ServerSettings(
        *("pynq", "tiny", "fcfs", tmp_path / "data", bitstreams),
        port=0,
        kernels=KernelLimits(time_limit_s=5e-2),
        kernel_cache=CACHE,
        price="entitlement",
        price_settings=PriceSettings(quantum_s=0.1e-3, epoch_s=1e-3),
    )
    source = tmp_path / "step.cl"
    source.write_text(STEP)
    with ExitStack() as stack:
        server = stack.enter_context(Server(settings, board=gpu.board).background())
        with Client(server.url, server.key_file.read_text().strip()) as operator:
            keys = {name: operator.add_tenant(name, weight=weight)["key"] for name, weight in WEIGHTS.items()}
        clients = [stack.enter_context(Client(server.url, key)) for key in keys.values()]
        hosts = [
            stack.enter_context(sharer(source, server.url, keys[name], salt, launches))
            for name, salt, launches in (("ada", 1, LAUNCHES), ("grace", 2, 2 * LAUNCHES))
        ]
        for host in hosts:
            assert host.stdout is not None
            assert host.stdout.readline() == "ready\n"
        y, x = step_arrays(WORDS * LAUNCHES, 3)
        job = clients[2].kernel(STEP, "step").launch(len(y), y, x, ROUNDS)
        for host in hosts:
            assert host.stdin is not None
            host.stdin.write("go\n")
            host.stdin.flush()
        read = [host.communicate(timeout=1800)[0].strip() for host in hosts]
        job.wait(timeout_s=1800)
        had, promised = delivered(clients)
    for salt, launches, words in ((1, LAUNCHES, read[0]), (2, 2 * LAUNCHES, read[1])):
        wanted = stepped(*step_arrays(WORDS, salt), ROUNDS * launches)
        np.testing.assert_array_equal(np.frombuffer(bytes.fromhex(words), "u4"), wanted)
    np.testing.assert_array_equal(y, stepped(*step_arrays(WORDS * LAUNCHES, 3), ROUNDS))
    print("core-seconds", had, "promised", promised, "shares", [each / sum(had) for each in had])
    for each, weight in zip(had, WEIGHTS.values(), strict=True):
        assert each / sum(had) == pytest.approx(weight / sum(WEIGHTS.values()), abs=0.01)
