# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Progress of kernels that ran alone before is measured live, under any price policy; on a model board that slows down.

A work-group takes half as long again on this board while somebody else runs, which no counter shows.
"""

from __future__ import annotations

import pytest
from cores_kit import add_request, description, engine_over, manifest, tenants
from eddy.board.model.model import ModelBoard
from eddy.board.model.model_images import model_images
from eddy.board.port.port import Launch
from eddy.core.counters import ContextCounters
from eddy.hypervisor.cores.market_history import Epoch
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.hypervisor.cores.progress_report import progress_of_job
from eddy.hypervisor.engine.engine import Engine
from eddy.model.slowdown import ClusterParameters, MemoryLaw
from eddy.policy.price.view import ClusterMachine
from eddy.store import Store

CORES, QUANTUM_S, EPOCH_S = 4, 1e-3, 20e-3
FOUR = manifest(CORES)
MODULES = {FOUR.module: FOUR}
MACHINE = ClusterMachine(ClusterParameters(CORES, 1.0, 1e8, 64), MemoryLaw(0.5, 0.3, 1.6e9))
NAMES = ("ada", "grace")
GROUP_S, SLOWER = 5e-5, 1.5


def compute(_: Launch, cores: int, cycles: int) -> ContextCounters:
    """A kernel that cores bound, as counters have it."""
    return ContextCounters(cores * cycles // 2, cores * cycles, 0, cycles // 10_000, cycles // 160, 0)


class SlowingBoard(ModelBoard):
    """Work-groups take longer beside others'."""

    def launch(self, slot: int, launch: Launch) -> None:
        """See the port."""
        others = {item.launch.account for item in self._slots[slot].items.values()} - {launch.account}
        for name in NAMES:
            self._times[f"kernel:add_{name}"] = GROUP_S * (SLOWER if others else 1.0)
        super().launch(slot, launch)

    _times: dict[str, float]


def made(price: str) -> tuple[Engine, Store]:
    described = description()
    times = {**{f"kernel:add_{name}": GROUP_S for name in NAMES}, FOUR.module: 1e-4}
    board = SlowingBoard(described, model_images(described, MODULES), times, usage=compute)
    board._times = times
    store = Store(":memory:")
    tenants(store, **dict.fromkeys(NAMES, 1.0))
    engine = engine_over(board, store, MODULES, price, PriceSettings(QUANTUM_S, EPOCH_S))
    assert engine.price is not None
    engine.price.watch.machines = {FOUR.module: MACHINE}
    engine.start()
    return engine, store


def work(engine: Engine, store: Store, names: tuple[str, ...], lasts_s: float) -> list[Epoch]:
    """These tenants always have kernels for so long; the epochs that began and ended meanwhile, without the first."""
    assert engine.price is not None
    until_s, before = engine.now_s + lasts_s, len(engine.price.history.list_epochs())
    while engine.now_s < until_s:
        waiting = [job.spec.tenant for job in engine.machine.jobs.values()]
        for name in names:
            for _ in range(2 - waiting.count(name)):
                engine.intake.accept(add_request(store, name, 16_000, f"add_{name}"))
        engine.step()
    found = [epoch for epoch in engine.price.history.list_epochs()[before:] if epoch.view.tenants == names]
    return [epoch for epoch in found[1:] if (epoch.ended_s or 0) - epoch.at_s > EPOCH_S / 2]


@pytest.mark.parametrize("price", ["entitlement", "eddy_slowdown_fair"])
def test_who_was_alone_is_measured_and_who_was_not_is_predicted(price: str) -> None:
    engine, store = made(price)
    assert engine.price is not None
    alone = work(engine, store, ("ada",), 0.3)
    assert alone[-1].progress_measured is not None
    assert alone[-1].progress is not None
    assert alone[-1].progress_measured[0, 0] == 1
    assert alone[-1].progress[0, 0] == pytest.approx(1.0, abs=0.1)
    both = work(engine, store, NAMES, 0.4)
    assert len(both) > 3
    for epoch in both:
        assert epoch.progress_measured is not None
        assert epoch.progress is not None
        assert epoch.progress_measured[:, 0].tolist() == [1, 0], "grace was never alone"
        lasted_s = (epoch.ended_s or 0) - epoch.at_s
        cores = epoch.delivered_s[:, 0] / lasted_s
        # By its cores, and because work-groups take longer; counters show the first only.
        assert epoch.progress[0, 0] == pytest.approx(cores[0] / CORES / SLOWER, rel=0.12)
        assert epoch.progress[1, 0] == pytest.approx(cores[1] / CORES, rel=0.12)
    shown = progress_of_job(both, "ada", both[0].at_s, both[-1].ended_s, 0.0)
    assert shown is not None
    assert all(each["measured"] for each in shown["epochs"])
    if price == "eddy_slowdown_fair":
        ada, grace = both[-1].delivered_s[:, 0]
        assert ada > 1.15 * grace, "it is measured to be behind, and gets cores for it"
