# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Shares of what a tenant's kernels reach: one kernel on one cluster, and nothing sold where it cannot run."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest
from eddy.hypervisor.clusters.cluster_binding import ClusterBinding
from eddy.hypervisor.clusters.cluster_loads import ClusterLoads
from eddy.hypervisor.clusters.cluster_trials import ClusterTrials
from eddy.hypervisor.clusters.kernel_queues import KernelQueues
from eddy.hypervisor.clusters.kernel_work import KernelWork
from eddy.hypervisor.cores.core_accounts import CoreAccount
from eddy.hypervisor.cores.market_loop import ClusterKind, PriceLoop, PriceSettings
from eddy.hypervisor.cores.market_report import market_answer, shared_slots
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.messages import CorePartition, KernelVariant
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.hypervisor.slots.machine_state import MachineState
from eddy.policy.price import POLICIES
from eddy.policy.price.view import Floats
from hypervisor_kit import CHAIN

KINDS = {"large": ClusterKind(4, 4, 1e8), "small": ClusterKind(2, 4, 1e8)}
FITS = {module: {1: module, 2: module} for module in KINDS}
WEIGHTS = {"a": 1.0, "b": 2.0}
WORK = CorePartition("k", {module: KernelVariant(CHAIN, 100, 4) for module in KINDS})


def made(weights: dict[str, float] = WEIGHTS) -> tuple[PriceLoop, list[MachineSlot]]:
    loop = PriceLoop(
        POLICIES["market"](), KINDS, lambda tenants: {t: weights[t] for t in tenants}, PriceSettings(epoch_s=0.1)
    )
    loop.attach({1: CoreAccount([None] * 2), 2: CoreAccount([None] * 4)})
    for tenant in weights:
        loop.add_arrival(tenant, replace(WORK, kernel=tenant), 0.0)
    return loop, [MachineSlot(1, 0.01, module="small"), MachineSlot(2, 0.02, module="large")]


def shared(loop: PriceLoop, slots: list[MachineSlot], at_s: float, reach: dict[str, frozenset[int]]) -> Floats:
    loop.refresh(at_s, slots, FITS, {"a", "b"}, lambda: dict.fromkeys("ab", 1.0), dict, lambda: reach)
    assert loop.now is not None
    return loop.now.decision.shares


def test_who_reaches_one_cluster_has_shares_of_that_alone_and_at_least_its_part() -> None:
    loop, slots = made()
    before = shared(loop, slots, 0.0, {})
    assert (before[0] > 0).all()
    after = shared(loop, slots, 0.1, {"a": frozenset({2})})
    assert after[0, 0] == 0
    assert after[1, 0] == pytest.approx(2.0), "what it does not reach goes to the other"
    assert after[0, 1] >= 4 / 3 * (1 - 1e-9)
    assert after.sum(axis=0) == pytest.approx([2, 4])
    assert shared(loop, slots, 0.2, {}) == pytest.approx(before, rel=1e-6), "with another kernel waiting it is back"


def test_clusters_that_are_shared_count_as_slots_by_their_cores() -> None:
    loop, slots = made()
    assert shared_slots(loop) == {}, "no epoch yet"
    shared(loop, slots, 0.0, {"a": frozenset({2})})
    cores = loop.now.decision.shares if loop.now else None
    assert cores is not None
    found = shared_slots(loop)
    assert found == pytest.approx({"a": cores[0, 1] / 4, "b": 1.0 + cores[1, 1] / 4})
    assert sum(found.values()) == pytest.approx(2.0)


def test_what_is_told_is_what_is_promised_there() -> None:
    loop, slots = made()
    shared(loop, slots, 0.0, {"a": frozenset({2})})
    told = market_answer(loop, "a")["me"]
    assert [share["throughput"] for share in told["shares"]] == [0.0, 1.0]
    assert [share["pes"] > 0 for share in told["shares"]] == [False, True]
    assert told["promised_speedup"] >= told["entitlement"] * (1 - 1e-9) > 0
    assert [share["assumed"] for share in told["shares"]] == [True, True]
    assert told["parallel_fraction_from"] == "assumed"


def test_configurations_compare_by_what_tenants_could_use() -> None:
    loop, slots = made()
    shared(loop, slots, 0.0, {"a": frozenset({2})})
    assert loop.now is not None
    assert loop.now.view.whole is not None
    assert (loop.now.view.whole.throughput > 0).all()
    assert loop.now.view.present.throughput[0].tolist() == [0.0, 1.0]


def test_a_cluster_that_is_there_no_more_binds_nobody() -> None:
    loop, slots = made()
    shares = shared(loop, slots, 0.0, {"a": frozenset({7})})
    assert (shares[0] > 0).all()


def first_place(loop: PriceLoop, slots: list[MachineSlot], tenant: str, busy: int) -> int:
    """The slot that a tenant's first kernel is bound to while somebody else has one on the cluster `busy`."""
    queues = SimpleNamespace(has_no_bound_kernel=lambda _: True, is_claimed=lambda slot, _: slot == busy)
    work = SimpleNamespace(
        slices_left=lambda slot, _: 0,
        startable_slices=lambda slot: {"other": 1} if slot == busy else {},
    )
    loads = SimpleNamespace(target_module=lambda slot: slot.module, next_module=lambda slot: slot.module)
    binding = ClusterBinding(
        cast(MachineState, SimpleNamespace(slots={slot.index: slot for slot in slots}, now_s=0.0)),
        loop,
        cast(KernelQueues, queues),
        cast(KernelWork, work),
        cast(ClusterLoads, loads),
        ClusterTrials(loop, cast(KernelQueues, queues)),
        [slot.index for slot in slots],
    )
    found = binding.place(cast(Job, SimpleNamespace(spec=SimpleNamespace(tenant=tenant, spread=WORK))))
    assert found is not None
    return found.index


def test_the_first_kernel_goes_where_its_part_gets_it_furthest_and_a_tiny_one_where_nobody_is() -> None:
    loop, slots = made({"a": 1e-6, "b": 1.0})
    shared(loop, slots, 0.0, {})
    assert loop.weight_fraction("b") == pytest.approx(1.0, abs=1e-5)
    assert loop.weight_fraction("nobody") == 0.0
    assert first_place(loop, slots, "b", busy=2) == 2, "nearly all of it, wherever others are"
    assert first_place(loop, slots, "a", busy=2) == 1
    assert first_place(loop, slots, "a", busy=1) == 2


def test_no_promise_is_called_broken_in_an_epoch_without_work() -> None:
    loop, slots = made()
    shared(loop, slots, 0.0, {})
    loop.refresh(0.1, slots, FITS, {"a", "b"}, dict)
    assert market_answer(loop, "a")["me"]["delivered_over_promised"] == 0.0, "it waited, and had nothing"
    loop.refresh(0.2, slots, FITS, {"a", "b"}, dict)
    assert market_answer(loop, "a")["me"]["delivered_over_promised"] is None
