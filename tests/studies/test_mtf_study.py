# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The rounds of [003] 5.2: arrivals, queues, deadlines, training, and what the study makes of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from eddy.core.errors import InvalidRequest
from eddy.policy.price.gandiva import GandivaFair
from eddy.policy.price.learned import FEATURES, actor_from, median, state, trained_actor
from eddy.policy.price.thresholds import LEVELS
from eddy_studies.mtf import envy, fairness, figures, hedge, train, training, workload
from eddy_studies.mtf.network import NeuralNetwork
from eddy_studies.mtf.queues import WAVES, LaneQueues
from eddy_studies.mtf.results import STRIDE_SHARE, Runs, estimate
from eddy_studies.mtf.simulate import simulate, simulate_share, traffic
from eddy_studies.mtf.workload import EQUAL, QUARTERS_4, Experiment
from eddy_studies.policies import ROUNDS
from eddy_studies.policies.hedge import budget_state, hedge_from, trained_hedge
from eddy_studies.policies.max_weight import MaxWeight
from hypothesis import given, settings
from hypothesis import strategies as st

SMALL = Experiment(QUARTERS_4, agents=8, accelerators=8, rounds=30)


def one_queue(throughput: float, deadline: int) -> LaneQueues:
    return LaneQueues(np.array([[throughput]]), deadline)


def arrive(queues: LaneQueues, jobs: int) -> None:
    queues.arrive(np.array([jobs]), np.zeros((jobs, 1, 2), dtype=np.uint8))


def test_jobs_are_dropped_after_their_deadline() -> None:
    queues = one_queue(100.0, deadline=3)
    for expected in (5.0, 10.0, 15.0, 15.0):
        arrive(queues, 5)
        assert queues.offers()[0, 0] == expected


def test_a_deadline_of_one_round_keeps_nothing() -> None:
    queues = one_queue(100.0, deadline=1)
    arrive(queues, 5)
    arrive(queues, 2)
    assert queues.offers()[0, 0] == 2.0


def test_service_takes_the_oldest_first_and_keeps_progress() -> None:
    queues = one_queue(3.5, deadline=2)
    arrive(queues, 3)
    arrive(queues, 2)
    assert queues.serve(np.ones((1, 1))).tolist() == [3.5]
    arrive(queues, 0)
    # Half of one of the two younger jobs is done; nothing was left of the older.
    assert queues.offers()[0, 0] == 1.5
    arrive(queues, 0)
    assert queues.offers()[0, 0] == 0.0


def test_urgency_is_whole_in_the_last_round() -> None:
    queues = one_queue(100.0, deadline=2)
    arrive(queues, 4)
    assert queues.urgent()[0, 0] == pytest.approx(4 / 4)
    arrive(queues, 0)
    assert queues.urgent()[0, 0] == pytest.approx(4.0)


def test_urgency_counts_only_what_can_be_served() -> None:
    queues = one_queue(3.0, deadline=1)
    arrive(queues, 9)
    assert queues.urgent()[0, 0] == queues.offers()[0, 0] == 3.0


def test_jobs_join_the_shorter_of_two_queues() -> None:
    queues = LaneQueues(np.full((1, 3), 100.0), deadline=5)
    choices = np.array([[[0, 1]], [[0, 1]], [[0, 2]], [[0, 1]]], dtype=np.uint8)
    queues.arrive(np.array([4]), choices)
    assert queues.offers()[0].tolist() == [2.0, 1.0, 1.0]


@pytest.mark.parametrize("jobs", [WAVES - 1, WAVES + 1, 10 * WAVES + 3])
def test_every_job_joins_a_queue(jobs: int) -> None:
    rng = np.random.default_rng(jobs)
    queues = LaneQueues(np.full((2, 40), 1e9), deadline=5)
    queues.arrive(np.array([jobs, 3]), rng.integers(40, size=(jobs, 2, 2), dtype=np.uint8))
    assert queues.offers().sum(axis=1).tolist() == [jobs, 3]
    assert np.ptp(queues.offers()[0]) <= 8 + jobs // WAVES


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), deadline=st.integers(1, 6), shared=st.booleans())
def test_no_more_is_served_than_arrived_nor_than_time_allows(seed: int, deadline: int, shared: bool) -> None:
    rng = np.random.default_rng(seed)
    throughput = rng.uniform(0.5, 9, size=(3, 4))
    queues = LaneQueues(throughput, deadline, shared)
    came, done = np.zeros(3), np.zeros(3)
    for _ in range(12):
        count = rng.integers(0, 30, 3)
        queues.arrive(count, rng.integers(4, size=(30, 3, 2), dtype=np.uint8))
        offers, urgent = queues.offers(), queues.urgent()
        assert (urgent <= offers + 1e-9).all()
        assert (urgent >= 0).all()
        time = rng.random((3, 4)) * (rng.random((3, 4)) < 0.5)
        served = queues.serve(time)
        assert (served <= (time * throughput).sum(axis=1) + 1e-9).all()
        came += count
        done += served
    assert (done <= came + 1e-6).all()


