# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Placement where only computation counts: bounds hold, published ratios hold, the default is close to the optimum."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from eddy.core.errors import InvalidRequest
from eddy.model.placement.bounds import from_prices, pigeonholes, single_job
from eddy.model.placement.instance import Instance, as_document, instance_from
from eddy.model.placement.verify import problems_of
from eddy.policy.place import METHODS
from eddy.policy.place.computation import computation
from eddy.policy.place.list_scheduling import first_answer
from eddy.policy.place.price_and_pack import balanced
from eddy.policy.place.schedule import makespan_of
from eddy.policy.place.sjf_ljf_computing import longest_first, shortest_first


def small(seed: int) -> Instance:
    """Few jobs, few hosts; every second one busy, every fifth with a job that cannot run everywhere."""
    random = np.random.default_rng(seed)
    jobs, hosts = int(random.integers(3, 8)), int(random.integers(2, 4))
    time_s = random.exponential(1, (jobs, 1)) * random.uniform(0.3, 2, (jobs, hosts))
    if seed % 5 == 0:
        time_s[0, 0] = np.inf
    return Instance(time_s, ready_s=random.uniform(0, 1, hosts) * (seed % 2))


def optimum(it: Instance) -> float:
    every = itertools.product(range(it.accelerators), repeat=it.jobs)
    return min(makespan_of(it.time_s, np.array(host), it.ready_s) for host in every)


def batch(seed: int, jobs: int = 1000, hosts: int = 150) -> Instance:
    """[002] 5.2: exponential sizes, +-20 % on every accelerator."""
    random = np.random.default_rng(seed)
    size = random.exponential(0.2, (jobs, 1))
    return Instance((size * random.uniform(0.8, 1.2, (jobs, hosts))).astype(np.float32))


def test_published_stays_within_twice_the_optimum_and_default_within_one_percent() -> None:
    over = []
    for seed in range(60):
        it = small(seed)
        best = optimum(it)
        published, default = computation(it), balanced(it)
        assert published.makespan_s <= 2 * best * (1 + 1e-9)
        for answer in (published, default):
            assert not problems_of(it, as_document(answer))
            assert answer.lower_bound_s <= best * (1 + 1e-9) <= answer.makespan_s * (1 + 2e-9)
        over.append(default.makespan_s / best - 1)
    assert np.mean(over) < 0.01


@pytest.mark.parametrize("seed", range(4))
def test_default_is_near_the_bound_and_never_behind_the_baselines(seed: int) -> None:
    it = batch(seed)
    default = balanced(it)
    assert default.makespan_s <= 1.015 * default.lower_bound_s
    assert not problems_of(it, as_document(default))
    for name in ("sjf", "ljf"):
        assert default.makespan_s <= METHODS[name](it).makespan_s


def test_published_bound_is_no_lower_than_the_price_bound() -> None:
    it = batch(1, jobs=200, hosts=30)
    published, default = computation(it), balanced(it)
    assert default.lower_bound_s <= published.lower_bound_s * (1 + 1e-4)
    assert published.makespan_s <= 2 * published.lower_bound_s


def test_first_answer_places_every_job() -> None:
    it = batch(5, jobs=333, hosts=7)
    host = first_answer(it.time_s, it.ready_s)
    assert set(host) == set(range(7))
    assert makespan_of(it.time_s, host, it.ready_s) < 1.2 * balanced(it).lower_bound_s


def test_an_idle_host_takes_the_job_it_completes_soonest() -> None:
    # At 0 host 0 takes job 1 and host 1 job 2; host 1, free first, takes job 0.
    time_s = np.array([[5.0, 5.0], [1.0, 9.0], [2.0, 0.5]])
    host = shortest_first(time_s, np.zeros(2))
    assert host is not None
    assert host.tolist() == [1, 0, 1]


def test_the_longest_job_on_average_goes_first_wherever_that_is() -> None:
    # [002] section 5: job 0 takes 1 s or 5 s, job 1 takes 3 s on both, so they tie at 3 s.
    host = longest_first(np.array([[1.0, 5.0], [3.0, 3.1], [0.1, 0.2]]), np.zeros(2))
    assert host is not None
    assert host.tolist() == [1, 0, 0]


def test_baselines_stop_where_they_cannot_win() -> None:
    it = batch(2, jobs=60, hosts=5)
    for rule in (shortest_first, longest_first):
        whole = rule(it.time_s, it.ready_s)
        assert whole is not None
        ends = makespan_of(it.time_s, whole, it.ready_s)
        assert rule(it.time_s, it.ready_s, ends * 0.999) is None
        again = rule(it.time_s, it.ready_s, ends * 1.001)
        assert again is not None
        assert again.tolist() == whole.tolist()


def test_work_of_earlier_batches_raises_the_water() -> None:
    # Two equal hosts, one busy until 3: four seconds of work level out at 3.5.
    assert from_prices(np.ones(2), 4.0, np.array([0.0, 3.0])) == pytest.approx(3.5)
    # Two seconds of work never reach the busy one.
    assert from_prices(np.ones(2), 2.0, np.array([0.0, 3.0])) == pytest.approx(2.0)
    assert single_job(np.array([[2.0, 1.0]]), np.array([0.0, 3.0])) == pytest.approx(2.0)


def test_jobs_that_are_alike_do_not_divide() -> None:
    """Seven jobs on three accelerators: one has three, although two and a third would do if jobs could be cut."""
    assert pigeonholes(np.full((7, 3), 0.7)) == pytest.approx(2.1)
    assert METHODS["default"](Instance(np.full((7, 3), 0.7))).lower_bound_s == pytest.approx(2.1)
    # Of three jobs on two accelerators two share one, at best the two shorter ones.
    assert pigeonholes(np.array([[5.0, 5.0], [2.0, 2.0], [1.0, 1.0]])) == pytest.approx(5.0)
    assert pigeonholes(np.array([[3.0, 4.0], [3.0, 3.0], [2.0, 9.0]])) == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({}, "time_s"),
        ({"time_s": [[1, -1]]}, "time_s"),
        ({"time_s": [[1, float("nan")]]}, "time_s"),
        ({"time_s": [[float("inf")]]}, "time_s"),
        ({"time_s": [[1]], "speed": 1}, "speed"),
        ({"time_s": [[1]], "size_bits": [1], "requester": [0]}, "size_bits"),
        ({"time_s": "abc"}, "time_s"),
        (
            {"time_s": [[1]], "size_bits": [1], "requester": [1], "egress_bps": [1], "ingress_bps": [1]},
            "requester",
        ),
    ],
)
def test_a_wrong_instance_is_refused_by_field(raw: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        instance_from(raw)
    assert refused.value.details["field"] == field


def test_the_referee_sees_what_is_wrong() -> None:
    it = Instance(np.array([[2.0, 3.0], [1.0, 1.0]]))
    right = {"host": [0, 1], "start_s": [0.0, 0.0], "makespan_s": 2.0, "lower_bound_s": 2.0}
    assert not problems_of(it, right)
    assert problems_of(it, {**right, "host": [0, 2]})
    assert problems_of(it, {**right, "host": [1, 1], "makespan_s": 5.0})
    assert problems_of(it, {**right, "makespan_s": 1.9})
    assert problems_of(it, {**right, "lower_bound_s": 2.1})
    assert problems_of(it, {**right, "start_s": [-1.0, 0.0]})
