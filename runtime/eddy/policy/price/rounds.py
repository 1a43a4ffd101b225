# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a policy that shares by rounds sees, and what it decides ([003] 3.1).

A round lasts a fixed board time. In each, every accelerator is given to one agent. Policies are values with `initial()`
and `decide(view)`: the hypervisor, the simulator and a replayed trace call the very same object. What a policy
wants to remember (tokens, turns, passes) it returns as `memory` and finds in the next view. On a live board its rounds
become shares of an epoch (`round_shares`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NOBODY = -1
"""Owner of an accelerator that nobody has a use for."""


@dataclass(frozen=True, slots=True, eq=False)
class RoundView:
    """The world at the start of one round.

    Attributes:
        round: Counts from 0.
        weights: What each agent is entitled to, relative to the others; (agents,), positive.
        utilities: What each agent would get done on each accelerator in this round, in rounds of its own fastest
            accelerator: 1 is a fastest accelerator busy throughout; (agents, accelerators), 0 or more.
        urgent: The same work, every piece counted by the square of the part of its time to the deadline that will have
            passed when the round ends: in full where it is lost unless served now; same shape, at most `utilities`.
        memory: What the policy returned last time; `initial()` the first time.
    """

    round: int
    weights: Floats
    utilities: Floats
    urgent: Floats
    memory: Any


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """Who holds which accelerator in the round.

    Attributes:
        owner: Agent of each accelerator, or `NOBODY`; (accelerators,).
        memory: For the next view.
    """

    owner: Ints
    memory: Any


class RoundPolicy(Protocol):
    """What gives accelerators to agents."""

    @property
    def name(self) -> str:
        """As `--policy` and the studies call it."""
        ...

    def initial(self, weights: Floats, accelerators: int) -> Any:
        """Memory before the first round."""
        ...

    def decide(self, view: RoundView) -> Owners:
        """Give every accelerator that anyone has a use for to one agent."""
        ...
