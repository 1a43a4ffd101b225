# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The worked example of [003] chapter 3: Tables 3.1 to 3.3 and the figures the text draws from them."""

from __future__ import annotations

import numpy as np
from eddy.policy.price.mtf import play_round
from eddy.policy.price.rounds import Floats, Ints

from eddy_studies.mtf import metrics

UTILITIES = np.array(
    [
        [[0.1, 0.9, 0.1, 0.2], [0.9, 0.9, 0.9, 0.6], [0.8, 0.3, 0.9, 0.1]],
        [[0.5, 0.6, 0.5, 0.7], [0.4, 0.5, 0.6, 0.6], [0.6, 0.5, 0.1, 0.5]],
    ]
)
"""Table 3.1: (agents, rounds, accelerators)."""

WEIGHTS = np.array([0.5, 0.5])

OWNERS: dict[str, Ints] = {
    "dynamic-fair": np.array([[1, 0, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1]]),
    "fixed-fair": np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]]),
    "mtf": np.array([[1, 0, 1, 1], [0, 0, 0, 1], [0, 1, 0, 1]]),
}
"""Table 3.2: the agent that holds each accelerator; (rounds, accelerators)."""

BUDGETS = ((3.0, 3.0), (4.0, 2.0), (3.0, 2.0))
THRESHOLDS = ((0.9, 0.5), (0.9, 0.6), (0.8, 0.5))
"""Tokens before each round, and thresholds, with which Algorithm 1 gives the row "mtf" of Table 3.2."""


def allocation(name: str) -> Floats:
    """Fractions of time by agent, round and accelerator; `"time-equal"` is half of everything."""
    if name == "time-equal":
        return np.full(UTILITIES.shape, 0.5)
    return np.stack([(OWNERS[name] == agent).astype(np.float64) for agent in range(len(UTILITIES))])


def totals(name: str) -> Floats:
    """A row of Table 3.3: utility of each agent over the three rounds."""
    held = allocation(name)
    return np.array([metrics.gained(UTILITIES[agent], held[agent]) for agent in range(len(UTILITIES))])


def swapped(name: str) -> Floats:
    """u_i(X_j): what agent i gains from agent j's allocation; (agents, agents)."""
    held = allocation(name)
    return np.array([[metrics.gained(mine, theirs) for theirs in held] for mine in UTILITIES])


def algorithm_1() -> Ints:
    """The owners by Algorithm 1 from `BUDGETS` and `THRESHOLDS`; (rounds, accelerators)."""
    owners = []
    for r, (budgets, thresholds) in enumerate(zip(BUDGETS, THRESHOLDS, strict=True)):
        owner, _, _ = play_round(UTILITIES[:, r], np.ones(2), np.array(thresholds), np.array(budgets), turn=0)
        owners.append(owner)
    return np.array(owners)


def reachable(total: float, steps: int = 3) -> set[tuple[float, float]]:
    """Every pair of utilities Algorithm 1 can reach from equal budgets when tokens come back in equal parts.

    Thresholds are chosen freely by both agents in every round (all that make a difference), the first turn too.

    Args:
        total: Tokens in circulation.
        steps: Rounds.
    """
    states = {(total / 2, total / 2, turn, 0.0, 0.0) for turn in (0, 1)}
    for r in range(steps):
        options = [sorted({*UTILITIES[agent, r], 1.0}) for agent in (0, 1)]
        after = set()
        for first, second, turn, *gained in states:
            for least in np.array(np.meshgrid(*options)).reshape(2, -1).T:
                owner, left, then = play_round(UTILITIES[:, r], np.ones(2), least, np.array([first, second]), turn)
                gain = [float(UTILITIES[a, r][owner == a].sum()) for a in (0, 1)]
                after.add((*left, then, round(gained[0] + gain[0], 3), round(gained[1] + gain[1], 3)))
        states = after
    return {(one, two) for *_, one, two in states}
