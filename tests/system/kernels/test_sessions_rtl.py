# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Two tenants' sessions on the cores of one simulated cluster: right, apart, and nothing left for the next one."""

from __future__ import annotations

import numpy as np
import pytest
from contract.gpu_harness import MODULES, GpuHarness
from cores_kit import engine_over, tenants
from eddy.core.profiles import ClusterBounds
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.hypervisor.engine.engine import Engine
from eddy.model.kernel_profile import profile
from eddy.packages.manifests import load_module_manifest
from eddy.store import Store
from session_kit import Guest, serve

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]


def test_sessions_of_two_tenants_are_right_and_reach_nothing_of_each_other(gpu: GpuHarness) -> None:
    store, module = Store(":memory:"), load_module_manifest(MODULES / "gpu_2c2w2tx")
    tenants(store, ada=1, grace=1, eve=1)
    settings = PriceSettings(quantum_s=0.2e-3, epoch_s=2e-3)
    engine = engine_over(gpu.board, store, {module.module: module}, "market", settings)
    engine.start()
    ada, grace, eve = (Guest(tenant) for tenant in ("ada", "grace", "eve"))
    for guest in (ada, grace):
        guest.open(engine)
        guest.say(do="create", buffer=1, bytes=256)
        guest.say(b"\1\0\0\0" * 64, do="write", buffer=1, offset=0, bytes=256)
        for _ in range(3):
            guest.launch("many", 1, size=64)
    wild = grace.launch("wild", 1)
    grace.launch("once", 1)
    for guest in (ada, grace):
        guest.say(do="read", buffer=1, offset=0, bytes=256)
    serve(engine, ada, grace)
    assert (grace.results[wild].code, ada.results[5].code) == ("write-outside-window", "")
    for guest, first in ((ada, 4), (grace, 2)):  # the wild one's second store came through before its first was refused
        read = guest.results[len(guest.sent)]
        assert [*np.frombuffer(read.data, "<u4")] == [first] + [4] * 63
    times_s = ada.results[5].times_s
    assert 0 < times_s[2] < times_s[3]
    assert sorted(times_s) == [*times_s]
    look_at_profiles(engine, ada, grace)
    engine.sessions.close(engine.sessions.get(ada.name))
    eve.open(engine)
    eve.say(do="create", buffer=1, bytes=4096)
    unwritten = eve.say(do="read", buffer=1, offset=0, bytes=4096)
    serve(engine, eve)
    assert eve.results[unwritten].data == bytes(4096), "what a session leaves is scrubbed"


def look_at_profiles(engine: Engine, ada: Guest, grace: Guest) -> None:
    """What cores counted adds up to their cycles; one work-item leaves lanes empty, 64 leave none."""
    bounds = ClusterBounds(2, 2, 2, 100e6, 64)
    found = {
        (guest.tenant, each.name): profile(each, bounds)
        for guest in (ada, grace)
        for each in engine.sessions.get(guest.name).work.values()
    }
    assert found.keys() == {("ada", "many"), ("grace", "many"), ("grace", "once"), ("grace", "wild")}
    wild = found.pop(("grace", "wild"))
    assert (wild.work.launches, wild.cycles) == (1, None), "what a launch counted that was stopped is not known"
    for made in found.values():
        assert made.cycles is not None
        assert sum(made.parts.values()) == pytest.approx(made.cycles), "a cycle has one cause"
        assert made.parts["other"] < made.cycles / 4
    once, many = found["grace", "once"], found["ada", "many"]
    assert (many.work.launches, once.work.launches) == (3, 1)
    assert many.parts["memory"] > 0
    assert once.parts["empty-lanes"] > many.parts["empty-lanes"] == 0
    assert many.roofline is not None
    assert many.roofline.operations_per_byte is not None
    assert 0 < many.roofline.operations_per_cycle < many.roofline.issue_bound
