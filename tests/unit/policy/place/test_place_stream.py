# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Placement of many jobs: the table is read a few times, and the answer is still close to a bound that holds."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.core.errors import InvalidRequest
from eddy.model.placement.instance import Floats, Instance, as_document
from eddy.model.placement.verify import problems_of
from eddy.policy.place import METHODS, streaming_prices
from eddy.policy.place.price_and_pack import balanced
from eddy.policy.place.relaxation import relax


def table(kind: str, jobs: int = 20_000, hosts: int = 60) -> Floats:
    """Exponential sizes; `alike` +-20 %, `classes` speeds from 1 to 16, `kinds` a factor per kind of job and class,
    `same` the same with accelerators of a class all alike."""
    random = np.random.default_rng(7)
    size = random.exponential(0.2, (jobs, 1))
    deviation = random.uniform(0.8, 1.2, (jobs, hosts))
    factor = 2.0 ** random.uniform(0, 4, (5, 4))
    per_class = factor[random.integers(0, 5, jobs)][:, random.integers(0, 4, hosts)]
    times = {
        "alike": size * deviation,
        "classes": size * deviation / 2.0 ** random.integers(0, 5, hosts),
        "kinds": size * deviation * per_class,
        "same": size * per_class,
    }
    chosen: Floats = times[kind].astype(np.float32)
    return chosen


@pytest.mark.parametrize(("kind", "within"), [("alike", 0.005), ("classes", 0.02), ("kinds", 0.03), ("same", 0.03)])
def test_many_jobs_end_near_the_bound(kind: str, within: float) -> None:
    it = Instance(table(kind))
    assert streaming_prices.is_large(it.time_s)
    answer = METHODS["default"](it)
    assert not problems_of(it, as_document(answer))
    assert answer.lower_bound_s <= answer.makespan_s <= answer.lower_bound_s * (1 + within)


def test_the_bound_is_below_the_linear_program() -> None:
    time_s = table("kinds", jobs=3000, hosts=20)
    _, bound = streaming_prices.balance(time_s, np.zeros(20))
    assert 0.98 <= bound / relax(time_s.astype(np.float64), np.zeros(20)).value_s <= 1 + 1e-6


def test_busy_accelerators_get_less() -> None:
    ready = np.linspace(0, 30, 60)
    it = Instance(table("alike"), ready_s=ready)
    answer = balanced(it)
    assert not problems_of(it, as_document(answer))
    assert answer.makespan_s <= answer.lower_bound_s * 1.01


def test_the_same_table_gets_the_same_answer() -> None:
    time_s = table("classes")
    first, second = (streaming_prices.balance(time_s, np.zeros(60)) for _ in range(2))
    assert first[1] == second[1]
    assert (first[0] == second[0]).all()


def test_a_job_without_a_host_is_named() -> None:
    time_s = table("alike")
    time_s[1234] = np.inf
    with pytest.raises(InvalidRequest, match="1234"):
        Instance(time_s)
