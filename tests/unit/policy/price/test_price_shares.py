# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every price policy behind the one interface: shares that fit the clusters, pure, and what each of them promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from eddy.market import equilibrium, utility
from eddy.market.problem import check_market
from eddy.policy.price import POLICIES
from eddy.policy.price.equal_speedup import equalised
from eddy.policy.price.fisher import FisherMarket
from eddy.policy.price.view import ClusterView, Configuration, Floats, PriceView, entitled


def configuration(fraction: Floats, throughput: Floats, cores: list[int], name: str = "here") -> Configuration:
    clusters = tuple(ClusterView(slot, f"gpu_{count}c", count) for slot, count in enumerate(cores))
    return Configuration(name, clusters, fraction, throughput)


def random_view(seed: int, tenants: int = 3, clusters: int = 3) -> PriceView:
    draw = np.random.default_rng(seed)
    shape = (tenants, clusters)
    throughput = draw.uniform(0.2, 4.0, shape) * (draw.random(shape) < 0.8)
    throughput[:, 0] = np.maximum(throughput[:, 0], 0.1)
    here = configuration(draw.uniform(0.05, 1.0, shape), throughput, [int(c) for c in draw.integers(1, 9, clusters)])
    weights, names = draw.uniform(0.5, 4.0, tenants), tuple(f"t{i}" for i in range(tenants))
    return view(here, weights, names)


def view(here: Configuration, weights: Floats, names: tuple[str, ...], *others: Configuration) -> PriceView:
    waiting = np.full(len(names), np.inf)
    return PriceView(0.0, 0, names, weights, here, waiting, np.zeros(here.throughput.shape), (), others)


def with_memory(shown: PriceView, memory: object) -> PriceView:
    kept = (shown.weights, shown.present, shown.waiting_s, shown.delivered_s, shown.counters, shown.alternatives)
    return PriceView(shown.now_s + 1, shown.epoch + 1, shown.tenants, *kept, memory)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("seed", range(6))
def test_shares_fit_the_clusters_and_nobody_is_given_what_it_cannot_use(name: str, seed: int) -> None:
    policy, shown = POLICIES[name](), random_view(seed)
    memory = policy.initial()
    for _ in range(3):
        shown = with_memory(shown, memory)
        decision = policy.decide(shown)
        again = policy.decide(shown)
        assert np.array_equal(decision.shares, again.shares), "the same view, another decision"
        assert decision.shares.shape == shown.present.throughput.shape
        assert (decision.shares >= 0).all()
        capacity = shown.present.capacity
        assert (decision.shares.sum(axis=0) <= capacity * (1 + 1e-9)).all()
        if policy.traits.usable:
            assert not decision.shares[shown.present.throughput == 0].any()
        memory = decision.memory


@pytest.mark.parametrize("name", POLICIES)
def test_tenants_that_differ_in_weight_only_share_by_weight(name: str) -> None:
    names, weights = ("a", "b", "c"), np.array([1.0, 4.0, 1.0])
    here = configuration(np.full((3, 2), 0.8), np.ones((3, 2)), [2, 4])
    policy = POLICIES[name]()
    memory, given = policy.initial(), np.zeros(3)
    shown = view(here, weights, names)
    for _ in range(20):
        shown = with_memory(shown, memory)
        decision = policy.decide(shown)
        memory = decision.memory
        given += decision.shares.sum(axis=1) / 20
    if policy.traits.by_weight:
        assert given == pytest.approx(np.array([1.0, 4.0, 1.0]), rel=0.15)
    else:
        # Equal speedup over weight takes more than four times the PEs, because four times the speedup does.
        assert given[1] > 4 * given[0]


@pytest.mark.parametrize("name", [name for name in POLICIES if isinstance(POLICIES[name](), FisherMarket)])
@pytest.mark.parametrize("seed", range(20))
def test_nobody_falls_below_its_entitlement_on_the_market(name: str, seed: int) -> None:
    shown = random_view(seed, tenants=4)
    policy = POLICIES[name]()
    assert isinstance(policy, FisherMarket)
    decision = policy.decide(with_memory(shown, policy.initial()))
    here = shown.present
    asked = check_market(here.parallel_fraction, here.throughput, shown.weights, here.capacity, policy.utility)
    promised = utility.utilities(asked, decision.shares)
    assert (promised >= utility.utilities(asked, entitled(shown)) * (1 - 1e-9)).all()
    assert float(decision.prices @ here.capacity) == pytest.approx(1.0)


def test_the_market_starts_from_the_prices_it_had() -> None:
    shown = random_view(3, tenants=5)
    policy = FisherMarket()
    first = policy.decide(with_memory(shown, policy.initial()))
    again = policy.decide(with_memory(shown, first.memory))
    assert again.shares == pytest.approx(first.shares, abs=1e-6)
    assert set(first.memory) == {0, 1, 2}


def test_a_tenant_that_can_use_nothing_is_left_out() -> None:
    here = configuration(np.full((2, 1), 0.8), np.array([[1.0], [0.0]]), [4])
    decision = FisherMarket().decide(with_memory(view(here, np.ones(2), ("a", "b")), {}))
    assert decision.shares[:, 0].tolist() == [4.0, 0.0]
    nobody = configuration(np.full((1, 1), 0.8), np.zeros((1, 1)), [4])
    assert not FisherMarket().decide(with_memory(view(nobody, np.ones(1), ("a",)), {})).shares.any()


