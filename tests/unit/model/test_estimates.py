# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Quantiles of starts and ends: calibration, durations, and the estimator that learns from what happens."""

from __future__ import annotations

import json
import math
import random

import pytest
from eddy.core.slots import Pool
from eddy.hypervisor.forecast.estimator import Estimator
from eddy.hypervisor.forecast.queue import picture_queue
from eddy.model.estimates.calibration import LEVELS, Calibration, Circumstances, is_within
from eddy.model.estimates.durations import UNSEEN, Durations
from eddy.model.estimates.quantiles import pinball, weighted_quantile
from eddy.model.latency.learned import Item
from eddy.policy.dispatch.views.view import Configure
from machine_kit import ONE, Bench

UNIT_S = 0.1


def circumstances(wait_s: float = 1.0, policy: str = "fcfs", priority: int = 1) -> Circumstances:
    return Circumstances.of("start", policy, priority, wait_s, UNIT_S, 5, 2, True)


def feed(calibration: Calibration, rng: random.Random, count: int, bias: float, sigma: float) -> float:
    """Let forecasts come true off by a factor; answers how often p90 held."""
    held = 0
    for _ in range(count):
        expected_s = rng.choice((0.5, 5.0, 50.0))
        here = circumstances(expected_s)
        told = {level: calibration.quantile_s(here, expected_s, level) for level in LEVELS}
        actual_s = expected_s * math.exp(rng.gauss(bias, sigma))
        held += is_within(actual_s, told[0.9], UNIT_S)
        calibration.learn(here, expected_s, actual_s, told)
    return held / count


def test_pinball_is_least_for_the_quantile() -> None:
    rng = random.Random(1)
    values = sorted(rng.expovariate(1.0) for _ in range(300))
    best = weighted_quantile(values, [1.0] * 300, 0.9)
    losses = {value: sum(pinball(each, value, 0.9) for each in values) for value in values}
    assert losses[best] == pytest.approx(min(losses.values()))
    assert pinball(3.0, 1.0, 0.9) == pytest.approx(1.8)
    assert pinball(1.0, 3.0, 0.9) == pytest.approx(0.2)


def test_weights_count() -> None:
    assert weighted_quantile([1.0, 2.0, 3.0], [1.0, 1.0, 8.0], 0.2) == 2.0
    assert weighted_quantile([1.0, 2.0, 3.0], [1.0, 1.0, 8.0], 0.5) == 3.0
    assert weighted_quantile([1.0, 2.0], [1.0, 1.0], 2.0) == 2.0


def test_what_short_waits_are_wrong_by_is_not_multiplied_onto_long_ones() -> None:
    calibration, rng = Calibration(UNIT_S), random.Random(3)
    for _ in range(200):
        expected_s, late_s = rng.uniform(0.0, 0.2), rng.choice((0.0, 0.0, 4.0))
        calibration.learn(circumstances(expected_s), expected_s, expected_s + late_s, {})
    short = calibration.quantile_s(circumstances(0.1), 0.1, 0.9)
    assert short == pytest.approx(4.1, rel=0.2)
    # Of the same length by the square root of 1,000: 4 s * 32, where the ratio would say 2,000 s.
    assert 101.0 < calibration.quantile_s(circumstances(100.0), 100.0, 0.9) < 300.0
    # And what long waits are wrong by is what short ones are, in parts.
    calibration = Calibration(UNIT_S)
    for _ in range(50):
        calibration.learn(circumstances(100.0), 100.0, 150.0, {})
    assert calibration.quantile_s(circumstances(1.0), 1.0, 0.9) == pytest.approx(1.1 * 150.1 / 100.1 - UNIT_S)


@pytest.mark.parametrize(("bias", "sigma"), [(0.0, 0.3), (1.0, 0.8), (-1.5, 0.1)])
def test_nine_in_ten_stay_below_whatever_forecasts_are_wrong_by(bias: float, sigma: float) -> None:
    calibration, rng = Calibration(UNIT_S), random.Random(5)
    feed(calibration, rng, 100, bias, sigma)
    assert feed(calibration, rng, 500, bias, sigma) == pytest.approx(0.9, abs=0.04)


def test_what_was_long_ago_is_forgotten() -> None:
    calibration, rng = Calibration(UNIT_S), random.Random(6)
    feed(calibration, rng, 200, 2.0, 0.2)
    assert feed(calibration, rng, 100, 0.0, 0.2) > 0.95, "what was seen still counts"
    feed(calibration, rng, 500, 0.0, 0.2)
    assert feed(calibration, rng, 200, 0.0, 0.2) == pytest.approx(0.9, abs=0.05)
    for _ in range(1000):
        calibration.learn(circumstances(), 1.0, 1.0, {})
    assert calibration.quantile_s(circumstances(), 1.0, 0.9) == pytest.approx(1.0)


