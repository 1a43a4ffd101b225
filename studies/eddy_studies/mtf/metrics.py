# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How fair and how efficient an allocation was ([003] chapter 3)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from eddy.policy.price.rounds import Floats, Ints


def gained(utilities: Floats, allocation: Floats) -> float:
    """What one agent gains from an allocation over rounds: the sum of u[r, c] x[r, c] (3.1, 3.2 without a queue).

    Args:
        utilities: (rounds, accelerators).
        allocation: Same shape, 1 where the agent holds the accelerator, or the fraction of time.
    """
    return float((utilities * allocation).sum())


def sharing_incentive(shared: Floats, expected: Floats) -> Floats:
    """Phi of each agent: utility from sharing over utility from its own share (3.3); at least 1 where sharing pays.

    An agent that expected nothing and lost nothing has phi 1.
    """
    nothing = expected <= 0
    return np.asarray(np.where(nothing, 1.0, shared / np.where(nothing, 1.0, expected)))


def envy(swapped: Floats, weights: Floats) -> Floats:
    """How much more agent i would get from its part of j's allocation than it gets (3.5); (agents, agents).

    max(0, w_i u_i(X_j) / w_j - u_i(X_i)): 0 everywhere where nobody envies.

    Args:
        swapped: u_i(X_j) in row i, column j.
    """
    own = np.diag(swapped)[:, None]
    return np.asarray(np.maximum(0.0, weights[:, None] * swapped / weights[None, :] - own))


def dominated_by(utilities: Floats, others: Iterable[Floats]) -> Floats | None:
    """The first of `others` in which nobody is worse off and somebody is better off (3.6), or None: Pareto efficient.

    Args:
        utilities: Of the agents, in one round or over all, under the allocation in question.
        others: The same under other allocations.
    """
    for other in others:
        if np.all(other >= utilities - 1e-12) and np.any(other > utilities + 1e-12):
            return other
    return None


def improves(utilities: Floats, owner: Ints) -> bool:
    """Whether giving one accelerator to somebody else, or swapping two, makes someone better off and nobody worse.

    A necessary check of Pareto efficiency (3.6) in a round for additive utilities, exact for single moves and swaps;
    `improvement` looks at every allocation.

    Args:
        utilities: (agents, accelerators).
        owner: Of each accelerator; -1 for nobody.
    """
    accelerators = np.arange(utilities.shape[1])
    held = np.where(owner >= 0, utilities[np.maximum(owner, 0), accelerators], 0.0)
    unused = held <= 0
    if np.any(utilities[:, unused] > 0):
        return True
    # Gain of c's owner when it takes d instead of c; a swap pays when neither loses and one gains.
    take = np.where((owner >= 0)[:, None], utilities[np.maximum(owner, 0)], 0.0) - held[:, None]
    other = take.T
    return bool(np.any((take >= 0) & (other >= 0) & (take + other > 1e-12) & (owner[:, None] != owner[None, :])))


def improvement(utilities: Floats, owner: Ints) -> Ints | None:
    """An allocation in which nobody is worse off and somebody is better off (3.6), over all there are; or None.

    Exact for one round of additive utilities: an integer program (HiGHS), for studies and tests, not for a board.

    Args:
        utilities: (agents, accelerators).
        owner: Of each accelerator; -1 for nobody.

    Returns:
        The owner of each accelerator in the allocation that gains most, -1 where nobody has a use for it.
    """
    from eddy.model.highs import make_solver

    agents, accelerators = utilities.shape
    held = np.zeros(agents)
    owned = np.flatnonzero(owner >= 0)
    np.add.at(held, owner[owned], utilities[owner[owned], owned])
    model = make_solver()
    given = [[model.addBinary() for _ in range(accelerators)] for _ in range(agents)]
    gains = [sum(float(utilities[a, c]) * given[a][c] for c in range(accelerators)) for a in range(agents)]
    for c in range(accelerators):
        model.addConstr(sum(given[a][c] for a in range(agents)) <= 1)
    for gain, least in zip(gains, held, strict=True):
        model.addConstr(gain >= float(least))
    model.maximize(sum(gains))
    chosen = np.array([[model.val(given[a][c]) for c in range(accelerators)] for a in range(agents)]) > 0.5
    if float((utilities * chosen).sum()) <= held.sum() + 1e-6 * max(float(utilities.max()), 1e-300):
        return None
    return np.where((utilities * chosen).max(axis=0) > 0, chosen.argmax(axis=0), -1)


def welfare(utilities: Floats, weights: Floats) -> float:
    """Weighted social welfare: the weighted average of what the agents got (5.3)."""
    return float((weights * utilities).sum() / weights.sum())
