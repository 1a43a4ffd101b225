# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A round of most token first, written to be fast, against the same rules written to be read."""

from __future__ import annotations

import numpy as np
from eddy.policy.price.learned import Actor, forward, median, state, trained_actor
from eddy.policy.price.mtf import TokenBalances, sell_round
from eddy.policy.price.rounds import NOBODY, Floats, RoundView
from eddy.policy.price.thresholds import highest, track_peak
from hypothesis import given, settings
from hypothesis import strategies as st

_SMALLEST = 1e-300


def sold_plainly(utilities: Floats, least: Floats, budgets: Floats, turn: int) -> list[int]:
    """Algorithm 1's paying part, word by word: one accelerator, one token, whoever has most of them first."""
    agents, accelerators = utilities.shape
    owner, left = [NOBODY] * accelerators, budgets.tolist()

    def likes(agent: int) -> list[int]:
        floor = max(least[agent], _SMALLEST)
        return [c for c in range(accelerators) if owner[c] == NOBODY and utilities[agent, c] >= floor]

    while able := [agent for agent in range(agents) if left[agent] > 0 and likes(agent)]:
        agent = min(able, key=lambda a: (-left[a], (a - turn) % agents))
        owner[max(likes(agent), key=lambda c: (utilities[agent, c], -c))] = agent
        left[agent] -= 1.0
    return owner


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    agents=st.integers(1, 40),
    accelerators=st.integers(1, 30),
    steps=st.sampled_from([1, 2, 4, 1000000]),
    tokens=st.sampled_from([0.5, 3.0, 80.0]),
)
def test_accelerators_are_sold_as_by_the_plain_rules(
    seed: int, agents: int, accelerators: int, steps: int, tokens: float
) -> None:
    """Few steps make many ties, in utilities and in budgets; tokens run out, or do not."""
    rng = np.random.default_rng(seed)
    utilities = rng.integers(0, steps + 1, (agents, accelerators)) / steps * (rng.random((agents, 1)) < 0.8)
    least = rng.integers(0, steps + 1, agents) / steps * rng.random()
    budgets = np.round(rng.normal(tokens, tokens / 4, agents) * steps) / steps
    turn = int(rng.integers(agents))
    plain = sold_plainly(utilities, least, budgets, turn)
    assert sell_round(utilities, least, budgets, turn) == plain
    assert sell_round(utilities, least, budgets, turn, highest(utilities)) == plain


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), agents=st.integers(1, 70), accelerators=st.integers(1, 60), empty=st.floats(0, 1)
)
def test_the_actor_answers_as_its_network_does(seed: int, agents: int, accelerators: int, empty: float) -> None:
    """The median of the plain network's chances, for agents rich and poor, idle and busy."""
    rng = np.random.default_rng(seed)
    actor = trained_actor()
    assert isinstance(actor, Actor)
    utilities = rng.random((agents, accelerators)) * (rng.random((agents, accelerators)) >= empty)
    weights = rng.integers(1, 9, agents).astype(float)
    budgets = rng.normal(80, 60, agents)
    seen = rng.random(agents) * rng.integers(0, 2)
    view = RoundView(0, weights, utilities, utilities, TokenBalances(budgets, 0, seen))
    least, peak = actor.compute_thresholds(view, budgets, highest(utilities))
    assert (peak == track_peak(seen, utilities.max(axis=-1))).all()
    assert (least == median(np.exp(forward(actor.layers, state(utilities, peak, budgets, weights)))) * peak).all()


@given(shape=st.lists(st.integers(1, 5), min_size=2, max_size=4), seed=st.integers(0, 2**32 - 1))
def test_highest_is_the_maximum(shape: list[int], seed: int) -> None:
    utilities = np.random.default_rng(seed).random(shape)
    assert (highest(utilities) == utilities.max(axis=-1)).all()
    assert (highest(utilities.T) == utilities.T.max(axis=-1)).all()
