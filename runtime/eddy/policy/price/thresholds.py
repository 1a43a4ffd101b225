# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""From which utility on an agent pays ([003] 4.1.2): the interface, and thresholds that do not learn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from eddy.policy.price.rounds import Floats, Ints, RoundView

LEVELS = np.arange(10) / 10
"""What an agent may answer ([003] 4.2.1): 0.0, 0.1, ... 0.9 of the highest utility it can have."""


class Thresholds(Protocol):
    """What answers for the agents."""

    def initial(self, weights: Floats, accelerators: int) -> Any:
        """Memory before the first round."""
        ...

    def compute_thresholds(self, view: RoundView, budgets: Floats, best: Floats) -> tuple[Floats, Any]:
        """Threshold of each agent in the units of `view.utilities`, (agents,), and what to remember.

        `view.memory` is the purse; its `thresholds` is what was remembered. `best` is `highest(view.utilities)`.
        """
        ...


PEAK_FADE = 0.99
"""What of an agent's best utility counts in the next round."""


def highest(utilities: Floats) -> Floats:
    """`utilities.max(axis=-1)`, by the position of the maximum: in numpy that takes half the time for short rows."""
    rows, accelerators = utilities.shape[:-1], utilities.shape[-1]
    at = utilities.argmax(axis=-1)
    if len(rows) == 1:
        best: Floats = utilities.ravel().take(at + _starts(rows[0], accelerators))
        return best
    return highest(utilities.reshape(-1, accelerators)).reshape(rows)


@lru_cache(maxsize=64)
def _starts(rows: int, columns: int) -> Ints:
    """Where each row of a table begins."""
    return np.arange(rows) * columns


def track_peak(peak: Floats, best: Floats) -> Floats:
    """The best utility seen so far, fading, of which levels are fractions; (..., agents).

    Args:
        peak: As it was a round ago.
        best: The `highest` of this round.
    """
    return np.asarray(np.maximum(PEAK_FADE * peak, best))


@dataclass(frozen=True, slots=True)
class Relative:
    """The same level for every agent, as a fraction of the best it has seen."""

    level: float = 0.5

    def initial(self, weights: Floats, accelerators: int) -> Floats:
        """Nobody has seen anything."""
        return np.zeros(len(weights))

    def compute_thresholds(self, view: RoundView, budgets: Floats, best: Floats) -> tuple[Floats, Floats]:
        """The level times the agent's peak."""
        peak = track_peak(view.memory.thresholds, best)
        return self.level * peak, peak


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same threshold for every agent, always."""

    level: float = 0.0

    def initial(self, weights: Floats, accelerators: int) -> None:
        """Nothing to remember."""

    def compute_thresholds(self, view: RoundView, budgets: Floats, best: Floats) -> tuple[Floats, None]:
        """The level."""
        return np.full(len(budgets), self.level), None
