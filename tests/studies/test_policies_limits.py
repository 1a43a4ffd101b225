# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The bound no schedule goes below, and the schedule of who knows everything."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from eddy_studies.judge.demand import EventDemand, needs
from eddy_studies.judge.limits import clairvoyant, lower_bound, true_latencies
from eddy_studies.judge.sequences import ARRIVALS, drawn, workload
from eddy_studies.judge.trial import CONTENDERS
from eddy_studies.nimblock.policies import make_player
from eddy_studies.nimblock.run import responses_s, run
from eddy_studies.nimblock.workload import Arrival


def best_in_order(jobs: list[EventDemand], weights: list[float], slots: int) -> float:
    """The least sum on one machine without preemption, by every order; no bound may be above it where paths are 0."""
    sums = []
    for order in itertools.permutations(range(len(jobs))):
        now_s, total = 0.0, 0.0
        for job in order:
            now_s = max(now_s, jobs[job].arrival_s) + jobs[job].work_s / slots
            total += weights[job] * (now_s - jobs[job].arrival_s)
        sums.append(total)
    return min(sums)


def test_bounds_by_hand() -> None:
    one = EventDemand(0.0, 20.0, 0.0)
    assert lower_bound([one], [1.0], 10) == pytest.approx(2.0)
    assert lower_bound([EventDemand(0.0, 20.0, 5.0)], [1.0], 10) == pytest.approx(5.0), "its path is longer"
    assert lower_bound([one, EventDemand(0.0, 10.0, 0.0)], [1.0, 1.0], 10) == pytest.approx(1.0 + 3.0)
    late = EventDemand(1.0, 5.0, 0.0)
    assert lower_bound([one, late], [1.0, 1.0], 10) == pytest.approx(2.5 + 0.5), "preempted by the shorter one"
    assert lower_bound([one, EventDemand(0.0, 10.0, 0.0)], [4.0, 1.0], 10) == pytest.approx(4 * 2.0 + 3.0)
    assert lower_bound([EventDemand(0.0, 20.0, 0.0, 3.0)], [1.0], 10) == pytest.approx(1.0 + 3.0), "it ends slowly"


def test_how_long_a_job_ends_after_the_mean_time_of_its_work() -> None:
    board = workload()
    first_s, second_s, third_s = board.apps["lenet"].measured_s
    (need,) = needs(board, [Arrival("lenet", 7, 1, 0.0)])
    ends_s = (3.5 * first_s + second_s + third_s, 3.5 * second_s + third_s, 3.5 * third_s)
    assert need.after_s == pytest.approx(np.average(ends_s, weights=(first_s, second_s, third_s)))


@pytest.mark.parametrize("seed", range(20))
def test_bounds_are_below_every_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs = [EventDemand(float(rng.uniform(0, 3)), float(rng.uniform(1, 30)), 0.0) for _ in range(5)]
    for weights in ([1.0] * 5, [float(weight) for weight in rng.uniform(0.1, 4, 5)]):
        assert lower_bound(jobs, weights, 4) <= best_in_order(jobs, weights, 4) + 1e-9


@pytest.mark.parametrize("arrivals", sorted(ARRIVALS))
def test_no_contender_is_below_the_bound(arrivals: str) -> None:
    events, board = drawn(arrivals, 3), workload()
    asked = needs(board, events)
    for name in ("exclusive", "eddy", "published Nimblock (reload, overlap)"):
        contender = CONTENDERS[name]
        response_s = responses_s(
            run(board, events, make_player(contender.policy, contender.variant), contender.setting), events
        )
        assert all(found >= need.path_s for found, need in zip(response_s, asked, strict=True))
        for weights in ([1.0] * len(events), [1.0 + place % 3 for place in range(len(events))]):
            assert lower_bound(asked, weights, 10) <= np.dot(response_s, weights)


def test_who_knows_everything_is_no_worse_for_trying() -> None:
    board = workload()
    events = [Arrival("lenet", 9, 1, 0.0), Arrival("rendering_3d", 15, 9, 0.1), Arrival("alexnet", 1, 1, 0.2)]
    weights = np.ones(len(events))
    assert clairvoyant(board, events, weights, 6) @ weights <= clairvoyant(board, events, weights, 0) @ weights
    for name, app in board.apps.items():
        modules = [(task.module, task.estimate_s) for task in app.application.tasks]
        assert true_latencies(board).predict(name, modules) == pytest.approx(app.measured_s)
