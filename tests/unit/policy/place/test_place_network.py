# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Placement where sending counts: Algorithms 3 and 4, the default, SJF and LJF; a referee replays every answer."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.core.errors import InvalidRequest
from eddy.model.placement import bounds
from eddy.model.placement.instance import Instance, as_document, instance_from
from eddy.model.placement.verify import problems_of
from eddy.policy.place import METHODS
from eddy.policy.place.default import place_sjf_ljf
from eddy.policy.place.joint import joint_bound
from eddy.policy.place.ports import common_free, port, send_earliest, send_evenly


def pool(seed: int, requesters: int, hosts: int, jobs: int = 300, computing: bool = True) -> Instance:
    """[002] 5.2: 200 Mb mean, five accelerators a host, 1 s of computation per Gb, +-20 % on everything."""
    random = np.random.default_rng(seed)
    size = random.exponential(200e6, jobs)
    time_s = size[:, None] * 1e-9 * random.uniform(0.8, 1.2, (jobs, hosts * 5)) * computing
    return Instance(
        time_s,
        size,
        random.integers(0, requesters, jobs),
        1e9 * random.uniform(0.8, 1.2, requesters),
        5e9 * random.uniform(0.8, 1.2, hosts),
        np.repeat(np.arange(hosts), 5),
    )


FIGURE_1 = {
    "size_bits": [10e6, 1e6, 9e6],
    "requester": [0, 0, 1],
    "egress_bps": [11e6, 9e6],
    "ingress_bps": [10e6, 10e6],
}
"""[002] figure 1: everything can be sent in one second."""


def test_figure_1_ends_in_one_second() -> None:
    it = instance_from(FIGURE_1)
    for method in ("default", "network"):
        answer = METHODS[method](it)
        assert answer.lower_bound_s == pytest.approx(1.0)
        assert not problems_of(it, as_document(answer))
    assert METHODS["default"](it).makespan_s == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["default", "network", "sjf", "ljf"])
@pytest.mark.parametrize(("requesters", "hosts"), [(60, 3), (60, 9), (9, 9)])
def test_sending_alone(method: str, requesters: int, hosts: int) -> None:
    it = pool(1, requesters, hosts, computing=False)
    answer = METHODS[method](it)
    assert not problems_of(it, as_document(answer))
    assert answer.lower_bound_s == pytest.approx(bounds.network(it))
    if method == "network":
        assert answer.makespan_s <= 2 * answer.lower_bound_s
    if method == "default":
        assert answer.makespan_s <= 1.01 * answer.lower_bound_s


@pytest.mark.parametrize(("requesters", "hosts"), [(60, 9), (9, 9), (300, 9)])
def test_default_is_near_the_tail_bound_and_ahead_of_the_baselines(requesters: int, hosts: int) -> None:
    it = pool(2, requesters, hosts)
    default = METHODS["default"](it)
    assert not problems_of(it, as_document(default))
    assert default.makespan_s <= 1.05 * joint_bound(it)
    for order in ("sjf", "ljf"):
        other = METHODS[order](it)
        assert not problems_of(it, as_document(other))
        assert default.makespan_s <= other.makespan_s


def test_algorithm_4_sends_in_time() -> None:
    it = pool(3, 60, 9)
    answer = METHODS["joint"](it)
    assert not problems_of(it, as_document(answer))
    assert answer.makespan_s < place_sjf_ljf(it, "sjf").makespan_s


def test_busy_accelerators_are_waited_for() -> None:
    idle = pool(4, 20, 4, jobs=100)
    it = Instance(
        idle.time_s, idle.size_bits, idle.requester, idle.egress_bps, idle.ingress_bps, idle.host_of, np.full(20, 2.5)
    )
    for method in ("default", "joint", "sjf", "ljf"):
        answer = METHODS[method](it)
        assert not problems_of(it, as_document(answer))
        assert answer.start_s.min() >= 2.5 - 1e-9


