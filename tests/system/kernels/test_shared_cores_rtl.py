# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Two tenants on the cores of one simulated cluster, through the engine: results, no load, and nothing left behind."""

from __future__ import annotations

import numpy as np
import pytest
from contract.gpu_harness import CLUSTER, MODULES, GpuHarness
from cores_kit import SOURCE, engine_over, tenants
from eddy.core.jobs import JobState
from eddy.core.records import KERNEL, JobEventKind, JobRequest
from eddy.gpu.launches.request import KernelRequest
from eddy.gpu.programs.ndrange import Local as LocalBytes
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.hypervisor.engine.engine import Engine
from eddy.packages.manifests import load_module_manifest
from eddy.store import Store
from kernel_kit import buffer, step_arrays, stepped
from system.kernels.test_kernel_jobs_rtl import INTS, KEPT, SECRET

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]

HOARD = f"""
kernel void hoard(global uint *y, uint secret, local uint *t) {{
  volatile uint kept[32];
  for (uint k = 0; k < 32; k++) kept[k] = secret;
  for (uint k = get_local_id(0); k < 512; k += get_local_size(0)) t[k] = secret;
  y[get_global_id(0)] = t[get_local_id(0)] + kept[get_global_id(0) % 32];
  __asm__ volatile("{INTS}" :: "r"(secret) : {", ".join(f'"{name}"' for name in KEPT)}, "memory");
}}
"""
STORES = "".join(f"sw {name}, {4 * k}(%0)\\n" for k, name in enumerate(KEPT))
LOOK = f"""
kernel void look(global uint *out, local volatile uint *t) {{
  global uint *at = out + 256 * get_global_id(0);
  __asm__ volatile("{STORES}" :: "r"(at) : "memory");
  volatile uint found[32];
  for (uint k = 0; k < 40; k++) at[16 + k] = found[k];
  for (uint k = 0; k < 128; k++) at[64 + k] = t[get_local_id(0) * 128 % 512 + k];
}}
"""
"""Stores what it finds before it has put anything there: registers, stack, local memory."""


def engine_on(gpu: GpuHarness, store: Store) -> Engine:
    module = load_module_manifest(MODULES / "gpu_2c2w2tx")
    tenants(store, ada=1, grace=1)
    settings = PriceSettings(quantum_s=0.2e-3, epoch_s=2e-3)
    engine = engine_over(gpu.board, store, {module.module: module}, "market", settings)
    engine.start()
    return engine


def run(engine: Engine) -> int:
    """Run to the end; the most kernels that ran at once."""
    most = 0
    while not engine.is_idle:
        engine.step()
        most = max(most, len(engine.board.state().slots[CLUSTER].items))
    return most


def test_two_tenants_run_at_once_and_are_right(gpu: GpuHarness) -> None:
    store = Store(":memory:")
    engine = engine_on(gpu, store)
    for salt, tenant in enumerate(("ada", "grace"), start=1):
        y, x = step_arrays(512, salt)
        arguments = (buffer(store, tenant, y), buffer(store, tenant, x), 3)
        body = KernelRequest(SOURCE.replace("{name}", "add"), "step", (512,), arguments).to_json()
        engine.intake.accept(JobRequest(tenant, "", kind=KERNEL, body=body))
    assert run(engine) == 2
    for salt, tenant in enumerate(("ada", "grace"), start=1):
        record = store.jobs.get(tenant, salt)
        assert (record.state, record.detail) == (JobState.SUCCEEDED, "")
        found = np.frombuffer(store.outputs.read(tenant, salt, "y"), "u4")
        np.testing.assert_array_equal(found, stepped(*step_arrays(512, salt), 3))
        assert sorted(store.outputs.log(tenant, salt).split()) == sorted(str(i) for i in range(1, 512, 64))
    assert engine.price is not None
    fractions = [known.fraction for known in engine.price.estimates.learned.all_kernels()]
    assert len(fractions) == 2
    assert all(fraction is not None and 0.8 < fraction <= 1 for fraction in fractions), "learned from the counters"


def test_cores_that_change_hands_between_slices_show_nothing(gpu: GpuHarness) -> None:
    store = Store(":memory:")
    engine = engine_on(gpu, store)
    local = LocalBytes(2048)
    for _ in range(3):
        y = buffer(store, "ada", np.zeros(64, "u4"))
        hoard = KernelRequest(HOARD, "hoard", (64,), (y, SECRET, local), local_size=(4,)).to_json()
        engine.intake.accept(JobRequest("ada", "", kind=KERNEL, body=hoard))
        out = buffer(store, "grace", np.zeros(16 * 256, "u4"))
        look = KernelRequest(LOOK, "look", (16,), (out, local), local_size=(4,)).to_json()
        engine.intake.accept(JobRequest("grace", "", kind=KERNEL, body=look))
    assert run(engine) == 2
    for number in range(1, 7):
        tenant = "ada" if number % 2 else "grace"
        assert store.jobs.get(tenant, number).state is JobState.SUCCEEDED
        if tenant == "ada":
            found = np.frombuffer(store.outputs.read("ada", number, "y"), "u4")
            assert (found == np.uint32(2 * SECRET & 0xFFFF_FFFF)).all()
        else:
            assert not (np.frombuffer(store.outputs.read("grace", number, "out"), "u4") == SECRET).any()
    loads = [e for n in range(1, 7) for e in store.events.list_events(None, n) if e.what is JobEventKind.CONFIGURED]
    assert len(loads) == 1, "cores changed hands by a load"
