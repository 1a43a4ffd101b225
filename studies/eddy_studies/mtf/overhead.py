# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a round of each policy costs ([003] 5.4, figures 5.16 and 5.17)."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

import numpy as np
from eddy.policy.price.rounds import RoundPolicy, RoundView

from eddy_studies.mtf import workload
from eddy_studies.mtf.simulate import Worlds
from eddy_studies.mtf.workload import Experiment


def microseconds(
    policies: Mapping[str, RoundPolicy], agents: int, accelerators: int, rounds: int = 40, repeats: int = 15
) -> dict[str, float]:
    """Mean over rounds of the time for one decision, all policies on the very same rounds.

    The rounds are those of a bursty run under the first policy. Each decision is made `repeats` times, policies in
    turns, and the fastest counts: other programs on the machine only ever slow one down.
    """
    setting = Experiment(bursts=8.0, burst_rounds=3.0, agents=agents, accelerators=accelerators, rounds=rounds)
    worlds = Worlds(setting, [0])
    weights = workload.weights(setting)
    memories = {name: policy.initial(weights, accelerators) for name, policy in policies.items()}
    took = {name: np.full((rounds, repeats), np.inf) for name in policies}
    for r in range(rounds):
        worlds.arrive()
        offers, urgent = worlds.offers()[0], worlds.urgent()[0]
        views = {name: RoundView(r, weights, offers, urgent, memories[name]) for name in policies}
        for k in range(repeats):
            for name, policy in policies.items():
                began = perf_counter()
                shares = policy.decide(views[name])
                took[name][r, k] = perf_counter() - began
                memories[name] = shares.memory
        first = policies[next(iter(policies))].decide(views[next(iter(policies))])
        held = (first.owner[None, :] == np.arange(agents)[:, None]).astype(np.float64)
        worlds.serve(held[None])
    return {name: float(times.min(axis=1).mean() * 1e6) for name, times in took.items()}