def test_bounds_hold_for_every_method_on_small_pools() -> None:
    for seed in range(20):
        it = pool(seed, 3, 2, jobs=6)
        bound = joint_bound(it)
        for method in ("default", "joint", "sjf", "ljf"):
            answer = METHODS[method](it)
            assert not problems_of(it, as_document(answer))
            assert answer.makespan_s >= bound * (1 - 1e-9)


def test_the_tail_bound_by_hand() -> None:
    # One requester sends 1 and 3 Mb at 1 Mb/s; they compute 2 s and 1 s. All sent at 4 s, and at least 1 s more.
    it = instance_from(
        {
            "time_s": [[2.0], [1.0]],
            "size_bits": [1e6, 3e6],
            "requester": [0, 0],
            "egress_bps": [1e6],
            "ingress_bps": [5e6],
        }
    )
    assert bounds.tails(it) == pytest.approx(5.0)
    assert METHODS["default"](it).makespan_s == pytest.approx(5.0)


def test_a_method_without_its_arrays_is_refused() -> None:
    it = Instance(np.ones((2, 2)))
    for method in ("network", "joint"):
        with pytest.raises(InvalidRequest):
            METHODS[method](it)


def test_water_filling_uses_what_is_free() -> None:
    one, other = port(10.0), port(8.0)
    one.take(1.0, 2.0, 9.0)
    assert list(common_free(one, other, 0.5))[:2] == [(0.5, 1.0, 8.0), (1.0, 2.0, 1.0)]
    done, used = send_earliest(one, other, 13.0, 0.0)
    assert done == pytest.approx(2.5)
    assert sum((end - begin) * bps for begin, end, bps in used) == pytest.approx(13.0)
    assert send_evenly(one, other, 9.1, 2.0) is None
    spread = send_evenly(one, other, 4.5, 2.0)
    assert spread == [(0.0, 1.0, 4.0), (1.0, 2.0, 0.5)]


def test_the_referee_sees_an_overrun_and_missing_bits() -> None:
    it = instance_from(FIGURE_1)
    answer = as_document(METHODS["network"](it))
    assert any("bits are sent" in text for text in problems_of(it, {**answer, "rates": answer["rates"][1:]}))
    faster = [{**rate, "bps": rate["bps"] * 2, "to_s": rate["to_s"] / 2} for rate in answer["rates"]]
    assert any("above its rate" in text for text in problems_of(it, {**answer, "rates": faster}))


@pytest.mark.parametrize(
    ("seconds_a_bit", "ingress_bps"), [(None, 1e9), (3e-9, 2e8)], ids=["computation decides", "one job decides"]
)
def test_where_neither_port_nor_place_is_alike_the_bound_is_met(
    seconds_a_bit: float | None, ingress_bps: float
) -> None:
    """Times that sizes say nothing of; and one long job, sent through a narrow port before it computes."""
    random = np.random.default_rng(0)
    jobs, hosts = 200, 60
    size = random.exponential(1e8, jobs)
    mean = random.exponential(1, jobs) if seconds_a_bit is None else size * seconds_a_bit
    it = Instance(
        mean[:, None] * random.uniform(0.8, 1.2, (jobs, hosts)),
        size,
        random.integers(0, 40, jobs),
        np.full(40, 1e9),
        np.full(hosts, ingress_bps),
    )
    answer = METHODS["default"](it)
    assert not problems_of(it, as_document(answer))
    assert answer.makespan_s < 1.02 * answer.lower_bound_s


def test_one_job_alone_bounds_the_make_span() -> None:
    """Two seconds through the narrower port and three of computation, or one and five: five at the least."""
    it = Instance(np.array([[3.0, 5.0]]), np.array([2e9]), np.zeros(1, np.int64), np.array([4e9]), np.array([1e9, 2e9]))
    assert bounds.alone(it) == pytest.approx(5.0)
    assert METHODS["default"](it).makespan_s == pytest.approx(5.0)
