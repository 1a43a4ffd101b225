# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Weighted equal speedup ([000] 5.3, (5.1)): on each cluster, everybody's speedup over its weight is the same.

The largest smallest u(x) / w on a cluster is where all of them are equal: utility grows with x, so whoever had more
could give some to whoever has least. So one number t a cluster is sought, with u_i(x_i) = t w_i and the x_i adding up
to the cluster; it is found by bisection, to the last bit, in all clusters at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eddy.policy.price.view import Floats, PriceDecision, PriceView, Traits, zero_prices

Mask = NDArray[np.bool_]

_HALVINGS = 100
"""Enough for neighbouring doubles, wherever they are."""


@dataclass(frozen=True, slots=True)
class EqualSpeedup:
    """Shares at which speedups are in proportion to weights.

    Attributes:
        deliverable: Whether utility is linear below one PE, which is what slices of time deliver; else it is (3.2).
    """

    deliverable: bool = True
    name: str = "equal_speedup"
    traits: ClassVar[Traits] = Traits(by_weight=False)

    def initial(self) -> None:
        """Nothing to remember."""

    def decide(self, view: PriceView) -> PriceDecision:
        """Each cluster by itself, between those who can use it; nobody's where none can."""
        here = view.present
        weights = np.broadcast_to(view.weights[:, None], here.throughput.shape)
        shares = equalised(here.parallel_fraction, here.throughput, weights, here.capacity, self.deliverable)
        return PriceDecision(shares, zero_prices(view))


def equalised(
    fraction: Floats, throughput: Floats, weights: Floats, capacity: Floats, deliverable: bool = True
) -> Floats:
    """Shares (n, m) at which u / w is the same for all who can use a cluster, and as large as it can be (5.1).

    Args:
        fraction: F, (n, m), in (0, 1].
        throughput: f over f_base, (n, m); who has 0 gets nothing.
        weights: (n, m), positive.
        capacity: PEs, (m,).
        deliverable: See `EqualSpeedup`.
    """
    able = throughput > 0
    slope = weights / np.where(able, throughput, 1.0)
    # Utility never exceeds f / (1 - F), and with every PE of the cluster it is at most f P.
    low = np.zeros(len(capacity))
    high = np.where(able, capacity / slope, np.inf).min(axis=0)
    high = np.where(np.isfinite(high), high, 0.0)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        enough = _needed(middle * slope, fraction, able, deliverable).sum(axis=0) <= capacity
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    shares = _needed(low * slope, fraction, able, deliverable)
    given = shares.sum(axis=0)
    return np.asarray(shares * np.where(given > 0, capacity / np.where(given > 0, given, 1.0), 0.0))


def _needed(speed: Floats, fraction: Floats, able: Mask, deliverable: bool) -> Floats:
    """PEs that give a speed, in multiples of the throughput: the inverse of (3.2); infinite where none do."""
    rest = 1.0 - speed * (1.0 - fraction)
    with np.errstate(divide="ignore"):
        needed = np.where(rest > 0, speed * fraction / np.where(rest > 0, rest, 1.0), np.inf)
    if deliverable:
        needed = np.where(speed <= 1.0, speed, needed)
    return np.where(able, needed, 0.0)
