# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Deadline-aware prices: every accelerator goes where it saves most, and nobody falls below its share.

Not published: found beside [003]. Two changes to the unconstrained maximum of the weighted welfare:

- Work counts by its urgency. A queue that will be as full in the next round, and loses nothing meanwhile, can wait.
- An agent that gets less than its share of what it has on offer sees its price rise, until it is served. These are
  Lagrange multipliers of "everybody gets its share", followed by subgradient steps. The lowest price is always 0: where
  not everybody can have the margin, it is lost by all alike, and each gets its share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from eddy.policy.price.round_shares import RoundShares
from eddy.policy.price.rounds import NOBODY, Floats, Owners, RoundView
from eddy.policy.price.view import PricePolicy

_LITTLE = 1e-9


@dataclass(frozen=True, slots=True)
class DeadlinePrices:
    """The largest weight x (1 + price) x urgent work takes the accelerator; ties by index.

    Attributes:
        margin: Part of its share an agent is due. Above 1, since whoever is served more often has less on offer.
        step: How much a price rises in a round in which its agent gets nothing, over the margin.
    """

    margin: float = 1.3
    step: float = 0.3
    name: str = "deadline_prices"

    def initial(self, weights: Floats, accelerators: int) -> Floats:
        """Prices of 0; (agents,)."""
        return np.zeros(len(weights))

    def decide(self, view: RoundView) -> Owners:
        """Work that is not urgent at all still goes before idling."""
        prices: Floats = view.memory
        agents, accelerators = view.utilities.shape
        value = (view.weights * (1.0 + prices))[:, None] * (view.urgent + _LITTLE * view.utilities)
        best = value.argmax(axis=0)
        columns = np.arange(accelerators)
        used = value[best, columns] > 0
        got = np.bincount(best, weights=view.utilities[best, columns], minlength=agents)
        due = view.utilities.sum(axis=1) * (view.weights / view.weights.sum())
        # Whoever has nothing to run is due nothing, and its price stays.
        lacking = np.where(due > _LITTLE, self.margin - got / np.maximum(due, _LITTLE), 0.0)
        prices = np.maximum(0.0, prices + self.step * lacking)
        return Owners(np.where(used, best, NOBODY), prices - prices.min())


def live() -> PricePolicy:
    """As `--price` takes it."""
    return RoundShares(DeadlinePrices())
