# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Training of thresholds by Hedge ([003] 4.2.1, Algorithm 2), offline.

One learner for each state of the budget, its experts the levels. After a round an agent knows what each level would
have brought, the others' answers being what they were: the round is sold again for every level. To keep this cheap only
some agents of each world look back in a round.

(4.2) is what a level is worth: the utility it brings, less the mean utility of an accelerator for every token *kept*.
So printed, keeping tokens is punished and every agent learns to pay for everything. `token_value` is the factor on the
tokens kept: -1 as printed, +1 if they are worth what they will buy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from eddy.policy.price.mtf import play_round
from eddy.policy.price.rounds import Floats, Ints
from eddy.policy.price.thresholds import LEVELS, highest, track_peak

from eddy_studies.mtf import workload
from eddy_studies.mtf.simulate import Worlds
from eddy_studies.mtf.training import draw
from eddy_studies.mtf.workload import Experiment
from eddy_studies.policies.hedge import budget_state


@dataclass(frozen=True, slots=True)
class HedgeRecipe:
    """How to train.

    Attributes:
        settings: Taken in turns, one an episode.
        worlds: In each episode.
        tokens_per_agent: As in the policy.
        token_value: Factor on the tokens kept, in (4.2).
        looking_back: Agents of each world that learn from a round.
        rate: Epsilon of Algorithm 2.
    """

    settings: tuple[Experiment, ...]
    worlds: int = 2
    episodes: int = 24
    tokens_per_agent: float = 100.0
    token_value: float = 1.0
    states: int = 16
    looking_back: int = 3
    rate: float = 0.05


def worth(
    agent: int, utilities: Floats, weights: Floats, least: Floats, budgets: Floats, turn: int, peak: float, value: float
) -> Floats:
    """(4.2) for every level of one agent, the others' thresholds being given; (levels,)."""
    mean = float(utilities[agent].mean())
    out = np.empty(len(LEVELS))
    other = least.copy()
    for k, level in enumerate(LEVELS):
        other[agent] = level * peak
        owner, left, _ = play_round(utilities, weights, other, budgets, turn)
        held = owner == agent
        out[k] = utilities[agent, held].sum() + value * mean * (left[agent] - budgets[agent])
    return out


def train(recipe: HedgeRecipe, seed: int, say: Callable[[str], None]) -> Floats:
    """Probabilities of the levels in every state of the budget; (states, levels).

    Args:
        seed: Of everything; worlds use seeds from 10**6 * (seed + 1) on, which no evaluation uses.
        say: Told how far it is.
    """
    rng = np.random.default_rng([seed, 4])
    scores = np.zeros((recipe.states, len(LEVELS)))
    for k in range(recipe.episodes):
        first = 10**6 * (seed + 1) + k * recipe.worlds
        setting = recipe.settings[k % len(recipe.settings)]
        _episode(setting, range(first, first + recipe.worlds), scores, recipe, rng)
        if k % 8 == 7 or k + 1 == recipe.episodes:
            say(f"episode {k + 1} of {recipe.episodes}")
    return chances(scores)


def chances(scores: Floats) -> Floats:
    """Weights of the experts, in parts of 1."""
    out = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def _episode(setting: Experiment, seeds: range, scores: Floats, recipe: HedgeRecipe, rng: np.random.Generator) -> None:
    worlds = Worlds(setting, seeds)
    weights = workload.weights(setting)
    agents = np.arange(setting.agents)
    part = weights / weights.sum()
    budgets = np.tile(part * recipe.tokens_per_agent * setting.agents, (len(seeds), 1))
    turns = [0] * len(seeds)
    peak = np.zeros(budgets.shape)
    owners: Ints = np.zeros((len(seeds), setting.accelerators), dtype=np.int64)
    for _ in range(setting.rounds):
        worlds.arrive()
        offers = worlds.offers()
        peak = track_peak(peak, highest(offers))
        for w in range(len(seeds)):
            state = budget_state(budgets[w], weights, recipe.states)
            least = LEVELS[draw(chances(scores)[state], rng)] * peak[w]
            for a in rng.choice(agents, recipe.looking_back, replace=False):
                brought = worth(a, offers[w], weights, least, budgets[w], turns[w], peak[w, a], recipe.token_value) / (
                    part[a] * setting.accelerators
                )
                scores[state[a]] += recipe.rate * (brought - brought.max())
            owners[w], budgets[w], turns[w] = play_round(offers[w], weights, least, budgets[w], turns[w])
        worlds.serve((owners[:, None, :] == agents[:, None]).astype(np.float64))
