# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernel jobs over HTTP on the simulated board: results, sharing, and what a kernel that goes wrong does to others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from eddy.api.service.server import Server, ServerSettings
from eddy.cli.demo.demo_plan import photograph
from eddy.cli.demo.demo_run import outputs_match
from eddy.client import Client, JobFailed
from eddy.client.calls.kernel import KernelJob, Local
from eddy.hypervisor.intake.kernels import KernelLimits
from kernel_kit import STEP, step_arrays, stepped
from unit.gpu_kit import CACHE

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("simulated board")]

MIX = """
kernel void saxpy(global float *y, global const float *x, float a) {
  uint i = get_global_id(0);
  y[i] = a * x[i] + y[i];
}
kernel void sums(global const int *x, global int *out, local int *t) {
  uint l = get_local_id(0), n = get_local_size(0);
  t[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint s = n / 2; s; s /= 2) { if (l < s) t[l] += t[l + s]; barrier(CLK_LOCAL_MEM_FENCE); }
  if (l == 0) { out[get_group_id(0)] = t[0]; printf("%u: %d\\n", (uint)get_group_id(0), t[0]); }
}
kernel void peek(global volatile uint *y, global const volatile uint *far) { y[0] = far[1 << 20]; }
kernel void nonsense(global uint *y) { __asm__ volatile(".word 0xffffffff"); y[0] = 1; }
"""
SECRET = 0x5EC2E7A1
HOARD = """
kernel void hoard(global uint *y, uint secret, local uint *t) {
  volatile uint kept[64];
  for (uint k = 0; k < 64; k++) kept[k] = secret;
  for (uint k = get_local_id(0); k < 2048; k += get_local_size(0)) t[k] = secret;
  y[get_global_id(0)] = t[get_local_id(0)] + kept[get_global_id(0) % 64];
  __asm__ volatile(INTS FLOATS :: "r"(secret) : "t1", "t2", "t3", "t4", "t5", "memory");
}
"""
"""Leaves a secret in registers, integer and float, on the stack, in local memory, in cached lines."""
LOOK = """
kernel void look(global uint *out, local volatile uint *t) {
  global uint *at = out + 1024 * get_global_id(0);
  __asm__ volatile(STORES :: "r"(at) : "memory");
  volatile uint found[64];
  for (uint k = 0; k < 64; k++) at[64 + k] = found[k];
  for (uint k = 0; k < 8; k++) at[128 + k] = found[64 + k];
  for (uint k = 0; k < 512; k++) at[256 + k] = t[get_local_id(0) * 512 % 2048 + k];
  uint csr;
  __asm__ volatile("csrr %0, mepc" : "=r"(csr)); at[200] = csr;
  __asm__ volatile("csrr %0, mtval" : "=r"(csr)); at[201] = csr;
}
"""
"""Stores what it finds before it has put anything there: registers, stack, local memory, CSRs."""
KEPT = ("t1", "t2", "t3", "t4", "t5")
INTS = "".join(f"mv {name}, %0\\n" for name in KEPT)
FLOATS = "".join(f"fmv.w.x f{k}, %0\\n" for k in range(32))
STORES = "".join(f"sw {name}, {4 * k}(%0)\\n" for k, name in enumerate(KEPT))
STORES += "".join(f"fsw f{k}, {4 * (k + 8)}(%0)\\n" for k in range(32))
GOES_WRONG = (
    (STEP, "wild", "write-outside-window", "store_fault, address 0x70000000"),
    (MIX, "peek", "read-outside-window", "load_fault, address 0x804"),
    (MIX, "nonsense", "illegal-instruction", "illegal in nonsense+0x"),
    (STEP, "crooked", "misaligned-access", "store_misaligned in crooked+0x"),
    (STEP, "spin", "time-limit", "of board time"),
)
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder, limits = tmp_path_factory.mktemp("data"), KernelLimits(4, 5e-3, waves=8)
    settings = ServerSettings(
        "rtl", "kv260", "fcfs", folder, ROOT / "bitstreams", port=0, kernels=limits, kernel_cache=CACHE
    )
    with Server(settings).background() as running:
        yield running


@pytest.fixture(scope="module")
def clients(server: Server) -> Iterator[tuple[Client, Client]]:
    with Client(server.url, server.key_file.read_text().strip()) as operator:
        keys = [operator.add_tenant(name)["key"] for name in ("ada", "grace")]
    with Client(server.url, keys[0]) as ada, Client(server.url, keys[1]) as grace:
        yield ada, grace