def test_mean_arrivals_are_the_load_times_the_share() -> None:
    setting = Experiment(QUARTERS_4, rounds=20_000)
    rng = np.random.default_rng(0)
    assert workload.arrivals(setting, rng).mean(axis=0) == pytest.approx(workload.rates(setting), rel=0.02)
    bursts = replace(setting, bursts=8.0, burst_rounds=3.0)
    assert workload.arrivals(bursts, rng).mean(axis=0) == pytest.approx(workload.rates(bursts), rel=0.15)


def test_a_world_depends_on_its_seed_alone() -> None:
    pair = simulate(SMALL, GandivaFair(), [3, 4])
    alone = simulate(SMALL, GandivaFair(), [4])
    assert (pair.served[1] == alone.served[0]).all()
    assert (traffic(SMALL, [3]).count != traffic(SMALL, [4]).count).any()


@pytest.mark.parametrize("name", ROUNDS)
def test_runs_repeat_and_serve_no_more_than_arrived(name: str) -> None:
    first, second = (simulate(SMALL, ROUNDS[name](), [5]) for _ in range(2))
    assert (first.owners == second.owners).all()
    assert (first.served.sum(axis=1) <= first.arrived + 1e-9).all()
    assert first.served.sum() > 0


def test_a_time_share_serves_a_load_below_one_almost_whole() -> None:
    outcome = simulate_share(replace(SMALL, load=0.3, deadline=20, rounds=200), [0])
    assert (outcome.served.sum(axis=1) / outcome.arrived).min() > 0.85


def test_the_maximum_beats_stride_at_short_deadlines() -> None:
    runs = Runs([0, 1], processes=1)
    setting = replace(SMALL, deadline=2, weights=EQUAL)
    assert runs.ratio(setting, "max_weight", "gandiva").mean > 1
    assert runs.phi(setting, "gandiva", STRIDE_SHARE).mean() > 1


def test_ones_own_allocation_replayed_gives_what_it_gave() -> None:
    setting = replace(envy.TABLE_5_2, rounds=20)
    table = envy.swapped(setting, MaxWeight(), [0, 1])
    own = simulate(setting, MaxWeight(), [0, 1]).served.sum(axis=1).mean(axis=0)
    assert np.diag(table) == pytest.approx(own)


def test_interval_of_student() -> None:
    found = estimate(np.array([1.0, 2.0, 3.0]))
    assert found.mean == 2.0
    assert found.half == pytest.approx(4.303 / np.sqrt(3))


def test_advantages_by_hand() -> None:
    rewards, values = np.array([1.0, 2.0]), np.array([0.5, 1.0])
    assert training.advantages(rewards, values, 0.5, 0.0) == pytest.approx([1.0, 1.5])
    assert training.advantages(rewards, values, 0.5, 1.0) == pytest.approx([1.75, 1.5])


def test_the_networks_slopes_are_those_of_finite_differences() -> None:
    rng = np.random.default_rng(0)
    network = NeuralNetwork((3, 4, 2), rng, rate=1e-6)
    inputs, target = rng.normal(size=(5, 3)), rng.normal(size=(5, 2))

    def loss() -> float:
        return float(((network.forward(inputs)[-1] - target) ** 2).sum())

    before = loss()
    old = [v.copy() for v in network.values]
    passed = network.forward(inputs)
    network.learn(passed, np.asarray(2 * (passed[-1] - target), dtype=np.float64))
    moved = [v - o for v, o in zip(network.values, old, strict=True)]
    # Adam's first step is the sign of the slope: it must go down in every single weight.
    assert loss() < before
    for k, step in enumerate(moved):
        for place in np.ndindex(step.shape):
            network.values = [o.copy() for o in old]
            network.values[k][place] += 1e-6
            slope = (loss() - before) / 1e-6
            if abs(slope) > 1e-3:
                assert np.sign(slope) == -np.sign(step[place])


def test_the_actor_learns_which_level_is_rewarded() -> None:
    """A toy task: one level of ten is rewarded."""
    rng = np.random.default_rng(0)
    actor = NeuralNetwork((FEATURES, 8, len(LEVELS)), rng, rate=0.02)
    critic = NeuralNetwork((FEATURES, 8, 1), rng, rate=0.02)
    recipe = training.Recipe((SMALL,), trace=0.0, entropy=0.0)
    states = np.zeros((50, 2, 4, FEATURES))
    for _ in range(30):
        actions = training.draw(np.broadcast_to(_chances(actor), (50, 2, 4, len(LEVELS))), rng)
        seen = training.Episode(states, actions, (actions == 7).astype(float), np.ones(4), np.ones(4))
        training.learn(actor, critic, seen, recipe, 0.0, rng)
    assert _chances(actor).argmax() == 7


