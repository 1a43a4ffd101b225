# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The unconstrained maximum of the round's weighted welfare: a yardstick, fair to nobody."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from eddy.policy.price.round_shares import RoundShares
from eddy.policy.price.rounds import NOBODY, Floats, Owners, RoundView
from eddy.policy.price.view import PricePolicy, Traits


@dataclass(frozen=True, slots=True)
class MaxWeight:
    """Every accelerator to the agent for which weight x utility is largest; ties by index."""

    name: str = "max_weight"

    def initial(self, weights: Floats, accelerators: int) -> None:
        """Nothing to remember."""

    def decide(self, view: RoundView) -> Owners:
        """The column maxima."""
        value = view.weights[:, None] * view.utilities
        owner = value.argmax(axis=0)
        return Owners(np.where(value.max(axis=0) > 0, owner, NOBODY), None)


def live() -> PricePolicy:
    """As `--price` takes it."""
    return RoundShares(MaxWeight(), traits=Traits(by_weight=False))
