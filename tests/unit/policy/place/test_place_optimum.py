# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Small batches against the optimum, found by trying everything; and what holds of every batch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from eddy.model.highs import make_solver
from eddy.model.placement.instance import Floats, Instance, Ints, as_document
from eddy.model.placement.verify import problems_of
from eddy.policy.place import METHODS
from eddy.policy.place.network import relax_related
from eddy.policy.place.relaxation import relax
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def small(seed: int, jobs: int = 4, requesters: int = 2, hosts: int = 2) -> Instance:
    random = np.random.default_rng(seed)
    size = random.exponential(200e6, jobs)
    time_s = size[:, None] * 1e-9 * random.uniform(0.5, 1.5, (jobs, hosts))
    egress, ingress = 1e9 * random.uniform(0.6, 1.4, requesters), 1e9 * random.uniform(0.6, 1.4, hosts)
    return Instance(time_s, size, random.integers(0, requesters, jobs), egress, ingress)


def everywhere(it: Instance) -> Iterator[Ints]:
    for host in itertools.product(range(it.accelerators), repeat=it.jobs):
        yield np.array(host)


def sending_optimum(it: Instance) -> float:
    """By Theorem 2 of [002] constant rates are best, so that a placement's makespan is its busiest port's."""
    assert it.size_bits is not None
    assert it.requester is not None
    assert it.egress_bps is not None
    assert it.ingress_bps is not None
    out = (np.bincount(it.requester, weights=it.size_bits, minlength=len(it.egress_bps)) / it.egress_bps).max()
    into = (
        (np.bincount(host, weights=it.size_bits, minlength=it.accelerators) / it.ingress_bps).max()
        for host in everywhere(it)
    )
    return max(float(out), float(min(into)))


def joint_optimum(it: Instance) -> float:
    """Every placement with every order of starts; for one of each, sending in time is a linear program."""
    best = np.inf
    for host in everywhere(it):
        for order in itertools.permutations(range(it.jobs)):
            best = min(best, makespan_of_order(it, host, order, best))
    return float(best)


def makespan_of_order(it: Instance, host: Ints, order: tuple[int, ...], known: float) -> float:
    """The least makespan where computations start in the order given.

    Variables: the starts, the makespan, and the bits of each job sent between one start and the next.
    """
    assert it.size_bits is not None
    assert it.requester is not None
    assert it.egress_bps is not None
    assert it.ingress_bps is not None
    n = it.jobs
    own = it.time_s[np.arange(n), host]
    if max(own[host == j].sum() for j in set(host.tolist())) >= known:
        return float(np.inf)  # computation alone is no better
    solver = make_solver()
    start = [solver.addVariable(lb=0.0) for _ in range(n)]
    end = solver.addVariable(lb=0.0)
    sent = {(i, m): solver.addVariable(lb=0.0) for k, i in enumerate(order) for m in range(k + 1)}
    length = [start[order[m]] - (start[order[m - 1]] if m else 0.0) for m in range(n)]
    for k, i in enumerate(order):
        solver.addConstr(start[i] + float(own[i]) <= end)
        if k:
            solver.addConstr(start[i] >= start[order[k - 1]])
        earlier = [p for p in order[:k] if host[p] == host[i]]
        if earlier:
            solver.addConstr(start[i] >= start[earlier[-1]] + float(own[earlier[-1]]))
        solver.addConstr(sum(sent[i, m] for m in range(k + 1)) == float(it.size_bits[i] / 1e9))
    ports = [(it.requester, u, float(it.egress_bps[u] / 1e9)) for u in range(len(it.egress_bps))]
    ports += [(host, h, float(it.ingress_bps[h] / 1e9)) for h in range(it.accelerators)]
    for m in range(n):
        for column, port, rate in ports:
            through = [sent[i, m] for i in order[m:] if column[i] == port]
            if through:
                solver.addConstr(sum(through) <= rate * length[m])
    solver.minimize(end)
    return float(solver.val(end))


def computing_optimum(it: Instance) -> float:
    """The least makespan over every placement, where only computation counts."""
    best = np.inf
    for host in everywhere(it):
        own = it.time_s[np.arange(it.jobs), host]
        ends = [it.ready_s[j] + own[host == j].sum() for j in set(host.tolist())]
        best = min(best, max(ends))
    return float(best)


@pytest.mark.parametrize("kind", ["related", "unrelated", "whole numbers", "ready late", "some cannot run"])
def test_few_jobs_are_placed_as_well_as_can_be(kind: str) -> None:
    for seed in range(12):
        random = np.random.default_rng(seed)
        jobs, accelerators = int(random.integers(4, 8)), int(random.integers(2, 4))
        time_s = random.uniform(1, 10, (jobs, accelerators))
        ready_s = random.uniform(0, 25, accelerators) if kind == "ready late" else np.zeros(accelerators)
        if kind == "related":
            time_s = random.exponential(1, (jobs, 1)) * random.uniform(0.5, 1.5, (1, accelerators))
        elif kind == "whole numbers":
            time_s = random.integers(1, 10, (jobs, accelerators)).astype(float)
        elif kind == "some cannot run":
            time_s[random.random((jobs, accelerators)) < 0.3] = np.inf
            time_s[np.isinf(time_s).all(axis=1), 0] = 3.0
        it = Instance(time_s, ready_s=ready_s)
        answer = METHODS["default"](it)
        assert answer.makespan_s == pytest.approx(computing_optimum(it), rel=1e-7), (kind, seed)
        assert answer.lower_bound_s == pytest.approx(answer.makespan_s, rel=1e-7), (kind, seed)


