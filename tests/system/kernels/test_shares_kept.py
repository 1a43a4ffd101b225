# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What was promised is what was had: over ten seconds on the model board, with kernels of unequal length, and liars."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from cores_kit import add_request, description, engine_over, manifest, tenants
from eddy.board.model.model import ModelBoard
from eddy.board.model.model_images import model_images
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.hypervisor.engine.engine import Engine
from eddy.store import Store

FOUR = manifest(4)
MODULES = {FOUR.module: FOUR}
QUANTUM_S = 5e-3
"""Coarser than live, so that ten seconds are a few thousand slices: what is shown is harder to keep."""


class Load:
    """Tenants that always have two kernels waiting, on a cluster of four cores whose groups take what is said.

    Args:
        group_s: By tenant: seconds a work-group of its kernels takes.
        groups: By tenant: work-groups of a kernel.
    """

    def __init__(self, price: str, weights: Mapping[str, float], group_s: Mapping[str, float], groups: int) -> None:
        described = description()
        latency = {f"kernel:add_{name}": seconds for name, seconds in group_s.items()}
        board = ModelBoard(described, model_images(described, MODULES), {**latency, FOUR.module: 1e-4})
        self.store, self.groups = Store(":memory:"), groups
        tenants(self.store, **weights)
        self.names = tuple(weights)
        settings = PriceSettings(QUANTUM_S, epoch_s=0.1)
        self.engine: Engine = engine_over(board, self.store, MODULES, price, settings)
        self.engine.start()
        self.top_up()

    def top_up(self, *names: str) -> None:
        waiting = [job.spec.tenant for job in self.engine.machine.jobs.values()]
        for name in names or self.names:
            for _ in range(2 - waiting.count(name)):
                self.engine.intake.accept(add_request(self.store, name, 2 * self.groups, f"add_{name}"))
        self.engine.step()

    def until(self, at_s: float, *names: str) -> None:
        while self.engine.now_s < at_s:
            self.engine.step()
            if len(self.engine.machine.jobs) < 2 * len(names or self.names):
                self.top_up(*names)

    def had(self) -> dict[str, float]:
        assert self.engine.price is not None
        account = self.engine.price.accounts[1]
        return {name: account.delivered_s.get(name, 0.0) for name in self.names}

    def promised(self, since_s: float) -> dict[str, float]:
        """Core-seconds promised from the first epoch since then to the end of the last one that ended."""
        assert self.engine.price is not None
        _, history = self.engine.price.snapshot_epochs()
        sums = dict.fromkeys(self.names, 0.0)
        for epoch in history:
            assert epoch.ended_s is not None
            lasted_s = max(0.0, epoch.ended_s - max(epoch.at_s, since_s))
            for row, name in enumerate(epoch.view.tenants):
                sums[name] += lasted_s * float(epoch.decision.shares[row].sum())
        return sums


def test_ten_seconds_are_shared_as_promised_to_two_in_a_thousand() -> None:
    load = Load("market", {"a": 1, "b": 4, "c": 1}, {"a": 3.7e-4, "b": 2.1e-3, "c": 9.5e-4}, 1500)
    load.until(0.5)
    began_s, before = load.engine.now_s, load.had()
    load.until(began_s + 10.0)
    had = {name: total - before[name] for name, total in load.had().items()}
    promised = load.promised(began_s)
    whole, all_promised = sum(had.values()), sum(promised.values())
    assert whole / (4 * (load.engine.now_s - began_s)) > 0.99, "cores stood idle"
    for name in load.names:
        assert had[name] / whole == pytest.approx(promised[name] / all_promised, rel=0.002)
    assert promised["b"] / all_promised == pytest.approx(4 / 6, rel=1e-6)


def test_a_tenant_whose_work_groups_take_half_a_second_gains_nothing() -> None:
    """Its slices cannot be cut: it is charged for them, and waits afterwards."""
    load = Load("market", {"a": 1, "spins": 1}, {"a": 9.5e-4, "spins": 0.4}, 400)
    load.until(0.5)
    began_s, before = load.engine.now_s, load.had()
    load.until(began_s + 8.0)
    had = {name: total - before[name] for name, total in load.had().items()}
    # Two slices of nearly half a second on each core at most beyond the promise of half the cluster.
    assert had["spins"] <= 0.5 * sum(had.values()) + 2 * 0.81
    assert had["a"] >= 0.5 * sum(had.values()) - 2 * 0.81


def test_time_an_absent_tenant_leaves_is_used_at_once_and_it_gets_its_share_when_it_comes() -> None:
    load = Load("market", {"a": 1, "b": 4, "c": 1}, {"a": 3.7e-4, "b": 9.5e-4, "c": 9.5e-4}, 400)
    load.until(0.3)
    load.until(2.0, "a", "c")
    assert not any(job.spec.tenant == "b" for job in load.engine.machine.jobs.values())
    before, began_s = load.had(), load.engine.now_s
    load.until(began_s + 2.0, "a", "c")
    alone = {name: total - before[name] for name, total in load.had().items()}
    assert alone["b"] == 0
    assert alone["a"] == pytest.approx(alone["c"], rel=0.01)
    assert sum(alone.values()) / 8.0 > 0.99
    load.top_up()
    before, began_s = load.had(), load.engine.now_s
    load.until(began_s + 2.0)
    back = {name: total - before[name] for name, total in load.had().items()}
    assert back["b"] / sum(back.values()) == pytest.approx(4 / 6, rel=0.02)
