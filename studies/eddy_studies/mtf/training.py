# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Training of thresholds by actor-critic ([003] 4.2.2), offline.

All agents of all worlds share one actor and one critic. Each agent's reward is what it gets itself (4.3), in parts of
what it is entitled to. With `trace` 0 the advantage is the one-step TD error (4.5), as printed; above 0 it is summed
over later rounds as well, so that a token saved now is credited when it is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from eddy.policy.price.learned import FEATURES, Layers, probabilities, state
from eddy.policy.price.mtf import play_round
from eddy.policy.price.rounds import Floats, Ints
from eddy.policy.price.thresholds import LEVELS, highest, track_peak

from eddy_studies.mtf import workload
from eddy_studies.mtf.network import NeuralNetwork
from eddy_studies.mtf.simulate import Worlds
from eddy_studies.mtf.workload import Experiment


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to train.

    Attributes:
        settings: Taken in turns, one an episode.
        worlds: In each episode.
        tokens_per_agent: As in the policy.
        discount: Gamma of (4.4).
        trace: Lambda of the advantage; 0 is (4.5).
        shared: Part of the reward that is the weighted mean over all agents instead of one's own (4.3).
        hidden: Width of the hidden layer.
        rate: Adam's step, falling to a tenth.
        entropy: Bonus for undecided actors, falling to a tenth.
    """

    settings: tuple[Experiment, ...]
    worlds: int = 8
    episodes: int = 60
    tokens_per_agent: float = 50.0
    discount: float = 0.97
    trace: float = 0.9
    shared: float = 0.0
    hidden: int = 16
    rate: float = 3e-3
    entropy: float = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    """What was seen, done and got.

    Attributes:
        states: (rounds, worlds, agents, FEATURES).
        actions: Levels drawn; (rounds, worlds, agents).
        utilities: What each agent got; same shape.
        weights: (agents,).
        entitled: Accelerators each agent's weight entitles it to; (agents,).
    """

    states: Floats
    actions: Ints
    utilities: Floats
    weights: Floats
    entitled: Floats

    def rewards(self, shared: float) -> Floats:
        """Own utility (4.3) over what one is entitled to, or `shared` of the weighted mean over the agents."""
        own = self.utilities / self.entitled
        if shared == 0:
            return own
        mean = self.utilities @ self.weights / (self.entitled @ self.weights)
        return np.asarray((1 - shared) * own + shared * mean[..., None])


def episode(
    setting: Experiment, seeds: Sequence[int], actor: Layers, tokens: float, rng: np.random.Generator
) -> Episode:
    """Play with levels drawn from the actor."""
    worlds = Worlds(setting, seeds)
    weights = workload.weights(setting)
    agents = np.arange(setting.agents)[:, None]
    part = weights / weights.sum()
    budgets = np.tile(part * tokens * setting.agents, (len(seeds), 1))
    turns = [0] * len(seeds)
    peak = np.zeros(budgets.shape)
    states = np.zeros((setting.rounds, *budgets.shape, FEATURES))
    actions = np.zeros(states.shape[:-1], dtype=np.int64)
    rewards = np.zeros(states.shape[:-1])
    owners = np.zeros((len(seeds), setting.accelerators), dtype=np.int64)
    for r in range(setting.rounds):
        worlds.arrive()
        offers = worlds.offers()
        peak = track_peak(peak, highest(offers))
        states[r] = state(offers, peak, budgets, weights)
        actions[r] = draw(probabilities(actor, states[r]), rng)
        least = LEVELS[actions[r]] * peak
        for w in range(len(seeds)):
            owners[w], budgets[w], turns[w] = play_round(offers[w], weights, least[w], budgets[w], turns[w])
        rewards[r] = worlds.serve((owners[:, None, :] == agents).astype(np.float64))
    return Episode(states, actions, rewards, weights, part * setting.accelerators)


def draw(chances: Floats, rng: np.random.Generator) -> Ints:
    """One level for each row of probabilities."""
    above = (chances.cumsum(axis=-1) < rng.random(chances.shape[:-1])[..., None]).sum(axis=-1)
    return np.asarray(np.minimum(above, chances.shape[-1] - 1))


def advantages(rewards: Floats, values: Floats, discount: float, trace: float) -> Floats:
    """TD errors (4.5), summed over later rounds with `discount * trace`; the last round counts as its own successor."""
    after = np.concatenate([values[1:], values[-1:]])
    error = rewards + discount * after - values
    out = np.empty_like(error)
    later: Floats = np.zeros_like(error[0])
    for r in reversed(range(len(error))):
        later = np.asarray(error[r] + discount * trace * later)
        out[r] = later
    return np.asarray(out)


def train(recipe: Recipe, seed: int, say: Callable[[str], None]) -> Layers:
    """The actor after all episodes.

    Args:
        seed: Of everything; worlds use seeds from 10**6 * (seed + 1) on, which no evaluation
            uses.
        say: Told the mean reward now and then.
    """
    rng = np.random.default_rng([seed, 3])
    actor = NeuralNetwork((FEATURES, recipe.hidden, len(LEVELS)), rng, recipe.rate)
    critic = NeuralNetwork((FEATURES, recipe.hidden, 1), rng, recipe.rate)
    for k in range(recipe.episodes):
        fading = 1.0 - 0.9 * k / recipe.episodes
        actor.rate = critic.rate = recipe.rate * fading
        first = 10**6 * (seed + 1) + k * recipe.worlds
        setting = recipe.settings[k % len(recipe.settings)]
        seen = episode(setting, range(first, first + recipe.worlds), actor.layers, recipe.tokens_per_agent, rng)
        learn(actor, critic, seen, recipe, recipe.entropy * fading, rng)
        if k % 10 == 9 or k + 1 == recipe.episodes:
            say(f"episode {k + 1} of {recipe.episodes}: mean reward {seen.rewards(0.0).mean():.4f}")
    return actor.layers


def learn(
    actor: NeuralNetwork, critic: NeuralNetwork, seen: Episode, recipe: Recipe, entropy: float, rng: np.random.Generator
) -> None:
    """One pass over an episode, in batches: (4.6) for the critic, (4.7) for the actor."""
    flat = seen.states.reshape(-1, FEATURES)
    rewards = seen.rewards(recipe.shared)
    values = critic.forward(flat)[-1].reshape(rewards.shape)
    gain = advantages(rewards, values, recipe.discount, recipe.trace)
    target = (gain + values).reshape(-1)
    gain = ((gain - gain.mean()) / (gain.std() + 1e-9)).reshape(-1)
    actions = seen.actions.reshape(-1)
    for batch in np.array_split(rng.permutation(len(flat)), max(1, len(flat) // 4096)):
        passed = critic.forward(flat[batch])
        critic.learn(passed, 2 * (passed[-1] - target[batch, None]) / len(batch))
        passed = actor.forward(flat[batch])
        logits = passed[-1] - passed[-1].max(axis=1, keepdims=True)
        chances = np.exp(logits)
        chances /= chances.sum(axis=1, keepdims=True)
        chosen = np.eye(len(LEVELS))[actions[batch]]
        slope = (chances - chosen) * gain[batch, None]
        logs = np.log(chances + 1e-12)
        slope += entropy * chances * (logs - (chances * logs).sum(axis=1, keepdims=True))
        actor.learn(passed, slope / len(batch))
