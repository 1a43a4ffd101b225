# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tenants that mislead `hsm_fair` by what their kernels count, live on the model board: what they gain is bounded."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cores_kit import add_request, description, engine_over, manifest, tenants
from eddy.board.model.model import ModelBoard
from eddy.board.model.model_images import model_images
from eddy.board.port.port import Launch
from eddy.core.counters import ContextCounters
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.model.slowdown import ClusterParameters, MemoryLaw
from eddy.policy.price.progress import MIN_PART
from eddy.policy.price.view import ClusterMachine
from eddy.store import Store

CORES, EPOCH_S, LASTS_S = 6, 20e-3, 0.4
SIX = manifest(CORES)
MODULES = {SIX.module: SIX}
MACHINE = ClusterMachine(ClusterParameters(CORES, 1.0, 1e8, 64), MemoryLaw(0.5, 0.3, 1.6e9))
NAMES = ("ada", "grace", "liar")
PART = CORES / len(NAMES)
Counts = Callable[[float, int], ContextCounters]


def compute(_: float, core_cycles: int) -> ContextCounters:
    """An honest kernel that cores bound."""
    return ContextCounters(core_cycles * 8 // 10, core_cycles, 0, core_cycles // 10_000, core_cycles // 160, 0)


def nothing(_: float, core_cycles: int) -> ContextCounters:
    """Cores that are held, and no instruction counted: waiting in a way that no counter shows."""
    return ContextCounters(0, core_cycles)


def starving(_: float, core_cycles: int) -> ContextCounters:
    """Few instructions, which wait for few requests: looks held up by memory, and to progress next to nothing."""
    requests = core_cycles // 2_000
    return ContextCounters(core_cycles // 100_000 + 1, core_cycles, core_cycles, requests, 64 * requests, requests)


def alternating(now_s: float, core_cycles: int) -> ContextCounters:
    """One of the two, by epochs."""
    return starving(now_s, core_cycles) if int(now_s / EPOCH_S) % 2 else compute(now_s, core_cycles)


def had(lies: Counts, price: str = "hsm_fair", promised: float = 0.0, renames: bool = False) -> dict[str, float]:
    """Cores each had on average, all of them always having work.

    Args:
        lies: What the liar's kernels count.
        promised: Progress that ada was promised.
        renames: Whether each job of the liar's is another kernel.
    """
    boards: list[ModelBoard] = []

    def usage(launch: Launch, cores: int, cycles: int) -> ContextCounters:
        counts = lies if launch.account == "liar" else compute
        return counts(boards[0].now_s(), cores * cycles)

    described = description()
    others = [f"liar{number}" for number in range(500)] if renames else []
    latency = {**{f"kernel:add_{name}": 5e-5 for name in (*NAMES, *others)}, SIX.module: 1e-4}
    boards.append(ModelBoard(described, model_images(described, MODULES), latency, usage=usage))
    store = Store(":memory:")
    tenants(store, **dict.fromkeys(NAMES, 1.0))
    engine = engine_over(boards[0], store, MODULES, price, PriceSettings(2e-3, EPOCH_S))
    assert engine.price is not None
    engine.price.least_of = lambda tenant: promised if tenant == "ada" else 0.0
    engine.price.watch.machines = {SIX.module: MACHINE}
    engine.start()
    while engine.now_s < LASTS_S:
        waiting = [job.spec.tenant for job in engine.machine.jobs.values()]
        for name in NAMES:
            for _ in range(3 - waiting.count(name)):
                kernel = others.pop() if renames and name == "liar" else name
                engine.intake.accept(add_request(store, name, 4_000, f"add_{kernel}"))
        engine.step()
    account = engine.price.accounts[1]
    assert {epoch.policy for epoch in engine.price.history.list_epochs()} == {price}
    return {name: account.delivered_s[name] / engine.now_s for name in NAMES}


def test_honest_tenants_of_one_kind_have_their_parts() -> None:
    found = had(compute)
    assert all(cores == pytest.approx(PART, rel=0.1) for cores in found.values()), found


def test_who_shows_no_counters_has_its_part_and_no_more() -> None:
    assert had(nothing)["liar"] <= PART * 1.1


@pytest.mark.parametrize("lies", [starving, alternating])
def test_who_pretends_to_starve_takes_no_more_than_the_bound(lies: Counts) -> None:
    found = had(lies)
    most = len(NAMES) - (len(NAMES) - 1) * MIN_PART
    assert found["liar"] <= PART * most * 1.02, found
    assert min(found["ada"], found["grace"]) >= PART * MIN_PART * 0.95, found
    if lies is starving:
        assert found["liar"] > PART * 1.5, "the bound is what holds it, not that it gained nothing"


@pytest.mark.parametrize("price", ["hsm_qos", "eddy_slowdown_qos"])
def test_a_promise_is_kept_beside_who_lies_and_runs_another_kernel_each_time(price: str) -> None:
    """Ada's kernels progress with their cores, so that a promise is kept by that part of them."""
    found = had(alternating, price, 0.4, renames=True)
    assert found["ada"] >= 0.4 * CORES, found
    assert min(found["grace"], found["liar"]) >= PART * MIN_PART * 0.95, found
