# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Batches at the edge of what makes sense: one job, one host, zeros, ties, places that cannot run, huge spreads."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from eddy.model.placement.instance import Floats, Instance, Ints, as_document
from eddy.model.placement.verify import problems_of
from eddy.policy.place import METHODS

TIMES = ("plain", "equal", "spread", "related", "unable", "whole", "some zero", "rows of zero")
SENDING = ("nothing", "plain", "some zero", "equal", "spread", "all zero")


def times(random: np.random.Generator, style: str, jobs: int, accelerators: int) -> Floats:
    shape = (jobs, accelerators)
    if style == "equal":
        return np.full(shape, 0.7)
    if style == "spread":
        return np.asarray(10.0 ** random.uniform(-6, 6, shape))
    if style == "related":
        return np.asarray(random.exponential(1, (jobs, 1)) * 2.0 ** random.integers(0, 5, (1, accelerators)))
    if style == "whole":
        return random.integers(1, 6, shape).astype(float)
    table = random.uniform(0.1, 1, shape)
    if style == "unable":
        unable = random.random(shape) < 0.4
        unable[np.arange(jobs), random.integers(0, accelerators, jobs)] = False
        table[unable] = np.inf
    elif style == "some zero":
        table[random.random(shape) < 0.3] = 0
    elif style == "rows of zero":
        table[random.random(jobs) < 0.4] = 0
    return table


def sizes(random: np.random.Generator, style: str, jobs: int) -> Floats:
    bits = random.exponential(3e8, jobs)
    if style == "some zero":
        bits[random.random(jobs) < 0.4] = 0
    elif style == "equal":
        bits[:] = 1e8
    elif style == "spread":
        bits = 10.0 ** random.uniform(0, 12, jobs)
    elif style == "all zero":
        bits[:] = 0
    return bits


def edge(seed: int) -> Instance:
    random = np.random.default_rng(seed)
    jobs, accelerators = int(random.choice([1, 2, 3, 5, 8, 13])), int(random.choice([1, 2, 3, 7, 20]))
    table = times(random, TIMES[seed % len(TIMES)], jobs, accelerators)
    if random.random() < 0.3:
        table = table.astype(np.float32)
    ready = random.uniform(0, 1, accelerators) * (random.random() < 0.2)
    style = SENDING[seed // len(TIMES) % len(SENDING)]
    if style == "nothing":
        return Instance(table, ready_s=ready)
    if random.random() < 0.2:
        table = np.zeros_like(table)
    requesters = int(random.integers(1, 4))
    hosts = accelerators if random.random() < 0.8 else int(random.integers(1, accelerators + 1))
    return Instance(
        table,
        sizes(random, style, jobs),
        random.integers(0, requesters, jobs),
        10.0 ** random.uniform(8, 10, requesters),
        10.0 ** random.uniform(8, 10, hosts),
        random.integers(0, hosts, accelerators) if hosts < accelerators else np.arange(accelerators),
        ready,
    )


@pytest.mark.parametrize("seed", range(2 * len(TIMES) * len(SENDING)))
def test_every_method_answers_and_the_default_is_never_worse(seed: int) -> None:
    """All answers are feasible, with starts and by the four keys alone; no bound is above any makespan."""
    it = edge(seed)
    default = METHODS["default"](it)
    for name, method in METHODS.items():
        if name in ("network", "joint") and it.size_bits is None:
            continue
        seen = {"computation": it.without_network(), "network": it.without_computation()}.get(name, it)
        answer = method(it)
        document = as_document(answer)
        assert not problems_of(seen, document), name
        del document["start_s"]
        assert not problems_of(seen, document), name
        assert answer.lower_bound_s <= answer.makespan_s
        if seen is it or it.size_bits is None:
            assert default.makespan_s <= answer.makespan_s * (1 + 1e-5), name
            assert default.lower_bound_s <= answer.makespan_s * (1 + 1e-6), name


def everywhere(jobs: int, hosts: int) -> list[Ints]:
    return [np.array(host) for host in product(range(hosts), repeat=jobs)]


def test_the_default_is_within_one_percent_and_the_published_method_within_twice_the_optimum() -> None:
    over = []
    for seed in range(96):
        random = np.random.default_rng(seed)
        jobs, hosts = int(random.integers(1, 7)), int(random.integers(1, 4))
        table = times(random, TIMES[seed % len(TIMES)], jobs, hosts)
        every = [
            np.bincount(h, weights=table[np.arange(jobs), h], minlength=hosts).max() for h in everywhere(jobs, hosts)
        ]
        best = float(min(every))
        published, default = METHODS["computation"](Instance(table)), METHODS["default"](Instance(table))
        assert best * (1 - 1e-9) <= published.makespan_s <= 2 * best * (1 + 1e-9)
        assert default.lower_bound_s * (1 - 1e-9) <= best
        over.append(default.makespan_s / best - 1 if best else default.makespan_s)
    assert min(over) >= -1e-9
    assert np.mean(over) < 0.01


def test_one_port_and_one_accelerator_are_a_flow_shop() -> None:
    """Johnson's rule is optimal there; what computes for no time is sent last."""
    time_s = np.array([[0.0], [0.3], [0.0], [0.4], [0.5]])
    size = np.array([8e7, 1e3, 4.0, 2e5, 2e8])
    it = Instance(time_s, size, np.array([1, 1, 0, 0, 1]), np.array([1e9, 1e9]), np.array([2e8]))
    assert METHODS["default"](it).makespan_s == pytest.approx(1.501, rel=1e-3)