def saxpy(client: Client, count: int = 600) -> tuple[KernelJob, np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """A launch under way, the array it works on, and what that must hold."""
    x, y = np.arange(count, dtype="f4"), np.ones(count, "f4")
    return client.kernel(MIX, "saxpy").launch(count, y, x, np.float32(2.5)), y, np.float32(2.5) * x + y


def test_two_tenants_kernels_beside_an_application(clients: tuple[Client, Client]) -> None:
    ada, grace = clients
    order = photograph("ada", 1, 0, 1)
    picture = ada.submit(order.application, order.inputs, batch=order.batch)
    linear, y, wanted = saxpy(ada)
    z, x = step_arrays(256)
    step = grace.kernel(STEP, "step").launch(256, z, x, 3)
    v, out = np.arange(64, dtype="i4"), np.zeros(4, "i4")
    sums = grace.kernel(MIX, "sums").launch(64, v, out, Local(64), local_size=16)
    for job in (linear, step, sums):
        job.wait(timeout_s=180)
    picture.wait(timeout_s=180)
    assert outputs_match(picture.outputs, order.expected)
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(z, stepped(*step_arrays(256), 3))
    np.testing.assert_array_equal(out, v.reshape(4, 16).sum(axis=1))
    assert sums.log == "".join(f"{k}: {total}\n" for k, total in enumerate(out))
    loads = [job.data["reconfigurations"] for job in (linear, step, sums)]
    assert loads == [1, 0, 0], "one load for all tenants: the start of a kernel clears a core"
    kernel = linear.data["kernel"]
    assert kernel is not None
    counters = kernel["counters"]
    assert counters is not None
    assert counters["total_active_cycles"] == sum(counters["cycle_thread"]) <= counters["cycles"]
    fractions = [job.parallel_fraction for job in (linear, sums)]
    assert fractions[0] is not None
    assert fractions[1] is not None
    assert 1 >= fractions[0] > fractions[1] > 0.5, "a reduction is less parallel than saxpy"


def test_a_kernel_that_looks_finds_nothing_of_the_tenant_before(clients: tuple[Client, Client]) -> None:
    """Without a load or a reset in between: the start of a kernel clears its core."""
    ada, grace = clients
    hoard = HOARD.replace("INTS", f'"{INTS}"').replace("FLOATS", f'"{FLOATS}"')
    look = LOOK.replace("STORES", f'"{STORES}"')
    for _ in range(2):
        y = np.zeros(32, "u4")
        filled = ada.kernel(hoard, "hoard").launch(32, y, SECRET, Local(8192), local_size=16)
        filled.wait(timeout_s=180)
        assert (y == np.uint32(2 * SECRET & 0xFFFF_FFFF)).all()
        out = np.zeros(32 * 1024, "u4")
        looked = grace.kernel(look, "look").launch(32, out, Local(8192), local_size=16)
        looked.wait(timeout_s=180)
        assert not (out == SECRET).any()
        assert looked.data["reconfigurations"] == 0
        assert looked.data["reuses"] > 0


def test_a_look_finds_what_there_is_to_find(clients: tuple[Client, Client]) -> None:
    """The test above could not fail if the look stored nothing: here the same kernel leaves the secret first."""
    fill = f'__asm__ volatile("{INTS}{FLOATS}" :: "r"({SECRET}u) : "t1", "t2", "t3", "t4", "t5");'
    fill = f"for (uint k = 0; k < 2048; k++) t[k] = {SECRET}u;\n  {fill}\n  __asm__ volatile(STORES"
    source = LOOK.replace("__asm__ volatile(STORES", fill).replace("STORES", f'"{STORES}"')
    out = np.zeros(1024, "u4")
    clients[0].kernel(source, "look").launch(1, out, Local(8192), local_size=1).wait(timeout_s=180)
    assert (out[8:40] == SECRET).all(), "floating-point registers"
    assert (out[:5] == SECRET).sum() >= 4, "integer registers, but the one that holds the place"
    assert (out[256:768] == SECRET).all(), "local memory"


@pytest.mark.parametrize(("source", "name", "cause", "why"), GOES_WRONG, ids=[entry[1] for entry in GOES_WRONG])
def test_a_kernel_that_goes_wrong_harms_itself_alone_and_its_job_says_why(
    clients: tuple[Client, Client], source: str, name: str, cause: str, why: str
) -> None:
    ada, grace = clients
    array = np.zeros(16, "u4")
    values = (array, array) if name == "peek" else (array,)
    bad = ada.kernel(source, name).launch(1, *values, time_limit_s=3e-4)
    good, y, wanted = saxpy(grace, 64)
    with pytest.raises(JobFailed) as caught:
        bad.wait(timeout_s=180)
    assert caught.value.details["cause"] == cause
    assert why in caught.value.message
    assert not array.any()
    good.wait(timeout_s=180)
    np.testing.assert_array_equal(y, wanted)