def test_a_configuration_is_changed_where_that_pays_over_the_horizon() -> None:
    slow = configuration(np.full((1, 1), 0.9), np.ones((1, 1)), [2], "slow")
    fast = configuration(np.full((1, 1), 0.9), np.full((1, 1), 1.5), [2], "fast")
    costly = Configuration("fast", fast.clusters, fast.parallel_fraction, fast.throughput, change_s=1.0)
    names, weights = ("a",), np.ones(1)
    assert (
        FisherMarket(horizon_s=10.0).decide(with_memory(view(slow, weights, names, costly), {})).configuration == "fast"
    )
    assert FisherMarket(horizon_s=2.0).decide(with_memory(view(slow, weights, names, costly), {})).configuration == ""
    assert FisherMarket(horizon_s=10.0).decide(with_memory(view(fast, weights, names, slow), {})).configuration == ""


@pytest.mark.parametrize("deliverable", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_equal_speedup_is_equal_and_uses_every_core(deliverable: bool, seed: int) -> None:
    draw = np.random.default_rng(seed)
    fraction, throughput = draw.uniform(0.05, 1.0, (4, 3)), draw.uniform(0.1, 5.0, (4, 3))
    throughput[0, 1] = 0.0
    weights = np.broadcast_to(draw.uniform(0.5, 4.0, (4, 1)), (4, 3))
    capacity = np.array([1.0, 4.0, 8.0])
    shares = equalised(fraction, throughput, weights, capacity, deliverable)
    divisor = shares * (1 - fraction) + fraction
    speed = throughput * shares / (np.maximum(divisor, 1.0) if deliverable else divisor)
    assert shares.sum(axis=0) == pytest.approx(capacity)
    for cluster in range(3):
        able = throughput[:, cluster] > 0
        assert not shares[~able, cluster].any()
        ratios = speed[able, cluster] / weights[able, cluster]
        assert ratios == pytest.approx(np.full(len(ratios), ratios[0]), rel=1e-6)


def test_rounds_become_shares_of_an_epoch_and_go_on_where_they_stopped() -> None:
    names, weights = ("a", "b"), np.array([1.0, 2.0])
    here = configuration(np.full((2, 1), 0.8), np.ones((2, 1)), [1])
    policy = POLICIES["gandiva"]()
    shown = with_memory(view(here, weights, names), policy.initial())
    first = policy.decide(shown)
    assert first.shares[:, 0] == pytest.approx([1 / 3, 2 / 3], abs=1 / 60)
    assert policy.decide(with_memory(shown, first.memory)).memory.rounds == 120
    other = with_memory(view(here, np.array([2.0, 1.0]), names), first.memory)
    assert policy.decide(other).memory.rounds == 60


@pytest.mark.parametrize("seed", range(4))
def test_nobody_falls_below_its_entitlement_on_whole_cores_in_time(seed: int) -> None:
    """Odd markets: serial work, one core, weights four orders apart, clusters only some can use; loops, not arrays."""
    draw = np.random.default_rng(seed)
    for _ in range(25):
        n, m = int(draw.integers(1, 8)), int(draw.integers(1, 5))
        fraction = np.where(draw.random((n, m)) < 0.2, 1.0, draw.uniform(0.01, 1.0, (n, m)))
        throughput = draw.uniform(0.1, 4.0, (n, m)) * (draw.random((n, m)) < 0.8)
        throughput[:, 0] = np.maximum(throughput[:, 0], 0.1)
        here = configuration(fraction, throughput, [int(cores) for cores in draw.integers(1, 17, m)])
        shown = with_memory(view(here, 10 ** draw.uniform(-2, 2, n), tuple(f"t{i}" for i in range(n))), {})
        decision, part = FisherMarket().decide(shown), entitled(shown)
        for i in range(n):
            had = _in_time(decision.shares[i], fraction[i], throughput[i])
            assert had >= _in_time(part[i], fraction[i], throughput[i]) * (1 - 1e-9)
        wanted = throughput.any(axis=0)
        assert decision.shares.sum(axis=0) == pytest.approx(here.capacity * wanted)
        assert float(decision.prices @ here.capacity) == pytest.approx(1.0)


def _in_time(shares: Floats, fraction: Floats, throughput: Floats) -> float:
    """Time on floor(x) and on ceil(x) cores, each worth what (3.2) says."""
    sum_ = 0.0
    for x, f, speed in zip(shares, fraction, throughput, strict=True):
        low, high = math.floor(x), math.floor(x) + 1
        sum_ += speed * ((high - x) * low / (low * (1 - f) + f) + (x - low) * high / (high * (1 - f) + f))
    return sum_


def test_who_would_lose_by_whole_cores_keeps_its_part_and_the_others_trade() -> None:
    """Some tenants' shares in the plain equilibrium deliver less than their part of the clusters."""
    draw, kept = np.random.default_rng(2), 0
    for _ in range(60):
        shown = random_view(int(draw.integers(1 << 30)), tenants=4)
        here, part = shown.present, entitled(shown)
        asked = here.parallel_fraction, here.throughput
        plain = equilibrium(*asked, shown.weights, here.capacity, "deliverable")
        shares = FisherMarket().decide(with_memory(shown, {})).shares
        short = [
            i for i in range(4) if _in_time(plain.shares[i], asked[0][i], asked[1][i])
            < _in_time(part[i], asked[0][i], asked[1][i]) * (1 - 1e-9)
        ]  # fmt: skip
        if not short:
            assert shares[:, here.throughput.any(axis=0)] == pytest.approx(plain.shares[:, here.throughput.any(axis=0)])
        kept += len(short)
        for i in short:
            able = here.throughput[i] > 0
            assert (shares[i, able] >= part[i, able] * (1 - 1e-9)).all()
    assert kept > 0
