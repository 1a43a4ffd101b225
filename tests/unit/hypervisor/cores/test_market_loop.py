# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The live side of a price policy: epochs, what is known of kernels, which configurations a policy is shown,
and what becomes of one that fails."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from eddy.core.counters import CoreCounters
from eddy.core.projects import equal_weights
from eddy.hypervisor.cores.core_accounts import CoreAccount
from eddy.hypervisor.cores.epoch_totals import SliceMeasurement
from eddy.hypervisor.cores.learned_kernels import UNKNOWN_FRACTION, LearnedKernel
from eddy.hypervisor.cores.market_loop import ClusterKind, GuardedPolicy, PriceLoop, PriceSettings
from eddy.hypervisor.jobs.messages import CorePartition, KernelVariant
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.policy.price.entitlement import Entitlement
from eddy.policy.price.view import ClusterView, Configuration, PriceDecision, PriceView, Traits, zero_prices
from hypervisor_kit import CHAIN

KINDS = {"wide": ClusterKind(4, 8, 1e8), "narrow": ClusterKind(4, 4, 1e8), "plain": ClusterKind(4, 4, 1e8)}
FITS = {module: {1: module, 2: module} for module in KINDS}


class Watcher:
    """Entitlement, and a record of what it was shown."""

    name = "watcher"

    def __init__(self) -> None:
        self.views: list[PriceView] = []
        self.choice = ""

    def initial(self) -> None:
        return None

    def decide(self, view: PriceView) -> PriceDecision:
        self.views.append(view)
        shown = {other.name for other in view.alternatives}
        plain = Entitlement().decide(view)
        return PriceDecision(plain.shares, plain.prices, self.choice if self.choice in shown else "")


