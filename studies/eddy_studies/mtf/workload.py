# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The settings of [003] 5.2: who shares what, how fast each accelerator runs each application, how work arrives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from eddy.policy.price.rounds import Floats, Ints
from numpy.typing import NDArray

APPLICATIONS = ("ResNet Conv", "ResNet MatMul", "MobileNet Conv", "MobileNet WS")
THROUGHPUT = np.array([[70.262, 86.332], [3.001, 4.139], [81.644, 111.995], [1.480, 2.101]])
"""Table 5.1: inferences a round, by application, on Gemmini at 2 GHz and at 3 GHz."""

EQUAL = (1.0,)
HALVES = (1.0, 2.0)
QUARTERS_4 = (1.0, 1.0, 2.0, 4.0)
QUARTERS_8 = (1.0, 1.0, 2.0, 8.0)
"""Weights by setup ([003] 5.3): each entry is given to an equal part of the agents."""

Scope = Literal["accelerator", "agent"]
Units = Literal["rounds", "inferences"]


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment.

    Attributes:
        weights: Pattern; equal parts of the agents get each entry.
        load: Queue utility: arrivals over what the agent's share of every accelerator could do; one value for all
            agents, or one for each entry of `weights`.
        deadline: Rounds after which a job is dropped, counting the one it arrives in.
        bursts: How much more arrives in a burst than on average; 1 is a Poisson process.
        quiet: How much arrives outside bursts, of the average.
        burst_rounds: Mean length of a burst.
        accelerators: How many; half of them at 2 GHz, half at 3 GHz, alternating.
        scope: Whether an agent has a queue for each accelerator, filled by its load balancer, or one for all.
        units: Of utility: rounds of the agent's fastest accelerator, or plain inferences.
        applications: Indices into `APPLICATIONS`, dealt to the agents in turn.
    """

    weights: tuple[float, ...] = QUARTERS_4
    load: float | tuple[float, ...] = 0.6
    deadline: int = 5
    bursts: float = 1.0
    quiet: float = 0.2
    burst_rounds: float = 5.0
    agents: int = 20
    accelerators: int = 40
    rounds: int = 300
    scope: Scope = "accelerator"
    units: Units = "rounds"
    applications: tuple[int, ...] = (0, 1, 2, 3)


def classes(setting: Experiment) -> Ints:
    """Which entry of the pattern each agent has; (agents,)."""
    return np.arange(setting.agents) * len(setting.weights) // setting.agents


def weights(setting: Experiment) -> Floats:
    """Of each agent; (agents,)."""
    return np.asarray(np.array(setting.weights, dtype=np.float64)[classes(setting)])


def throughput(setting: Experiment) -> Floats:
    """Inferences a round; (agents, accelerators)."""
    application = np.array(setting.applications)[np.arange(setting.agents) % len(setting.applications)]
    return np.asarray(THROUGHPUT[application][:, np.arange(setting.accelerators) % 2])


def rates(setting: Experiment) -> Floats:
    """Mean arrivals a round of each agent: its load times what its weight's share could serve; (agents,)."""
    load = np.broadcast_to(np.array(setting.load), (len(setting.weights),))[classes(setting)]
    part = weights(setting) / weights(setting).sum()
    return np.asarray(load * part * throughput(setting).sum(axis=1))


def arrivals(setting: Experiment, rng: np.random.Generator) -> Ints:
    """Jobs that arrive; (rounds, agents).

    A burst comes and goes as a two-state Markov chain, started in its steady state: within it `bursts` times the mean
    rate, outside `quiet` times, and the bursts as frequent as the mean demands.
    """
    mean = np.broadcast_to(rates(setting), (setting.rounds, setting.agents))
    if setting.bursts > 1:
        mean = mean * np.where(_bursting(setting, rng), setting.bursts, setting.quiet)
    return rng.poisson(mean)


def _bursting(setting: Experiment, rng: np.random.Generator) -> NDArray[np.bool_]:
    part = (1 - setting.quiet) / (setting.bursts - setting.quiet)
    stop = 1.0 / setting.burst_rounds
    start = stop * part / (1 - part)
    draws = rng.random((setting.rounds, setting.agents))
    on = np.empty((setting.rounds, setting.agents), dtype=np.bool_)
    state = draws[0] < part
    for r in range(setting.rounds):
        on[r] = state
        state = np.where(state, draws[r] >= stop, draws[r] < start)
    return on
