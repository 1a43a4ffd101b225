# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Nobody has a core for longer by a kernel on trial than a trial needs, however short its slices are kept."""

from __future__ import annotations

import dataclasses

import pytest
from cores_kit import add_request, description, engine_over, manifest, tenants
from eddy.board.model.model import ModelBoard
from eddy.board.model.model_images import model_images
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.hypervisor.engine.engine import Engine
from eddy.store import Store
from hypervisor_kit import finish

SMALL, LARGE = manifest(1), manifest(2)
MODULES = {each.module: each for each in (SMALL, LARGE)}
HOLDS = {1: SMALL.module, 2: LARGE.module}
QUANTUM_S = 1e-3


class Market:
    """An honest tenant that always has work, and one of a thousandth of its weight, on clusters of one core and two."""

    def __init__(self, price: str) -> None:
        described = description(2)
        latency = {"kernel:add_honest": 2e-4, "kernel:add_light": 1e-4, **dict.fromkeys(MODULES, 1e-4)}
        board = ModelBoard(described, model_images(described, MODULES), latency)
        self.store = Store(":memory:")
        tenants(self.store, honest=1.0, light=1e-3)
        settings = PriceSettings(QUANTUM_S, epoch_s=50e-3)
        self.engine: Engine = engine_over(board, self.store, MODULES, price, settings)
        loop = self.engine.price
        assert loop is not None
        self.loop = loop
        loop.offers.wanted, loop.offers.named = dict(HOLDS), {"only": HOLDS}
        self.engine.start()

    def add(self, tenant: str, groups: int, limit_s: float | None = None) -> None:
        asked = add_request(self.store, tenant, 2 * groups, f"add_{tenant}")
        self.engine.intake.accept(dataclasses.replace(asked, time_limit_s=limit_s))

    def has_work(self, tenant: str) -> int:
        return sum(job.spec.tenant == tenant for job in self.engine.machine.jobs.values())

    def until(self, at_s: float) -> None:
        while self.engine.now_s < at_s:
            for _ in range(4 - self.has_work("honest")):
                self.add("honest", 1500)
            self.engine.step()

    def had(self, slot: int) -> float:
        return self.loop.accounts[slot].delivered_s.get("light", 0.0)


@pytest.mark.parametrize("price", ["market", "entitlement"])
def test_a_time_limit_of_a_quantum_does_not_keep_a_kernel_on_trial(price: str) -> None:
    market = Market(price)
    market.add("light", 200)
    finish(market.engine)
    assert [market.had(slot) > 0 for slot in HOLDS].count(True) == 1, "known on one kind of cluster, not on the other"
    market.until(0.3)
    before = {slot: market.had(slot) for slot in HOLDS}
    # Slices take a quarter of their limit at most, so none is ever half a quantum long.
    market.add("light", 40_000, limit_s=QUANTUM_S)
    market.until(1.3)
    had_s = sum(market.had(slot) - before[slot] for slot in HOLDS)
    promised_s = 1.0 * 3 * 1e-3
    assert 0 < had_s < promised_s + 5 * QUANTUM_S
    everywhere = market.loop.estimates.learned.all_kernels()
    assert sum(bool(each.slices) for each in everywhere) == 4, "both kernels were measured on both kinds"
