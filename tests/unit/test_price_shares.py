"""Every price policy behind the one interface: shares that fit the clusters, pure, and what each of them promises."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.market import utility
from eddy.market.problem import checked
from eddy.policy.price import POLICIES, ROUNDS
from eddy.policy.price.equal_speedup import equalised
from eddy.policy.price.fisher import Market
from eddy.policy.price.view import ClusterView, Configuration, Floats, PriceView, entitled

LIVE = [name for name in POLICIES if name != "max_weight"]


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
        if name != "entitlement":
            assert not decision.shares[shown.present.throughput == 0].any()
        memory = decision.memory


@pytest.mark.parametrize("name", LIVE)
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
    due = np.array([1.0, 4.0, 1.0])
    if name == "equal_speedup":
        # Equal speedup over weight takes more than four times the PEs, because four times the speedup does.
        assert given[1] / given[0] > 4
    else:
        assert given == pytest.approx(due, rel=0.15)


@pytest.mark.parametrize("name", ["market", "market_amdahl"])
@pytest.mark.parametrize("seed", range(20))
def test_nobody_falls_below_its_entitlement_on_the_market(name: str, seed: int) -> None:
    shown = random_view(seed, tenants=4)
    policy = POLICIES[name]()
    assert isinstance(policy, Market)
    decision = policy.decide(with_memory(shown, policy.initial()))
    here = shown.present
    asked = checked(here.parallel_fraction, here.throughput, shown.weights, here.capacity, policy.utility)
    promised = utility.utilities(asked, decision.shares)
    assert (promised >= utility.utilities(asked, entitled(shown)) * (1 - 1e-9)).all()
    assert float(decision.prices @ here.capacity) == pytest.approx(1.0)


def test_the_market_starts_from_the_prices_it_had() -> None:
    shown = random_view(3, tenants=5)
    policy = Market()
    first = policy.decide(with_memory(shown, policy.initial()))
    again = policy.decide(with_memory(shown, first.memory))
    assert again.shares == pytest.approx(first.shares, abs=1e-6)
    assert set(first.memory) == {0, 1, 2}


def test_a_tenant_that_can_use_nothing_is_left_out() -> None:
    here = configuration(np.full((2, 1), 0.8), np.array([[1.0], [0.0]]), [4])
    decision = Market().decide(with_memory(view(here, np.ones(2), ("a", "b")), {}))
    assert decision.shares[:, 0].tolist() == [4.0, 0.0]
    nobody = configuration(np.full((1, 1), 0.8), np.zeros((1, 1)), [4])
    assert not Market().decide(with_memory(view(nobody, np.ones(1), ("a",)), {})).shares.any()


def test_a_configuration_is_changed_where_that_pays_over_the_horizon() -> None:
    slow = configuration(np.full((1, 1), 0.9), np.ones((1, 1)), [2], "slow")
    fast = configuration(np.full((1, 1), 0.9), np.full((1, 1), 1.5), [2], "fast")
    costly = Configuration("fast", fast.clusters, fast.parallel_fraction, fast.throughput, change_s=1.0)
    names, weights = ("a",), np.ones(1)
    assert Market(horizon_s=10.0).decide(with_memory(view(slow, weights, names, costly), {})).configuration == "fast"
    assert Market(horizon_s=2.0).decide(with_memory(view(slow, weights, names, costly), {})).configuration == ""
    assert Market(horizon_s=10.0).decide(with_memory(view(fast, weights, names, slow), {})).configuration == ""


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
    assert set(ROUNDS) < set(POLICIES)
    names, weights = ("a", "b"), np.array([1.0, 2.0])
    here = configuration(np.full((2, 1), 0.8), np.ones((2, 1)), [1])
    policy = POLICIES["gandiva"]()
    shown = with_memory(view(here, weights, names), policy.initial())
    first = policy.decide(shown)
    assert first.shares[:, 0] == pytest.approx([1 / 3, 2 / 3], abs=1 / 60)
    assert policy.decide(with_memory(shown, first.memory)).memory.rounds == 120
    other = with_memory(view(here, np.array([2.0, 1.0]), names), first.memory)
    assert policy.decide(other).memory.rounds == 60


def test_cores_one_by_one_keep_what_whole_clusters_in_turns_break() -> None:
    """Time on floor(x) and ceil(x) cores is worth nearly what the market says; a whole cluster in turns, far less."""
    draw = np.random.default_rng(0)
    by_cores, in_turns = [], []
    for _ in range(100):
        n, m = int(draw.integers(2, 6)), int(draw.integers(1, 6))
        fraction, throughput = draw.uniform(0.05, 1.0, (n, m)), draw.uniform(0.1, 4.0, (n, m))
        capacity = [int(cores) for cores in draw.integers(1, 9, m)]
        here = configuration(fraction, throughput, capacity)
        shown = with_memory(view(here, draw.uniform(0.5, 4.0, n), tuple(f"t{i}" for i in range(n))), {})
        shares, part = Market().decide(shown).shares, entitled(shown)

        def worth(cores: Floats, here: Configuration = here) -> Floats:
            divisor = np.maximum(cores * (1 - here.parallel_fraction) + here.parallel_fraction, 1.0)
            return np.asarray(here.throughput * cores / divisor)

        def over_time(x: Floats, here: Configuration = here) -> Floats:
            low = np.floor(x + 1e-9)
            return np.asarray(((1 - x + low) * worth(low, here) + (x - low) * worth(low + 1, here)).sum(axis=1))

        def whole(x: Floats, here: Configuration = here) -> Floats:
            every = np.broadcast_to(here.capacity, x.shape)
            return np.asarray((x / every * worth(every, here)).sum(axis=1))

        by_cores.append(float((over_time(shares) / over_time(part)).min()))
        in_turns.append(float((whole(shares) / whole(part)).min()))
    assert min(by_cores) > 0.99
    assert sum(least < 1 - 1e-9 for least in by_cores) < 8
    assert min(in_turns) < 0.75
    assert sum(least < 1 - 1e-9 for least in in_turns) > 15