def spread(kernel: str = "k", groups: int = 100, soft: bool = False) -> CorePartition:
    variants = {"wide": KernelVariant(CHAIN, groups // 2, 4), "narrow": KernelVariant(CHAIN, groups, 4)}
    return CorePartition(kernel, {**variants, "plain": KernelVariant(CHAIN, groups, 4, soft)})


def made(watcher: Watcher, **options: object) -> tuple[PriceLoop, list[MachineSlot]]:
    loop = PriceLoop(watcher, KINDS, equal_weights, PriceSettings(epoch_s=0.1, configure_s=1.0), **options)  # type: ignore[arg-type]
    loop.attach({1: CoreAccount([None] * 4), 2: CoreAccount([None] * 4)})
    return loop, [MachineSlot(1, 0.01, module="narrow"), MachineSlot(2, 0.02, module="narrow")]


def counted(*lanes: int) -> CoreCounters:
    return CoreCounters(sum(lanes), sum(lanes), sum(lanes), lanes)


def test_an_epoch_lasts_its_time_and_ends_early_where_a_tenant_comes() -> None:
    watcher = Watcher()
    loop, slots = made(watcher)
    loop.add_arrival("a", spread(), 0.0)
    loop.refresh(0.0, slots, FITS, {"a"})
    loop.refresh(0.05, slots, FITS, {"a"})
    assert len(watcher.views) == 1
    loop.add_arrival("b", spread("other"), 0.06)
    loop.refresh(0.06, slots, FITS, {"a", "b"})
    assert [view.tenants for view in watcher.views] == [("a",), ("a", "b")]
    # One that has nothing to do is still there for an epoch, so that a job after the other changes nothing.
    loop.refresh(0.07, slots, FITS, {"a"})
    assert len(watcher.views) == 2
    loop.refresh(0.17, slots, FITS, {"a"})
    loop.refresh(0.18, slots, FITS, {"a"})
    assert watcher.views[-1].tenants == ("a",)
    loop.refresh(0.2, slots, FITS, set())
    assert (loop.now, loop.wake_s) == (None, None)
    assert [epoch.ended_s for epoch in loop.history.list_epochs()] == pytest.approx([0.06, 0.17, 0.2])


def test_f_begins_at_four_fifths_and_follows_the_counters_and_forgets() -> None:
    watcher = Watcher()
    loop, slots = made(watcher)
    work = spread()
    loop.add_arrival("a", work, 0.0)
    loop.refresh(0.0, slots, FITS, {"a"})
    assert (watcher.views[0].present.parallel_fraction == UNKNOWN_FRACTION).all()
    loop.record_slice("a", work, SliceMeasurement(1, "narrow", 10, 0.01, counters=counted(0, 0, 0, 1000)))
    loop.refresh(0.1, slots, FITS, {"a"})
    assert watcher.views[1].present.parallel_fraction == pytest.approx(np.ones((1, 2)))
    assert watcher.views[1].counters[0][0] is not None
    assert watcher.views[1].counters[0][1] is None
    for _ in range(100):
        loop.record_slice("a", work, SliceMeasurement(1, "narrow", 1000, 1.0, counters=counted(1000, 0, 0, 0)))
    assert loop.estimates.fraction("a", "narrow") < 0.01, "inputs changed"


def test_throughput_is_lanes_times_clock_until_it_was_measured() -> None:
    loop, _ = made(Watcher())
    work = spread(soft=True)
    loop.add_arrival("a", work, 0.0)
    assert [loop.estimates.throughput("a", module) for module in KINDS] == pytest.approx([2.0, 1.0, 0.15])
    # A work-group on the wide one has twice the items, and takes as long: twice as fast, as was thought.
    loop.record_slice("a", work, SliceMeasurement(1, "narrow", 10, 1.0))
    loop.record_slice("a", work, SliceMeasurement(1, "wide", 10, 1.0))
    loop.record_slice("a", work, SliceMeasurement(1, "plain", 10, 4.0))
    assert [loop.estimates.throughput("a", module) for module in KINDS] == pytest.approx([2.0, 1.0, 0.25])
    assert loop.estimates.throughput("nobody", "wide") == 0.0


def test_a_slice_grows_and_shrinks_towards_the_quantum() -> None:
    known = LearnedKernel()
    known.add_slice(4, 1e-4, None, 1e-3)
    assert known.slice_groups == 16, "four times at once at most"
    known.add_slice(16, 4e-4, None, 1e-3)
    assert known.slice_groups == pytest.approx(40)
    known.add_slice(40, 2e-2, None, 1e-3)
    assert known.slice_groups == pytest.approx(10)


def test_a_policy_is_shown_all_combinations_of_images_now_and_then() -> None:
    watcher = Watcher()
    loop, slots = made(watcher)
    loop.add_arrival("a", spread(), 0.0)
    for number in range(12):
        loop.refresh(0.1 * number, slots, FITS, {"a"})
    shown = [len(view.alternatives) for view in watcher.views]
    assert shown == [8] + [0] * 9 + [8, 0], "three modules for each of two slots, once a second"
    costs = [other.change_s for other in watcher.views[0].alternatives]
    assert costs == sorted(costs)
    assert {round(cost, 6) for cost in costs} == {0.01, 0.02, 0.03}


def test_a_policy_is_shown_what_the_profile_names_where_it_names_any() -> None:
    watcher = Watcher()
    named = {
        "CFG1": {1: "narrow", 2: "narrow"},
        "CFG2": {1: "wide", 2: "narrow"},
        "CFG3": {1: "wide", 2: "missing"},
    }
    loop, slots = made(watcher, configurations=named)
    loop.add_arrival("a", spread(), 0.0)
    watcher.choice = "CFG2"
    loop.refresh(0.0, slots, FITS, {"a"})
    (view,) = watcher.views
    assert view.present.name == "CFG1"
    assert [other.name for other in view.alternatives] == ["CFG2"], "one has no image for a slot"
    assert loop.offers.wanted == {1: "wide", 2: "narrow"}
    loop.refresh(1.1, slots, FITS, {"a"})
    assert not watcher.views[-1].alternatives, "a change is in progress"
    slots[0].module = "wide"
    loop.refresh(1.2, slots, FITS, {"a"})
    assert watcher.views[-1].present.name == "CFG2"
    assert [other.name for other in watcher.views[-1].alternatives] == ["CFG1"]


def test_the_fabric_begins_with_a_configuration_that_the_profile_names() -> None:
    """The preferred cluster of every slot, `wide`, is none of them together."""
    named = {"CFG1": {1: "plain", 2: "missing"}, "CFG2": {1: "plain", 2: "narrow"}, "CFG3": {1: "narrow", 2: "plain"}}
    for modules, wanted in ((("", ""), "CFG2"), (("narrow", ""), "CFG3"), (("wide", "wide"), "CFG2")):
        loop, slots = made(Watcher(), configurations=named)
        slots[0].module, slots[1].module = modules
        loop.add_arrival("a", spread(), 0.0)
        loop.refresh(0.0, slots, FITS, {"a"})
        assert loop.offers.wanted == named[wanted]
    loop, slots = made(Watcher(), configurations={"CFG1": named["CFG1"]})
    loop.refresh(0.0, slots, FITS, {"a"})
    assert loop.offers.wanted == {}, "no image for a slot of the only one: as if none were named"


def test_a_change_whose_image_is_gone_is_not_waited_for() -> None:
    watcher = Watcher()
    loop, slots = made(watcher)
    loop.add_arrival("a", spread(), 0.0)
    watcher.choice = "1: wide, 2: narrow"
    loop.refresh(0.0, slots, FITS, {"a"})
    assert loop.offers.wanted[1] == "wide"
    loop.refresh(1.1, slots, FITS, {"a"})
    assert watcher.views[-1].alternatives == ()
    left = {**FITS, "wide": {2: "wide"}}
    loop.refresh(2.2, slots, left, {"a"})
    assert watcher.views[-1].alternatives


def test_a_kernel_that_stops_counting_changes_nothing_but_what_its_time_says() -> None:
    """F stays what was counted before, or what is assumed; its slices are charged by their time all the same."""
    loop, slots = made(Watcher())
    silent, work = spread("silent"), spread("work")
    for tenant, kernel in (("a", silent), ("b", work)):
        loop.add_arrival(tenant, kernel, 0.0)
    loop.refresh(0.0, slots, FITS, {"a", "b"})
    for _ in range(5):
        loop.record_slice("a", silent, SliceMeasurement(1, "narrow", 10, 1.0, counters=counted(0, 0, 0, 0)))
        loop.record_slice("b", work, SliceMeasurement(1, "narrow", 10, 1.0, counters=counted(0, 0, 0, 100)))
    loop.refresh(0.1, slots, FITS, {"a", "b"})
    assert loop.now is not None
    here = loop.now.view.present
    assert here.parallel_fraction[:, 0] == pytest.approx([0.8, 1.0])
    assert here.throughput[0] == pytest.approx(here.throughput[1]), "by time alone"
    loop.record_slice("b", work, SliceMeasurement(1, "narrow", 10, 1.0, counters=counted(0, 0, 0, 0)))
    assert loop.estimates.fraction("b", "narrow") == pytest.approx(1.0)


def test_what_was_measured_corrects_the_guess_where_a_kernel_never_ran() -> None:
    """Half as fast as guessed on one cluster: so it is taken to be elsewhere, with floating-point units or without."""
    loop, _ = made(Watcher())
    work = spread("work", soft=True)
    loop.add_arrival("a", work, 0.0)
    guessed = {name: loop.estimates.throughput("a", name) for name in KINDS}
    loop.record_slice("a", work, SliceMeasurement(1, "wide", 50, 1.0))
    loop.record_slice("a", work, SliceMeasurement(1, "narrow", 100, 2.0 * guessed["wide"] / guessed["narrow"]))
    found = {name: loop.estimates.throughput("a", name) for name in KINDS}
    assert found["narrow"] / found["wide"] == pytest.approx(guessed["narrow"] / guessed["wide"] / 2)
    assert guessed["plain"] * 0.5 < found["plain"] < guessed["plain"]


class Broken(Watcher):
    """Decides as it is told, or raises."""

    def __init__(self, answer: Exception | float) -> None:
        super().__init__()
        self.answer = answer

    def decide(self, view: PriceView) -> PriceDecision:
        if isinstance(self.answer, Exception):
            raise self.answer
        whole = Entitlement().decide(view)
        return PriceDecision(whole.shares * self.answer, whole.prices)


@pytest.mark.parametrize("answer", [ValueError("no"), ZeroDivisionError(), np.nan, np.inf, -1.0, 1.1], ids=repr)
def test_a_policy_that_fails_keeps_nobody_from_running(
    answer: Exception | float, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Broken(answer)
    loop, slots = made(broken)
    for tenant in ("a", "b"):
        loop.add_arrival(tenant, spread(tenant), 0.0)
    loop.refresh(0.0, slots, FITS, {"a", "b"})
    assert dict(loop.accounts[1].shares) == {"a": 2.0, "b": 2.0}
    assert loop.now is not None
    assert loop.now.policy == "entitlement", "it says so"
    assert "watcher" in caplog.text
    broken.answer = 0.5
    loop.refresh(0.1, slots, FITS, {"a", "b"})
    assert loop.now.policy == "watcher"
    assert dict(loop.accounts[1].shares) == {"a": 1.0, "b": 1.0}, "what it leaves goes to whoever can use it"


class CountingPolicy:
    """Answers what it is told to, and remembers how often."""

    name = "counting"

    def __init__(self, shares: object) -> None:
        self._shares = shares

    @property
    def traits(self) -> Traits:
        return Traits()

    def initial(self) -> int:
        return 0

    def decide(self, view: PriceView) -> PriceDecision:
        if isinstance(self._shares, Exception):
            raise self._shares
        return PriceDecision(np.array(self._shares, float), zero_prices(view), memory=view.memory + 1)


def view(memory: object) -> PriceView:
    here = Configuration("one", (ClusterView(0, "wide", 4),), np.ones((2, 1)), np.ones((2, 1)))
    zero = np.zeros((2, 1))
    return PriceView(
        now_s=0.0,
        epoch=3,
        tenants=("a", "b"),
        weights=np.array([3.0, 1.0]),
        present=here,
        waiting_s=np.zeros(2),
        delivered_s=zero,
        counters=((None,), (None,)),
        alternatives=(),
        memory=memory,
        whole=here,
    )


def test_a_decision_is_passed_on_with_what_it_remembers() -> None:
    made = GuardedPolicy(CountingPolicy([[1.0], [2.0]]))
    for count in (1, 2):
        name, decision = made.decide(view(made.memory))
        assert (name, made.memory) == ("counting", count)
        np.testing.assert_array_equal(decision.shares, [[1.0], [2.0]])


@pytest.mark.parametrize(
    "shares",
    [ValueError("no"), [[5.0], [0.0]], [[-1.0], [1.0]], [[np.nan], [1.0]], [[1.0, 1.0]]],
    ids=["raises", "more than there is", "negative", "no number", "wrong shape"],
)
def test_what_cannot_be_given_is_shared_by_entitlement(shares: object, caplog: pytest.LogCaptureFixture) -> None:
    made = GuardedPolicy(CountingPolicy(shares))
    made.memory = 7
    with caplog.at_level(logging.ERROR):
        name, decision = made.decide(view(7))
    assert (name, made.memory) == ("entitlement", 0), "a policy begins again where it failed"
    np.testing.assert_allclose(decision.shares[:, 0], [3.0, 1.0])
    assert "counting" in caplog.text


def test_another_policy_remembers_nothing_and_the_same_one_what_it_did() -> None:
    first = CountingPolicy([[4.0], [0.0]])
    made = GuardedPolicy(first)
    made.decide(view(made.memory))
    made.switch(first)
    assert made.memory == 1
    made.switch(CountingPolicy([[0.0], [4.0]]))
    assert made.memory == 0
    assert made.decide(view(made.memory))[1].shares[0, 0] == 0.0
