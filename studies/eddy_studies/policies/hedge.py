# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`mtf_hedge`: most token first with the thresholds that [003]'s Algorithm 2 learned."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from eddy.core.errors import InvalidRequest
from eddy.policy.price.learned import entitled_tokens, median
from eddy.policy.price.mtf import MostTokenFirst
from eddy.policy.price.round_shares import RoundShares
from eddy.policy.price.rounds import Floats, Ints, RoundView
from eddy.policy.price.thresholds import LEVELS, track_peak
from eddy.policy.price.view import PricePolicy


@dataclass(frozen=True, slots=True, eq=False)
class Hedge:
    """What Algorithm 2 learned: for every state of the budget, how much weight each level has.

    Attributes:
        chances: (budget states, levels), rows sum to 1.
        levels: The median of each row.
    """

    chances: Floats
    name: str = "hedge"
    levels: Floats = field(init=False)

    def __post_init__(self) -> None:
        """The medians do not change from round to round."""
        object.__setattr__(self, "levels", median(self.chances))

    def initial(self, weights: Floats, accelerators: int) -> Floats:
        """Nobody has seen anything."""
        return np.zeros(len(weights))

    def compute_thresholds(self, view: RoundView, budgets: Floats, best: Floats) -> tuple[Floats, Floats]:
        """The median level of the budget's state, as a fraction of the agent's peak."""
        peak = track_peak(view.memory.thresholds, best)
        return self.levels[budget_state(budgets, view.weights, len(self.levels))] * peak, peak


def budget_state(budgets: Floats, weights: Floats, states: int) -> Ints:
    """Which learner an agent uses: its tokens over what it is entitled to, from none to twice as much, in equal steps.

    [003] has a learner for every number of tokens; with hundreds of tokens most would never be trained.
    """
    held = budgets / entitled_tokens(weights, float(budgets.sum()) or 1.0)
    return np.asarray(np.clip(held * (states / 2), 0, states - 1).astype(np.int64))


def hedge_from(document: Mapping[str, Any]) -> Hedge:
    """The table in a document that `eddy_studies.mtf.training` wrote.

    Raises:
        InvalidRequest: it was trained for other levels.
    """
    chances = np.array(document["chances"], dtype=np.float64)
    if chances.ndim != 2 or chances.shape[1] != len(LEVELS):
        raise InvalidRequest(f"the table must have {len(LEVELS)} levels a row: train it again", field="chances")
    return Hedge(chances)


@lru_cache
def trained_hedge() -> Hedge:
    """The table that ships."""
    return hedge_from(json.loads(files(__package__).joinpath("hedge.json").read_text(encoding="utf-8")))


def rounds() -> MostTokenFirst:
    """Round after round."""
    return MostTokenFirst(trained_hedge(), name="mtf_hedge")


def live() -> PricePolicy:
    """As `--price` takes it."""
    return RoundShares(rounds())
