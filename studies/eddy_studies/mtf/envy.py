# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Table 5.2 of [003]: what every agent would have had from everybody's allocation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from eddy.policy.price.rounds import Floats, RoundPolicy

from eddy_studies.mtf.simulate import Worlds, simulate
from eddy_studies.mtf.workload import EQUAL, Experiment

TABLE_5_2 = Experiment(EQUAL, load=0.8, agents=5, accelerators=10, applications=(0,))
"""Five equal agents on ten accelerators, load 80 %; of one application, since the published utilities are alike."""


def swapped(setting: Experiment, policy: RoundPolicy, seeds: Sequence[int]) -> Floats:
    """u_i(X_j), mean over seeds, utility over the run: row i, column j.

    The allocations are those of a run; then every agent's queue is run again, with the same arrivals, under each.
    """
    owners = simulate(setting, policy, seeds).owners
    worlds = Worlds(setting, seeds, copies=setting.agents)
    holders = np.repeat(np.arange(setting.agents), setting.agents)[:, None]
    total = np.zeros(worlds.shape[:2])
    for r in range(setting.rounds):
        worlds.arrive()
        total += worlds.serve((owners[:, r, None, :] == holders).astype(np.float64))
    table = total.mean(axis=0).reshape(setting.agents, setting.agents)
    return np.asarray(table.T)