def test_sending_alone_is_within_twice_the_optimum_and_one_percent() -> None:
    over = []
    for seed in range(40):
        it = small(seed, jobs=7, requesters=3, hosts=3).without_computation()
        best = sending_optimum(it)
        published, default = METHODS["network"](it), METHODS["default"](it)
        assert best * (1 - 1e-9) <= published.makespan_s <= 2 * best
        assert default.lower_bound_s <= best * (1 + 1e-9) <= default.makespan_s * (1 + 2e-9)
        over.append(default.makespan_s / best - 1)
    assert np.mean(over) < 0.01


def test_sending_and_computing_against_the_optimum() -> None:
    over = []
    for seed in range(6):
        it = small(seed)
        best = joint_optimum(it)
        default = METHODS["default"](it)
        assert default.lower_bound_s <= best * (1 + 1e-6) <= default.makespan_s * (1 + 2e-6)
        assert METHODS["joint"](it).makespan_s >= best * (1 - 1e-6)
        over.append(default.makespan_s / best - 1)
    assert np.mean(over) < 0.01


def test_where_sizes_and_times_have_nothing_to_do_with_each_other() -> None:
    """Sending and computing, sizes and times drawn apart: orders matter as in a flow shop."""
    over = []
    for seed in range(8):
        random = np.random.default_rng(seed)
        jobs, hosts, requesters = 3 + seed % 2, 1 + seed % 2, 1 + seed % 3
        it = Instance(
            random.exponential(0.2, (jobs, hosts)),
            random.exponential(2e8, jobs),
            random.integers(0, requesters, jobs),
            1e9 * random.uniform(0.5, 2, requesters),
            1e9 * random.uniform(0.5, 2, hosts),
        )
        best, default = joint_optimum(it), METHODS["default"](it)
        assert default.lower_bound_s <= best * (1 + 1e-6)
        over.append(default.makespan_s / best - 1)
    assert min(over) >= -1e-6
    assert np.mean(over) < 0.01


def times(jobs: int, hosts: int) -> st.SearchStrategy[Floats]:
    cell = st.floats(0.01, 10, allow_nan=False)
    row = st.lists(cell, min_size=hosts, max_size=hosts)
    return st.lists(row, min_size=jobs, max_size=jobs).map(lambda rows: np.array(rows))


@st.composite
def batches(draw: st.DrawFn) -> Instance:
    jobs, hosts, requesters = draw(st.integers(1, 12)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    time_s = draw(times(jobs, hosts))
    ready = np.array(draw(st.lists(st.floats(0, 5), min_size=hosts, max_size=hosts)))
    if draw(st.booleans()):
        return Instance(time_s, ready_s=ready)
    rate = st.floats(1e8, 1e10)
    bits = st.just(0.0) | st.floats(1e3, 1e10)
    size = np.array(draw(st.lists(bits, min_size=jobs, max_size=jobs)))
    requester = np.array(draw(st.lists(st.integers(0, requesters - 1), min_size=jobs, max_size=jobs)))
    egress = np.array(draw(st.lists(rate, min_size=requesters, max_size=requesters)))
    ingress = np.array(draw(st.lists(rate, min_size=hosts, max_size=hosts)))
    return Instance(time_s, size, requester, egress, ingress, ready_s=ready)


@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(batches())
def test_default_is_feasible_and_never_worse_than_sjf_or_ljf(it: Instance) -> None:
    answer = METHODS["default"](it)
    assert not problems_of(it, as_document(answer))
    assert answer.lower_bound_s <= answer.makespan_s
    for baseline in ("sjf", "ljf"):
        other = METHODS[baseline](it)
        assert not problems_of(it, as_document(other))
        assert answer.makespan_s <= other.makespan_s * (1 + 1e-9)
        assert answer.lower_bound_s <= other.makespan_s * (1 + 1e-9)


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(batches())
def test_the_published_methods_are_feasible_and_within_their_ratio(it: Instance) -> None:
    placed = METHODS["computation"](it)
    assert not problems_of(it.without_network(), as_document(placed))
    assert placed.makespan_s <= 2 * placed.lower_bound_s * (1 + 1e-3)
    if it.size_bits is not None:
        assert not problems_of(it, as_document(METHODS["joint"](it)))


@pytest.mark.parametrize("method", ["default", "computation", "sjf", "ljf"])
def test_extremes_of_scale_change_nothing(method: str) -> None:
    time_s = small(1, jobs=20, hosts=3).time_s
    answers = [METHODS[method](Instance(time_s * scale)) for scale in (1.0, 1e-9, 1e9)]
    ratios = [answer.makespan_s / answer.lower_bound_s for answer in answers]
    assert ratios == pytest.approx([ratios[0]] * 3, rel=1e-3)


@pytest.mark.parametrize("seed", range(8))
def test_filling_solves_the_relaxation_where_hosts_have_rates(seed: int) -> None:
    random = np.random.default_rng(seed)
    size, rate = random.exponential(1, 25), random.uniform(0.2, 2, 6)
    if seed % 2:
        size[0] = 20.0  # one job decides, and fits on the fastest host alone
    by_filling = relax_related(size, rate)
    by_program = relax(size[:, None] / rate[None, :], np.zeros(6))
    assert by_filling.value_s == pytest.approx(by_program.value_s, rel=2e-4)
    shares = np.bincount(by_filling.job, weights=by_filling.share, minlength=25)
    assert shares == pytest.approx(np.ones(25))
    loads = np.bincount(by_filling.accelerator, weights=by_filling.share * size[by_filling.job], minlength=6) / rate
    assert loads.max() <= by_filling.value_s * (1 + 1e-6)
    alone = size[by_filling.job] / rate[by_filling.accelerator]
    assert alone.max() <= by_filling.value_s * (1 + 1e-6)
