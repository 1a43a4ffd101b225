# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A host for the driver calls of Vortex over real HTTP: compiled as any host is, its images ours."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from eddy.api.service.server import Server, ServerSettings
from eddy.client import Client
from eddy.hypervisor.intake.kernels import KernelLimits
from eddy.opencl.vortex.build import build_image
from eddy.opencl.vortex.environment import environment
from kernel_kit import kernel_board
from unit.gpu_kit import CACHE

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SUM = """
#include <vx_print.h>
#include <vx_spawn.h>
struct asked { uint32_t count, block, x, y; };
static int started;
static void body(void *given) {
    struct asked *asked = (struct asked *)given;
    uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < asked->count) ((int *)asked->y)[k] += ((int *)asked->x)[k];
}
int main() {
    struct asked *asked = (struct asked *)csr_read(VX_CSR_MSCRATCH);
    uint32_t blocks = asked->count / asked->block;
    vx_printf("core %d of %d, start %d\\n", vx_core_id(), vx_num_cores(), ++started);
    return vx_spawn_threads(1, &blocks, &asked->block, body, asked);
}
"""
CPUS = {"x86_64": "x86_64", "aarch64": "cortex_a53"}
WILD = "int main(void) { *(volatile int *)0x80040002 = 1; return 0; }"


def build_host(folder: Path, variables: Mapping[str, str]) -> Path:
    """The host, compiled for this machine and linked with the library by its name."""
    host = folder / "host"
    machine = platform.machine()  # as the library is built: what the compiler needs for that is there already
    target = ["-target", f"{machine}-linux-gnu.2.17", f"-mcpu={CPUS[machine]}", "-O2", "-fno-sanitize=all"]
    compiler = [sys.executable, "-m", "ziglang", "cc", *target, "-std=c11", "-Wall", "-Wextra", "-Werror"]
    paths = [f"-I{variables['CPATH'].split(os.pathsep)[0]}", f"-L{variables['LIBRARY_PATH'].split(os.pathsep)[0]}"]
    subprocess.run([*compiler, *paths, str(HERE / "vortex_host.c"), "-lvortex", "-o", str(host)], check=True)
    return host


def test_a_vortex_host_computes_over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("eddy.opencl.vortex.build.default_cache", lambda: CACHE)
    for name, text in {"sum": SUM, "wild": WILD}.items():
        (tmp_path / f"{name}.c").write_text(text)
        (tmp_path / f"{name}.vxbin").write_bytes(build_image([tmp_path / f"{name}.c"]))
    log, variables = tmp_path / "log", environment()
    monkeypatch.undo()  # the compiler has a cache of its own
    host = build_host(tmp_path, variables)
    limits = KernelLimits(4, 5e-2, waves=8)
    settings = ServerSettings(
        "model", "tiny", "fcfs", tmp_path / "data", ROOT / "bitstreams", port=0, kernels=limits, kernel_cache=CACHE
    )
    with Server(settings, board=kernel_board(arena=8 << 20)).background() as server:
        with Client(server.url, server.key_file.read_text().strip()) as operator:
            key = operator.add_tenant("ada")["key"]
        told = {"EDDY_URL": server.url, "EDDY_KEY": key, "EDDY_OPENCL_MEMORY": str(2 << 20)}
        mine = {**os.environ, **variables, **told, "EDDY_OPENCL_LOG": str(log), "EDDY_OPENCL_HELPER": ""}
        images = [str(tmp_path / f"{name}.vxbin") for name in ("sum", "wild")]
        done = subprocess.run([str(host), *images], env=mine, capture_output=True, text=True, timeout=300, check=False)
        with Client(server.url, key) as client:
            for _ in range(600):  # the helper closes what the host had while that ends
                states = {each["state"] for each in client.transport.json("GET", "/v1/sessions")["sessions"]}
                if states == {"closed"}:
                    break
                time.sleep(0.1)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + log.read_text()
    lines = done.stdout.splitlines()
    assert lines[:2] == ["core 0 of 1, start 1"] * 2  # what is to be zero is, at each start
    assert lines[2].startswith("PERF: core0: instrs=")
    assert lines[-1] == "right"
    assert states == {"closed"}
    said = log.read_text()
    for why in ("misaligned-access", "is in use, or not the device's", "is no open device", "was not waited for"):
        assert why in said
