"""From which utility on an agent pays ([003] 4.1.2): the interface, and thresholds that do not learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from eddy.policy.price.view import Floats, PriceView

LEVELS = np.arange(10) / 10
"""What an agent may answer ([003] 4.2.1): 0.0, 0.1, ... 0.9 of the highest utility it can have."""


class Thresholds(Protocol):
    """What answers for the agents."""

    def initial(self, weights: Floats, accelerators: int) -> Any:
        """Memory before the first round."""
        ...

    def ask(self, view: PriceView, budgets: Floats) -> tuple[Floats, Any]:
        """Threshold of each agent in the units of `view.utilities`, (agents,), and what to remember.

        `view.memory` is the purse; its `thresholds` is what was remembered.
        """
        ...


PEAK_FADE = 0.99
"""What of an agent's best utility counts in the next round."""


def risen(peak: Floats, utilities: Floats) -> Floats:
    """The best utility seen so far, fading, of which levels are fractions; (..., agents)."""
    return np.asarray(np.maximum(PEAK_FADE * peak, utilities.max(axis=-1)))


@dataclass(frozen=True, slots=True)
class Relative:
    """The same level for every agent, as a fraction of the best it has seen."""

    level: float = 0.5

    def initial(self, weights: Floats, accelerators: int) -> Floats:
        """Nobody has seen anything."""
        return np.zeros(len(weights))

    def ask(self, view: PriceView, budgets: Floats) -> tuple[Floats, Floats]:
        """The level times the agent's peak."""
        peak = risen(view.memory.thresholds, view.utilities)
        return self.level * peak, peak


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same threshold for every agent, always."""

    level: float = 0.0

    def initial(self, weights: Floats, accelerators: int) -> None:
        """Nothing to remember."""

    def ask(self, view: PriceView, budgets: Floats) -> tuple[Floats, None]:
        """The level."""
        return np.full(len(budgets), self.level), None
