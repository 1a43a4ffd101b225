# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs of policies on settings, each done once, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
from eddy.policy.price.gandiva import GandivaFair
from eddy.policy.price.learned import trained_actor
from eddy.policy.price.mtf import MostTokenFirst
from eddy.policy.price.rounds import Floats, RoundPolicy
from eddy.policy.price.themis import Themis

from eddy_studies.mtf import metrics, workload
from eddy_studies.mtf.simulate import simulate, simulate_share
from eddy_studies.mtf.workload import Experiment
from eddy_studies.policies import ROUNDS

STRIDE_SHARE = "stride share"
"""What one's own turns would give, the others' never being used: an exclusive share, whole rounds at a time."""

TIME_SHARE = "time share"
"""What one's part of the time of every accelerator in every round would give (3.2's expected utility)."""

THEMIS_AS_WRITTEN = "themis, 1/n"
"""Themis whose shares are 1/n whatever the weights, as 5.1 has it."""

_STUDENT_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Utility of each agent over the run, and all that arrived for it; (worlds, agents)."""

    utility: Floats
    arrived: Floats


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over seeds and half the width of its 95 % confidence interval (Student)."""

    mean: float
    half: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.half:.3f}"


def estimate(samples: Floats) -> Estimate:
    """Of one sample a seed."""
    count = len(samples)
    if count < 2:
        return Estimate(float(samples.mean()), float("nan"))
    factor = _STUDENT_95[min(count - 2, len(_STUDENT_95) - 1)]
    return Estimate(float(samples.mean()), float(factor * samples.std(ddof=1) / np.sqrt(count)))


def policy(name: str) -> RoundPolicy:
    """By its name in `ROUNDS`; `mtf, T tokens` is MTF with T tokens an agent."""
    if name == STRIDE_SHARE:
        return GandivaFair(work_conserving=False)
    if name == THEMIS_AS_WRITTEN:
        return Themis(weighted=False, name=name)
    if name.startswith("mtf, "):
        return MostTokenFirst(trained_actor(), tokens_per_agent=float(name.split()[1]))
    return ROUNDS[name]()


def run(task: tuple[Experiment, str, tuple[int, ...]]) -> Result:
    """One policy on one setting, all seeds."""
    setting, name, seeds = task
    outcome = simulate_share(setting, seeds) if name == TIME_SHARE else simulate(setting, policy(name), seeds)
    return Result(outcome.served.sum(axis=1), outcome.arrived)


class Runs:
    """Remembers every run.

    Args:
        seeds: Of the worlds, the same for all policies.
        processes: Runs done at a time.
    """

    def __init__(self, seeds: Sequence[int], processes: int = 2) -> None:
        self.seeds = tuple(seeds)
        self.processes = processes
        self._done: dict[tuple[Experiment, str], Result] = {}

    def need(self, settings: Iterable[Experiment], names: Iterable[str]) -> None:
        """Do what has not been done of all settings under all names."""
        names = list(names)
        missing = [(s, n) for s in dict.fromkeys(settings) for n in names if (s, n) not in self._done]
        tasks = [(s, n, self.seeds) for s, n in missing]
        if self.processes == 1 or len(tasks) < 2:
            results = [run(task) for task in tasks]
        else:
            with ProcessPoolExecutor(self.processes, get_context("spawn")) as pool:
                results = list(pool.map(run, tasks))
        self._done.update(zip(missing, results, strict=True))

    def get(self, setting: Experiment, name: str) -> Result:
        """A run, done now if need be."""
        self.need([setting], [name])
        return self._done[setting, name]

    def welfare(self, setting: Experiment, name: str) -> Floats:
        """Weighted social welfare a round; (worlds,)."""
        weights = workload.weights(setting)
        return np.array([metrics.welfare(u, weights) for u in self.get(setting, name).utility]) / setting.rounds

    def ratio(self, setting: Experiment, name: str, rival: str) -> Estimate:
        """Welfare over a rival's, seed by seed."""
        return estimate(self.welfare(setting, name) / self.welfare(setting, rival))

    def phi(self, setting: Experiment, name: str, reference: str = STRIDE_SHARE) -> Floats:
        """(3.3) against a reference; (worlds, agents)."""
        return metrics.sharing_incentive(self.get(setting, name).utility, self.get(setting, reference).utility)

    def satisfied(self, setting: Experiment, name: str, reference: str = STRIDE_SHARE) -> Estimate:
        """Part of the agents with phi of at least 1."""
        return estimate((self.phi(setting, name, reference) >= 1).mean(axis=1))

    def throughput(self, setting: Experiment, name: str) -> Floats:
        """Utility a round of each agent, mean over worlds; (agents,)."""
        return np.asarray(self.get(setting, name).utility.mean(axis=0) / setting.rounds)