def test_other_policies_count_for_little_and_other_questions_for_nothing() -> None:
    calibration = Calibration(UNIT_S)
    for _ in range(50):
        calibration.learn(circumstances(policy="prema"), 1.0, 3.0, {})
    assert calibration.quantile_s(circumstances(policy="prema"), 1.0, 0.5) == pytest.approx(3.0)
    assert calibration.quantile_s(circumstances(), 1.0, 0.5) == pytest.approx(3.0)
    calibration.learn(circumstances(), 1.0, 1.0, {})
    calibration.learn(circumstances(), 1.0, 1.0, {})
    assert calibration.quantile_s(circumstances(), 1.0, 0.5) == pytest.approx(1.0)
    end = Circumstances.of("end", "prema", 1, 1.0, UNIT_S, 5, 2, True)
    assert calibration.quantile_s(end, 1.0, 0.5) == 1.0


def test_nothing_learned_is_the_forecast_and_twice_it() -> None:
    calibration = Calibration(UNIT_S)
    assert calibration.quantile_s(circumstances(), 1.0, 0.5) == pytest.approx(1.0)
    assert calibration.quantile_s(circumstances(), 1.0, 0.9) == pytest.approx(2.1)


def test_is_kept_as_json() -> None:
    calibration, rng = Calibration(UNIT_S), random.Random(7)
    feed(calibration, rng, 60, 0.5, 0.5)
    again = Calibration.restore(UNIT_S, json.loads(json.dumps(calibration.to_json())))
    assert again.seen == 60
    for level in LEVELS:
        assert again.quantile_s(circumstances(), 1.0, level) == pytest.approx(
            calibration.quantile_s(circumstances(), 1.0, level), rel=1e-4
        )


def test_durations_have_a_spread() -> None:
    rng = random.Random(3)
    steady = [Item("steady", 0, "x", 1.0, 2.0) for _ in range(40)]
    shaky = [Item("shaky", 0, "y", 1.0, rng.choice((1.0, 3.0))) for _ in range(40)]
    known = Durations().observe(steady).observe(shaky)
    assert known.predict("steady", [("x", 1.0)]) == pytest.approx((2.0,))
    assert known.spread("steady", 1) == 0.0
    assert known.spread("shaky", 1) == pytest.approx(0.5, abs=0.15)
    assert known.spread("never", 2) == UNSEEN
    again = Durations.restore(json.loads(json.dumps(known.to_json())))
    assert again.predict("steady", [("x", 1.0)]) == pytest.approx((2.0,))
    assert again.spread("shaky", 1) == pytest.approx(known.spread("shaky", 1))


def watched(bench: Bench, estimator: Estimator) -> None:
    queue = picture_queue(bench.machine, Pool.PIPELINE, bench.now_s)
    estimator.watch(queue, estimator.forecast(queue))


def test_learns_from_jobs_that_start_and_end() -> None:
    bench, estimator = Bench(), Estimator(Calibration(UNIT_S))
    bench.arrive(1, ONE)
    watched(bench, estimator)
    assert estimator.calibration.seen == 0
    log = bench.step(decide=[Configure(1, 0, 0)]).log
    estimator.observe_step(log, bench.machine)
    assert estimator.calibration.seen == 1
    watched(bench, estimator)
    for outcome in (bench.step(), bench.load_ends(0), bench.step(), bench.done(0)):
        estimator.observe_step(outcome.log, bench.machine)
    assert estimator.calibration.seen == 3
    assert estimator.durations.spreads.keys() == {("one", 0)}
    assert estimator.pending == 0


def test_what_was_cancelled_teaches_nothing_of_ends() -> None:
    from eddy.hypervisor.jobs.messages import Cancel

    bench, estimator = Bench(), Estimator(Calibration(UNIT_S))
    bench.arrive(1, ONE)
    watched(bench, estimator)
    estimator.observe_step(bench.step(Cancel(1)).log, bench.machine)
    assert estimator.calibration.seen == 0
    assert not estimator.pending


def test_what_others_have_waiting_changes_no_place_that_a_tenant_is_told() -> None:
    def own(others: int) -> list[int | None]:
        """Places of the three jobs of a tenant, with others' jobs between and before them."""
        bench, estimator, mine = Bench(), Estimator(Calibration(UNIT_S)), []
        for number in range(1, 3 * (others + 1) + 1):
            whose = "u" if number % (others + 1) else "mine"
            bench.arrive(number, ONE, tenant=whose)
            mine += [number] if whose == "mine" else []
        queue = picture_queue(bench.machine, Pool.PIPELINE, bench.now_s)
        found = estimator.estimates(queue, estimator.forecast(queue))
        assert max(each.position or 0 for each in found.values()) == len(found) == 3 * (others + 1)
        return [found[number].own_position for number in mine]

    assert own(0) == own(1) == own(7) == [1, 2, 3]


def test_tells_a_place_a_start_and_an_end() -> None:
    bench, estimator = Bench(), Estimator(Calibration(UNIT_S))
    for number in (1, 2, 3):
        bench.arrive(number, ONE)
    queue = picture_queue(bench.machine, Pool.PIPELINE, bench.now_s)
    found = estimator.estimates(queue, estimator.forecast(queue))
    assert sorted(each.position for each in found.values() if each.position) == [1, 2, 3]
    for each in found.values():
        assert each.start is not None
        assert bench.now_s <= each.start.p50_s <= each.start.p90_s
        assert each.start.p50_s <= each.end.p50_s <= each.end.p90_s
