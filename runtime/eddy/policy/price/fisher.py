# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The Fisher market ([000] chapter 3) as a price policy: prices at which everybody's best shares clear the clusters.

On floor(x) or ceil(x) cores in time, a share between whole numbers of cores delivers what lies between them on the
straight, and (3.2) promises a little more. A tenant for which that is more than it gained from trading keeps its part
of every cluster, and the others trade with what is left, in which their parts are what they were. So nobody's shares
deliver less than its entitlement does, and those of the others are an equilibrium among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eddy.market import Candidate, choose_configuration, equilibrium, sliced_utility
from eddy.market.problem import check_market
from eddy.policy.price.view import Configuration, Floats, PriceDecision, PriceView, Traits, zero_prices

_MIN_FRACTION = 1e-6
"""F of a kernel that was never seen to be parallel: the market takes no 0."""
_SAME = 1e-12
"""Relative difference of two utilities that counts as none."""


@dataclass(frozen=True, slots=True)
class FisherMarket:
    """Shares, prices, and the configuration of most Nash welfare.

    Every epoch starts from the prices of the last (where it starts from scratch, a cluster's price is nobody's
    knowledge); the memory is the last price of every slot.

    Attributes:
        utility: "deliverable" is what slices of time can deliver; "amdahl" is (3.2) to the letter, and
            everybody trades.
        horizon_s: Board seconds a configuration is expected to stay: a change that costs more than it gains over
            them is not made.
    """

    utility: str = "deliverable"
    horizon_s: float = 10.0
    name: str = "market"
    traits: ClassVar[Traits] = Traits()

    def initial(self) -> Mapping[int, float]:
        """No prices yet."""
        return {}

    def decide(self, view: PriceView) -> PriceDecision:
        """The equilibrium on what is loaded; and whether something else would be worth loading."""
        here, able = view.present, view.present.throughput.any(axis=1)
        shares, prices = np.zeros(here.throughput.shape), zero_prices(view)
        if able.any():
            shares[able], prices = self._shares(view, able)
        memory = {cluster.slot: float(price) for cluster, price in zip(here.clusters, prices, strict=True)}
        return PriceDecision(shares, prices, self._configuration(view), memory)

    def _shares(self, view: PriceView, able: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Shares of those who can use a cluster, and prices."""
        here = view.present
        fraction, throughput, weights = fractions(here)[able], here.throughput[able], view.weights[able]
        whole = check_market(fraction, throughput, weights, here.capacity, self.utility)
        part = whole.budgets[:, None] * here.capacity * (throughput > 0)
        due, trades, shares = sliced_utility(whole, part) * (1 - _SAME), np.ones(len(weights), np.bool_), part.copy()
        last = np.array([view.memory.get(cluster.slot, 0.0) for cluster in here.clusters])
        while trades.any():
            left = here.capacity - part[~trades].sum(axis=0)
            found = equilibrium(
                *(fraction[trades], throughput[trades], weights[trades], left, self.utility),
                start=last if last.any() else None,
                in_digits=False,
            )
            shares[trades], last = found.shares, found.prices
            short = trades & (sliced_utility(whole, shares) < due)
            if self.utility == "amdahl" or not short.any():
                break
            shares[short], trades[short] = part[short], False
        # What none of those who trade can use is for those who keep their part of it.
        shares *= throughput > 0
        given = shares.sum(axis=0)
        shares *= np.where(given > 0, here.capacity / np.where(given > 0, given, 1.0), 0.0)
        return shares, last / float(last @ here.capacity)

    def _configuration(self, view: PriceView) -> str:
        """Another configuration, where one is worth its loads; "" where none is."""
        if not view.alternatives:
            return ""
        every = [view.whole or view.present, *view.alternatives]
        candidates = [Candidate(c.name, fractions(c), c.throughput, c.capacity, c.change_s) for c in every]
        choice = choose_configuration(candidates, view.weights, view.present.name, self.horizon_s, self.utility)
        return "" if choice.name == view.present.name else choice.name


def fractions(configuration: Configuration) -> Floats:
    """F as the market takes it, (n, m)."""
    return np.clip(configuration.parallel_fraction, _MIN_FRACTION, 1.0)
