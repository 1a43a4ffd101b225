# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The four clusters of CFG1 ([000] Table 5.3) on the RTL of the whole board: sixteen cores at work at once.

The hypervisor shares them between two tenants: it loads each slot, gives out cores one by one, and collects results.
Clusters have their own clocks (80, 80, 120 and 110 MHz). Images are small, so that loads take microseconds. Two
clusters are of one kind: each tenant has one kernel on both of them at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from contract.harness import OPEN
from cores_kit import engine_over, tenants
from eddy.board.port.port import BoardPort
from eddy.board.port.profile import load_profile
from eddy.board.remote.factory import open_device
from eddy.core.jobs import JobState
from eddy.core.records import KERNEL, JobRequest
from eddy.gpu.launches.request import KernelRequest
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.packages.catalogue import load_catalogue
from eddy.store import Store
from eddy_sim.design import bitstreams, build
from eddy_sim.device import SimClock, SimDevice
from kernel_kit import buffer, step_arrays, stepped
from pynq.ps import Clocks, _ClocksUltrascale

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_board")]

MODULES = build.ROOT / "bitstreams" / "de10pro"
HELD = load_profile("de10pro").configurations["CFG1"]
FOUND = {name: found for name, found in load_catalogue(MODULES).modules.items() if name in HELD.values()}
IMAGE_BYTES = 20_000
ITEMS = 16
"""Of a slice: four warps of four lanes."""
TURNS = 4_000
"""A slice takes longer than all sixteen take to start, one after the other."""
SOURCE = """
kernel void step(global uint *y, global const uint *x, uint n) {
  uint i = get_global_id(0), v = y[i];
  for (uint k = 0; k < n; k++) v = v * 1664525u + x[i];
  y[i] = v;
}
"""


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Iterator[BoardPort]:
    known = build.manifest_path

    def find(module: str) -> Path:
        return MODULES / module / "manifest.yaml" if module in FOUND else known(module)

    monkeypatch.setattr(build, "manifest_path", find)
    # Sixteen cores take longer to compile than to run for the few milliseconds that this needs.
    monkeypatch.setattr(build, "OPTIMISATION", "-O0")
    profile = load_profile("de10pro")
    clocked = ((slot, FOUND[HELD[index]].clk_hz) for index, slot in enumerate(profile.slots))
    slots = tuple(replace(slot, image_bytes=IMAGE_BYTES, clk_hz=clk_hz) for slot, clk_hz in clocked)
    short = replace(profile, name="de10pro-short", slots=slots)
    files = bitstreams.list_or_build(short, found=list(FOUND.values()))
    device = SimDevice(short, coherent=False)
    # PYNQ keeps the clocks of the first device that a process opened; this board's shell has another rate.
    monkeypatch.setattr(Clocks, "_real_instance", _ClocksUltrascale(device=device), raising=False)
    opened = open_device(files.overlay, device, SimClock(device), short, files.overlay.parent, OPEN)
    yield opened
    opened.release()


def test_two_tenants_have_sixteen_cores_at_work_at_once(board: BoardPort) -> None:
    assert sum(int(dict(FOUND[module].parameters)["Cores"]) for module in HELD.values()) == 16
    store = Store(":memory:")
    tenants(store, ada=1, grace=1)
    engine = engine_over(board, store, FOUND, "market", PriceSettings(quantum_s=5e-5, epoch_s=2e-3))
    assert engine.price is not None
    engine.price.offers.named, engine.price.offers.wanted = {"CFG1": HELD}, dict(HELD)
    engine.start()
    asked = [(tenant, ITEMS * slices) for slices in (4, 2, 2) for tenant in ("ada", "grace")]
    for salt, (tenant, items) in enumerate(asked, start=1):
        y, x = step_arrays(items, salt)
        arguments = (buffer(store, tenant, y), buffer(store, tenant, x), TURNS)
        engine.intake.accept(
            JobRequest(tenant, "", kind=KERNEL, body=KernelRequest(SOURCE, "step", (items,), arguments).to_json())
        )
    most, both = 0, set[int]()
    while not engine.is_idle:
        engine.step()
        most = max(most, sum(len(slot.items) for slot in board.state().slots))
        first, second = ({each.job for each in engine.price.accounts[slot].running} for slot in (0, 1))
        both |= first & second
    assert most == 16
    assert both, "a kernel runs on both clusters of one kind at once"
    for number, (tenant, items) in enumerate(asked, start=1):
        record = store.jobs.get(tenant, number)
        assert (record.state, record.detail) == (JobState.SUCCEEDED, "")
        found = np.frombuffer(store.outputs.read(tenant, number, "y"), "u4")
        np.testing.assert_array_equal(found, stepped(*step_arrays(items, number), TURNS))
    status = {each.slot: each.module for each in engine.status}
    assert status == HELD, "the configuration that was wanted"
