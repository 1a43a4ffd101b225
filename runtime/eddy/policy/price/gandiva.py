# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Gandiva-fair's stride scheduling ([003] 5.1): on every accelerator, turns in proportion to weights.

Strong in three ways beyond the text: the accelerators' orders are *staggered*, so that an agent's turns spread over the
rounds; a turn nobody can use is not wasted (*work-conserving*); and an agent that was idle does not save up turns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eddy.policy.price.rounds import NOBODY, Floats, Owners, RoundView


@dataclass(frozen=True, slots=True)
class GandivaFair:
    """The agent with the smallest pass goes next, on each accelerator for itself; its pass grows by 1 / weight.

    Attributes:
        work_conserving: Whether an agent with nothing to run is passed over. Without it this is an exclusive share.
    """

    work_conserving: bool = True
    name: str = "gandiva"

    def initial(self, weights: Floats, accelerators: int) -> Floats:
        """First passes, (agents, accelerators): turns start spread over each agent's stride.

        Agent a's first turn on accelerator c comes after a fraction of its stride; the fractions are spaced by the
        golden ratio over agents and evenly over accelerators.
        """
        agent = np.arange(len(weights))[:, None] * 0.6180339887498949
        shift = np.arange(accelerators)[None, :] / accelerators
        return ((agent + shift) % 1.0) / weights[:, None]

    def decide(self, view: RoundView) -> Owners:
        """Smallest pass first; ties by index."""
        passes: Floats = view.memory
        able = view.utilities > 0 if self.work_conserving else np.ones_like(view.utilities, dtype=bool)
        order = np.where(able, passes, np.inf)
        owner = order.argmin(axis=0)
        columns = np.arange(order.shape[1])
        now = order[owner, columns]
        anyone = np.isfinite(now)
        # Who could not use its turn starts again from now: turns are not saved up.
        after = np.maximum(passes, np.where(anyone, now, -np.inf)[None, :])
        after[owner, columns] += np.where(anyone, 1.0 / view.weights[owner], 0.0)
        return Owners(np.where(anyone, owner, NOBODY), after)
