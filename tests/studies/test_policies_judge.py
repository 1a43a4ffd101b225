# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The trial of the `eddy` policy: its figures on cases done by hand, and one sequence for real."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.core.records import JobEventKind
from eddy.policy.dispatch import POLICIES
from eddy_studies.commands import simulate
from eddy_studies.judge import figures as f
from eddy_studies.judge.run import Goal, _sets
from eddy_studies.judge.sequences import ARRIVALS, DRAWS, EVENTS, FRESH, PUBLISHED, drawn, recorded, workload
from eddy_studies.judge.trial import CONTENDERS, MACHINES, RIVALS, Trial, run_trial, strongest
from eddy_studies.nimblock.policies import make_player
from eddy_studies.nimblock.run import run

PLAYED = (("nimblock", "thesis"), ("nimblock", "published"), ("eddy", "thesis"))

HAND = Trial(
    apps=np.array([["a", "b"], ["a", "b"]]),
    priority=np.array([[9, 1], [9, 9]]),
    single_s=np.array([[1.0, 2.0], [1.0, 2.0]]),
    path_s=np.array([[0.5, 2.0], [0.5, 1.0]]),
    response_s={
        "exclusive": np.array([[1.0, 4.0], [2.0, 8.0]]),
        "nimblock": np.array([[2.0, 4.0], [4.0, 4.0]]),
        "eddy": np.array([[1.0, 4.0], [2.0, 2.0]]),
    },
)


def test_figures_by_hand() -> None:
    assert f.mean_relative("nimblock")(HAND) == pytest.approx((2 + 1 + 2 + 0.5) / (1 + 1 + 1 + 0.25))
    assert f.median_relative("nimblock")(HAND) == pytest.approx(1.5)
    assert f.plain_mean("nimblock")(HAND) == pytest.approx(14 / 9)
    assert f.waiting_mean("nimblock")(HAND) == pytest.approx((14 - 4) / (9 - 4))
    assert f.path_share(HAND) == pytest.approx(4 / 9)
    assert f.high_mean("nimblock")(HAND) == pytest.approx(10 / 5)
    assert f.tail("nimblock", 100)(HAND) == pytest.approx(1.0)
    assert f.relative_tail("nimblock", 100)(HAND) == pytest.approx(0.5)
    assert f.deadline_point("eddy")(HAND) == 2.0
    assert f.deadline_point("nimblock")(HAND) == 4.0
    assert f.slowdowns(HAND, "eddy") == {"a": 1.5, "b": 1.5}
    assert f.worst_slowdown("nimblock")(HAND) == pytest.approx(3.0)


def test_intervals_hold_the_value_and_repeat() -> None:
    value = f.estimate(HAND, f.plain_mean("nimblock"))
    assert value.low <= value.value <= value.high
    assert value.low < value.high
    assert value == f.estimate(HAND, f.plain_mean("nimblock"))


def test_a_goal_says_whether_it_is_met() -> None:
    goal = Goal("x", f.plain_mean("nimblock"), {"stress": 1.5}, at_least=True)
    assert goal.note("stress", f.Value(1.5, 1.0, 2.0)) == "goal: at least 1.5, met"
    assert goal.note("stress", f.Value(1.49, 1.0, 2.0)) == "goal: at least 1.5, MISSED"
    assert goal.note("standard", f.Value(1.0, 1.0, 1.0)) == ""


@pytest.mark.parametrize("draw", sorted(DRAWS))
@pytest.mark.parametrize("arrivals", sorted(ARRIVALS))
def test_drawn_sequences_keep_to_their_kind(arrivals: str, draw: str) -> None:
    events = drawn(arrivals, 7, draw)
    assert events == drawn(arrivals, 7, draw)
    assert events != drawn(arrivals, 8, draw)
    assert len(events) == EVENTS
    low, high = ARRIVALS[arrivals]
    gaps_ms = np.diff([event.arrival_s for event in events]) * 1e3
    assert all(low - 1e-6 <= gap <= high + 1e-6 for gap in gaps_ms)


def test_the_published_draw_has_the_long_applications_once_and_the_uniform_one_as_often_as_others() -> None:
    published = [[event.app for event in drawn("stress", seed, PUBLISHED)] for seed in range(300)]
    assert {apps.count("alexnet") for apps in published} == {0, 1}
    assert {apps.count("digit_recognition") for apps in published} == {0, 1}
    assert all("digit_recognition" not in apps[apps.index("alexnet") :] for apps in published if "alexnet" in apps)
    # The first of the two to come is either alike often, at which a digit recognition leaves the AlexNet possible.
    assert 0.4 < np.mean(["digit_recognition" in apps for apps in published]) < 0.6
    uniform = [event.app for seed in range(300) for event in drawn("stress", seed)]
    assert all(0.9 < 6 * uniform.count(app) / len(uniform) < 1.1 for app in set(uniform))


def test_the_trial_is_held_on_both_draws_of_every_kind_of_arrivals() -> None:
    sets = {name: sequences for name, _, sequences in _sets(0, 2)}
    assert set(sets) == {"recorded"} | {f"{draw} draw, {arrivals}" for draw in DRAWS for arrivals in ARRIVALS}
    assert sets["published draw, stress"] == [drawn("stress", FRESH + i, PUBLISHED) for i in range(2)]
    assert sets["published draw, stress"] != sets["uniform draw, stress"]


def test_one_recorded_sequence_under_every_contender() -> None:
    trial = run_trial(workload(), [recorded()[1]])
    assert set(trial.response_s) == set(CONTENDERS)
    rival = strongest(trial)
    assert f.plain_mean(rival)(trial) > 1.1
    assert f.mean_relative(rival)(trial) > 1.0
    relative = {name: f.relative_mean(name)(trial) for name in RIVALS}
    assert relative[rival] == min(relative.values())


def test_every_machine_is_offered_to_every_policy() -> None:
    offered = {name: {c.setting for c in CONTENDERS.values() if (c.policy, c.variant) == name} for name in PLAYED}
    assert all(settings == set(MACHINES.values()) for settings in offered.values())


def test_reuse_is_the_machines_and_not_the_policys() -> None:
    for policy in ("nimblock", "eddy"):
        for setting in MACHINES.values():
            result = run(workload(), recorded()[1], make_player(policy, "published"), setting)
            reused = any(entry.what is JobEventKind.CONFIGURED and entry.detail == "resident" for entry in result.log)
            assert reused == setting.reuse, (policy, setting)


def test_every_policy_can_be_named_to_the_commands() -> None:
    assert sorted(simulate.POLICY_NAMES) == sorted(POLICIES)
