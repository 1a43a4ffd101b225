# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy reproduce estimates`: what is drawn, what is judged, and what is left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eddy.hypervisor.forecast.estimator import Estimator
from eddy.model.estimates.calibration import Calibration
from eddy_studies.estimates.figures import quality, reliability
from eddy_studies.estimates.mixes import Mix, mixes
from eddy_studies.estimates.replay import CURVE, Outcome, replay
from eddy_studies.estimates.run import headlines, report
from eddy_studies.nimblock.workload import Arrival

UNIT_S = 0.1


def told(actual_s: float, p50_s: float, p90_s: float, policy: str = "fcfs") -> Outcome:
    curve = tuple(p90_s * level for level in CURVE)
    return Outcome("mix", policy, actual_s, 2 * actual_s, p50_s, p90_s, 2 * p50_s, 2 * p90_s, curve, curve)


def test_mixes_follow_from_the_seed() -> None:
    assert mixes(3, 8) == mixes(3, 8)
    assert mixes(3, 8) != mixes(4, 8)
    drawn = mixes(5, 60)
    assert {mix.name for mix in drawn} >= {"recorded", "mix", "bursts"}
    assert len({mix.policy for mix in drawn}) == 6
    assert all(len(mix.events) >= 15 for mix in drawn)


def test_noise_is_the_items_own() -> None:
    mix = Mix("mix", "fcfs", (), 0.3, 7)
    takes_s = mix.noisy({"x": 2.0})
    assert takes_s("x", "1.0.0") == takes_s("x", "1.0.0") != takes_s("x", "1.0.1")
    mean_s = sum(takes_s("x", f"1.0.{item}") for item in range(400)) / 400
    assert mean_s == pytest.approx(2.0, rel=0.06)
    assert Mix("mix", "fcfs", (), 0.0, 7).noisy({"x": 2.0})("x", "1.0.0") == 2.0


def test_quality_is_judged_beside_the_best_constants() -> None:
    outcomes = [told(float(n), float(n), n + 1.0) for n in range(1, 11)]
    found = quality(outcomes, "start", UNIT_S)
    assert found.held == {0.5: 1.0, 0.9: 1.0}
    assert found.pinball_s == pytest.approx(0.1)
    # Constants 5 and 9: absolute deviations from 5 halved, and the loss of 9 at 0.9.
    assert found.constant_s == pytest.approx((0.5 * 25 + 0.1 * 36 + 0.9 * 1) / 10)
    assert found.gain == pytest.approx(1 - 0.1 / 1.7)
    ends = quality([told(1.0, 0.5, 0.6)] * 4, "end", UNIT_S)
    assert ends.held == {0.5: 0.0, 0.9: 0.0}


def test_reliability_is_how_often_each_level_held() -> None:
    points = dict(reliability([told(0.5, 0, 1.0)] * 4, "start", UNIT_S))
    assert points[0.5] == 1.0
    assert points[0.4] == 0.0


def test_jobs_are_told_before_anything_is_decided_and_judged_after(tmp_path: Path) -> None:
    events = tuple(Arrival("lenet", 1 + n % 2, (1, 3, 9)[n % 3], 0.02 * n) for n in range(8))
    outcomes = replay([Mix("mix", "fcfs", events, 0.1, 1)] * 2, Estimator(Calibration(UNIT_S)))
    assert len(outcomes) == 16
    assert any(outcome.start_s > 0 for outcome in outcomes)
    for outcome in outcomes:
        assert 0.0 <= outcome.start_p50_s <= outcome.start_p90_s
        assert outcome.end_p50_s <= outcome.end_p90_s
        assert outcome.end_s > outcome.start_s >= 0.0
    rows = report(tmp_path, outcomes, UNIT_S)
    assert {path.name for path in tmp_path.iterdir()} == {"headlines.json", "jobs.csv", "reliability.png"}
    found = headlines(tmp_path)
    assert found["jobs"] == 16
    assert json.dumps(found["start"]).count("before_p90") == 1
    assert any(row.what == "starts before p90" for row in rows)
