"""The Fisher market ([000] chapter 3) as a price policy: prices at which everybody's best shares clear the clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eddy.market import Candidate, Equilibrium, choose_configuration, equilibrium
from eddy.policy.price.view import Configuration, Floats, PriceDecision, PriceView, unpriced

_LEAST_FRACTION = 1e-6
"""F of a kernel that was never seen to be parallel: the market takes no 0."""


@dataclass(frozen=True, slots=True)
class Market:
    """Shares, prices, and the configuration of most Nash welfare.

    Every epoch starts from the prices of the last (where it starts from scratch, a cluster's price is nobody's
    knowledge); the memory is the last price of every slot.

    Attributes:
        utility: "deliverable" is what slices of time can deliver; "amdahl" is (3.2) to the letter.
        horizon_s: Board seconds a configuration is expected to stay: a change that costs more than it gains over
            them is not made.
    """

    utility: str = "deliverable"
    horizon_s: float = 10.0
    name: str = "market"

    def initial(self) -> Mapping[int, float]:
        """No prices yet."""
        return {}

    def decide(self, view: PriceView) -> PriceDecision:
        """The equilibrium on what is loaded; and whether something else would be worth loading."""
        here, able = view.present, view.present.throughput.any(axis=1)
        shares, prices = np.zeros(here.throughput.shape), unpriced(view)
        if able.any():
            found = self._equilibrium(view, able)
            shares[able], prices = found.shares, found.prices
        memory = {cluster.slot: float(price) for cluster, price in zip(here.clusters, prices, strict=True)}
        return PriceDecision(shares, prices, self._configuration(view), memory)

    def _equilibrium(self, view: PriceView, able: NDArray[np.bool_]) -> Equilibrium:
        here = view.present
        start = np.array([view.memory.get(cluster.slot, 0.0) for cluster in here.clusters])
        return equilibrium(
            fractions(here)[able],
            here.throughput[able],
            view.weights[able],
            here.capacity,
            utility=self.utility,
            start=start if start.any() else None,
        )

    def _configuration(self, view: PriceView) -> str:
        """Another configuration, where one is worth its loads; "" where none is."""
        if not view.alternatives:
            return ""
        every = [view.present, *view.alternatives]
        candidates = [Candidate(c.name, fractions(c), c.throughput, c.capacity, c.change_s) for c in every]
        choice = choose_configuration(candidates, view.weights, view.present.name, self.horizon_s, self.utility)
        return "" if choice.name == view.present.name else choice.name


def fractions(configuration: Configuration) -> Floats:
    """F as the market takes it, (n, m)."""
    return np.clip(configuration.parallel_fraction, _LEAST_FRACTION, 1.0)
