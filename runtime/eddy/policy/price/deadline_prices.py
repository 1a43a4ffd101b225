"""Deadline-aware prices: every accelerator goes where it saves most, and nobody falls below its share.

Not published: found beside [003]. Two changes to the unconstrained maximum of the weighted welfare:

- Work counts by its urgency. A queue that will be as full in the next round, and loses nothing meanwhile, can wait.
- An agent that gets less than its share of what it has on offer sees its price rise, a price that adds to its weight,
  until it is served. These are the Lagrange multipliers of "everybody gets its share", followed by subgradient steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eddy.policy.price.view import NOBODY, Floats, PriceView, Shares


@dataclass(frozen=True, slots=True)
class DeadlinePrices:
    """The largest (weight + price) x urgent work takes the accelerator; ties by index.

    Attributes:
        margin: Part of its share an agent is due. Above 1, since whoever is served more often has less on offer.
        step: How fast prices follow, in weights for a round without service.
    """

    margin: float = 1.3
    step: float = 10.0
    name: str = "deadline_prices"

    def initial(self, weights: Floats, accelerators: int) -> Floats:
        """Prices of 0; (agents,)."""
        return np.zeros(len(weights))

    def decide(self, view: PriceView) -> Shares:
        """Work that is not urgent at all still goes before idling."""
        prices: Floats = view.memory
        agents, accelerators = view.utilities.shape
        value = (view.weights + prices)[:, None] * (view.urgent + 1e-9 * view.utilities)
        best = value.argmax(axis=0)
        columns = np.arange(accelerators)
        used = value[best, columns] > 0
        got = np.bincount(best, weights=view.utilities[best, columns], minlength=agents)
        part = view.weights / view.weights.sum()
        lacking = self.margin * part * view.utilities.sum(axis=1) - got
        prices = np.maximum(0.0, prices + (self.step * view.weights) * lacking / (part * accelerators))
        return Shares(np.where(used, best, NOBODY), prices)
