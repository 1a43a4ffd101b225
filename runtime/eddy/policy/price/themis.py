# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Themis ([003] 5.1): in every round make the largest finish-time ratio as small as possible.

The ratio of an agent is T_sh / T_id: the time its work takes on what it was given, over the time on its share of
every accelerator. Work arrives in a stream here, so the times are those of everything it could have run so far at the
rate achieved so far: T_sh / T_id = (served on its share) / (served). Only work in the queues counts (*queue-aware*): an
agent without work falls behind nobody. Old rounds fade, so that the past does not decide for ever.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from eddy.policy.price.rounds import NOBODY, Floats, Ints, Owners, RoundView

_LITTLE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class ServiceHistory:
    """What is remembered: work on the share and work served, both fading; (agents,). `turn` settles ties."""

    share: Floats
    served: Floats
    turn: int


@dataclass(frozen=True, slots=True)
class Themis:
    """Whoever is furthest behind its share takes the accelerator it likes best, until nothing is left that is of use.

    Attributes:
        fade: What of the past counts in the next round.
        weighted: Whether a share is in proportion to the weight. The document says 1/n, whatever the weights; that is
            the same where they are equal, and much weaker where they are not.
    """

    fade: float = 0.95
    weighted: bool = True
    name: str = "themis"

    def initial(self, weights: Floats, accelerators: int) -> ServiceHistory:
        """No past."""
        return ServiceHistory(np.zeros(len(weights)), np.zeros(len(weights)), 0)

    def decide(self, view: RoundView) -> Owners:
        """Largest ratio first; of equal ones, the agent whose turn comes sooner."""
        past: ServiceHistory = view.memory
        weights = view.weights if self.weighted else np.ones_like(view.weights)
        portion = weights / weights.sum()
        share = self.fade * past.share + portion * view.utilities.sum(axis=1)
        owner, served = level(view.utilities, share, self.fade * past.served, past.turn)
        return Owners(owner, ServiceHistory(share, served, (past.turn + 1) % len(share)))


def level(utilities: Floats, share: Floats, served: Floats, turn: int) -> tuple[Ints, Floats]:
    """Give accelerators out, one by one, to the agent of largest `share / served`.

    Returns:
        Owner of each accelerator; `served` after the round.
    """
    agents, accelerators = utilities.shape
    open_ = utilities.copy()
    owner = np.full(accelerators, NOBODY)
    done = served.tolist()
    due = share.tolist()
    queue = [(-due[a] / (done[a] + _LITTLE), (a - turn) % agents) for a in range(agents) if due[a] > 0]
    heapq.heapify(queue)
    free = accelerators
    while queue and free:
        place = queue[0][1]
        agent = (place + turn) % agents
        likes = open_[agent]
        best = int(likes.argmax())
        gain = float(likes[best])
        if gain <= 0:
            heapq.heappop(queue)
            continue
        owner[best] = agent
        open_[:, best] = 0.0
        done[agent] += gain
        free -= 1
        heapq.heapreplace(queue, (-due[agent] / (done[agent] + _LITTLE), place))
    return owner, np.array(done)
