# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Rounds of a policy over many worlds at once ([003] 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from eddy.policy.price.rounds import Floats, Ints, RoundPolicy, RoundView
from numpy.typing import NDArray

from eddy_studies.mtf import workload
from eddy_studies.mtf.queues import LaneQueues
from eddy_studies.mtf.workload import Experiment


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """What arrives, the same for every policy that is compared.

    Attributes:
        count: Jobs; (worlds, rounds, agents).
    """

    count: Ints
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What became of it.

    Attributes:
        served: Utility of each agent in each round, in the setting's units; (worlds, rounds, agents).
        arrived: What had come, in the same units; (worlds, agents).
        owners: Of each accelerator in each round; (worlds, rounds, accelerators); empty where shares are fractions.
    """

    served: Floats
    arrived: Floats
    owners: Ints


def traffic(setting: Experiment, seeds: Sequence[int]) -> Traffic:
    """Arrivals of every seed; a world depends on its own seed alone."""
    count = [workload.arrivals(setting, np.random.default_rng([seed, 1])) for seed in seeds]
    return Traffic(np.stack(count), tuple(seeds))


class Worlds:
    """Many worlds of one setting, advanced together round by round.

    Args:
        setting: Of all of them.
        seeds: One world each.
        copies: How often every world's agents are repeated: to see how they would fare with other allocations.
    """

    def __init__(self, setting: Experiment, seeds: Sequence[int], copies: int = 1) -> None:
        self.setting = setting
        self.traffic = traffic(setting, seeds)
        self.copies = copies
        per_world = np.tile(workload.throughput(setting), (copies, 1))
        self.queues = LaneQueues(np.tile(per_world, (len(seeds), 1)), setting.deadline, setting.scope == "agent")
        self.shape = (len(seeds), copies * setting.agents, setting.accelerators)
        fastest = workload.throughput(setting).max(axis=1)
        self.unit = np.tile(fastest if setting.units == "rounds" else np.ones_like(fastest), copies)
        self._rngs = [np.random.default_rng([seed, 2]) for seed in seeds]
        self.round = -1

    def arrive(self) -> None:
        """The next round's arrivals."""
        self.round += 1
        count = np.tile(self.traffic.count[:, self.round], (1, self.copies))
        self.queues.arrive(count.reshape(-1), self._choices(count))

    def _choices(self, count: Ints) -> NDArray[np.uint8]:
        worlds, lanes, accelerators = self.shape
        jobs = int(count.max())
        choices = np.zeros((jobs, worlds, lanes, 2), dtype=np.uint8)
        for w, rng in enumerate(self._rngs):
            mine = int(count[w].max())
            drawn = rng.integers(accelerators, size=(mine, self.setting.agents, 2), dtype=np.uint8)
            choices[:mine, w] = np.tile(drawn, (1, self.copies, 1))
        return choices.reshape(jobs, worlds * lanes, 2)

    def offers(self) -> Floats:
        """Utilities; (worlds, agents, accelerators)."""
        return np.asarray(self.queues.offers().reshape(self.shape) / self.unit[:, None])

    def urgent(self) -> Floats:
        """The utilities by urgency; (worlds, agents, accelerators)."""
        return np.asarray(self.queues.urgent().reshape(self.shape) / self.unit[:, None])

    def serve(self, time: Floats) -> Floats:
        """Utility each agent gets for the fractions of time it has; (worlds, agents)."""
        done = self.queues.serve(time.reshape(-1, self.shape[2]))
        return np.asarray(done.reshape(self.shape[:2]) / self.unit)

    def arrived(self) -> Floats:
        """Everything that arrives over the run; (worlds, agents)."""
        return np.asarray(np.tile(self.traffic.count.sum(axis=1), (1, self.copies)) / self.unit)


def simulate(setting: Experiment, policy: RoundPolicy, seeds: Sequence[int]) -> Outcome:
    """Run a policy on one world for each seed."""
    worlds = Worlds(setting, seeds)
    weights = workload.weights(setting)
    memories = [policy.initial(weights, setting.accelerators) for _ in seeds]
    agents = np.arange(setting.agents)[:, None]
    served = np.zeros((len(seeds), setting.rounds, setting.agents))
    owners = np.zeros((len(seeds), setting.rounds, setting.accelerators), dtype=np.int64)
    for r in range(setting.rounds):
        worlds.arrive()
        offers, urgent = worlds.offers(), worlds.urgent()
        for w, memory in enumerate(memories):
            shares = policy.decide(RoundView(r, weights, offers[w], urgent[w], memory))
            memories[w] = shares.memory
            owners[w, r] = shares.owner
        served[:, r] = worlds.serve((owners[:, r, None, :] == agents).astype(np.float64))
    return Outcome(served, worlds.arrived(), owners)


def simulate_share(setting: Experiment, seeds: Sequence[int]) -> Outcome:
    """Every agent alone with its part of the time of every accelerator in every round (3.2's expected utility)."""
    worlds = Worlds(setting, seeds)
    weights = workload.weights(setting)
    time = np.broadcast_to((weights / weights.sum())[None, :, None], worlds.shape)
    served = np.zeros((len(seeds), setting.rounds, setting.agents))
    for r in range(setting.rounds):
        worlds.arrive()
        served[:, r] = worlds.serve(time)
    return Outcome(served, worlds.arrived(), np.zeros((len(seeds), 0, 0), dtype=np.int64))