def _chances(actor: NeuralNetwork) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    logits = actor.forward(np.zeros((1, FEATURES)))[-1][0]
    return np.asarray(np.exp(logits) / np.exp(logits).sum())


def test_hedge_prefers_the_level_that_brings_most() -> None:
    # The other agent pays for nothing: what is not paid for is dealt, first to agent 1. Paying 0.2 for the second
    # accelerator costs a token whose half comes back, and a token is worth 0.5 on average.
    utilities = np.array([[0.8, 0.2], [0.1, 0.1]])
    worth = hedge.worth(
        0, utilities, np.ones(2), np.array([0.0, 0.9]), np.array([3.0, 3.0]), turn=1, peak=0.8, value=1.0
    )
    # Levels are of the peak: up to 0.2 both are paid for, above only the first, and the second goes to agent 1.
    assert worth[:3] == pytest.approx(0.8 + 0.2 - 0.5 * 1.0)
    assert worth[3:] == pytest.approx(0.8 - 0.5 * 0.5)
    table = hedge.chances(np.array([[0.0, 1.0]]))
    assert table[0, 1] == pytest.approx(np.e / (1 + np.e))


def test_training_twice_gives_the_same_document() -> None:
    tiny = training.Recipe((replace(SMALL, rounds=10),), worlds=1, episodes=2)
    first, second = (train.make("actor", 0, tiny) for _ in range(2))
    assert first["layers"] == second["layers"]
    assert actor_from(json.loads(json.dumps(first))).name == "actor-critic"
    table = train.make("hedge", 0, hedge.HedgeRecipe((replace(SMALL, rounds=10),), worlds=1, episodes=2))
    assert np.array(table["chances"]).sum(axis=1) == pytest.approx(1.0, abs=1e-4)
    assert hedge_from(json.loads(json.dumps(table))).name == "hedge"


@pytest.mark.parametrize("kind", ["actor", "hedge"])
def test_what_ships_says_how_it_was_made_and_kept_its_seeds_apart(kind: str) -> None:
    document = json.loads(train.shipped(kind).read_text(encoding="utf-8"))
    assert document["made_by"] == f"python -m eddy_studies.mtf.train {kind} --seed {document['seed']}"
    assert document["seconds"] > 0
    first, last = document["training_seeds"]
    assert not any(first <= seed <= last for seed in document["held_out_seeds"])
    assert len(document["held_out_seeds"]) >= 8
    assert trained_actor() is trained_actor()
    assert trained_hedge() is trained_hedge()


def test_thresholds_for_other_states_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="train it again"):
        actor_from({"layers": [[np.zeros((3, 10)).tolist(), [0.0] * 10]]})
    with pytest.raises(InvalidRequest, match="train it again"):
        hedge_from({"chances": [[1.0, 0.0]]})


def test_state_is_bounded_and_blind_to_units() -> None:
    rng = np.random.default_rng(0)
    utilities, weights, budgets = rng.random((4, 6)), np.array([1.0, 1.0, 2.0, 4.0]), np.array([-0.5, 0.0, 3.0, 9.0])
    found = state(utilities, utilities.max(axis=1), budgets, weights)
    assert found.shape == (4, FEATURES)
    assert (found >= 0).all()
    assert (found <= 1 + 1e-9).all()
    peak = utilities.max(axis=1)
    doubled = state(2 * utilities, np.asarray(2 * peak, dtype=np.float64), np.asarray(3 * budgets), weights)
    assert doubled[:, :6] == pytest.approx(found[:, :6])


def test_budget_states_and_medians() -> None:
    assert budget_state(np.array([0.0, 1.0, 8.0]), np.ones(3), 16).tolist() == [0, 2, 15]
    assert median(np.array([[0.1, 0.5, 0.4, *[0.0] * 7]])).tolist() == [0.1]


def test_chapter_3_is_reproduced(tmp_path: Path) -> None:
    rows = {row.what: row for row in fairness.chapter_3(tmp_path, Runs([0], processes=1), quick=True)}
    for what in (
        "utilities, time-equal",
        "utilities, dynamic-fair",
        "utilities, fixed-fair",
        "utilities, mtf",
        "phi, mtf",
    ):
        assert rows[what].note == "exact"
    assert rows["phi, fixed-fair"].note != "exact"
    assert rows["Algorithm 1 gives the MTF row"].ours.startswith("yes")
    assert (tmp_path / "table_3_3.csv").exists()


def test_mixed_loads_leave_data_and_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(SMALL, rounds=5)
    monkeypatch.setattr(figures, "Experiment", lambda weights, load: replace(small, weights=weights, load=load))
    rows = figures.mixed_loads(tmp_path, Runs([0, 1], processes=1), quick=True)
    assert [row.figure for row in rows] == ["5.14", "5.15"]
    assert {p.name for p in tmp_path.iterdir()} == {f"figure_{f}.{e}" for f in ("5.14", "5.15") for e in ("csv", "png")}
