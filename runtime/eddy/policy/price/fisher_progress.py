# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The market of [000] on measured progress ([001]): nobody pays for cores that memory keeps from working.

(3.2) of [000] takes every PE of a cluster to work at its throughput, whatever others do. A kernel that memory bounds
goes no faster from some number of cores on. Two things are changed for it, by its predicted curve:

- Its parallel fraction on that cluster becomes the one with which (3.2) rises from one core to all as the curve does,
  where that is less than what its instructions say. So further cores are worth as little to it as they bring, and it
  spends its money where they bring more.
- What it would still hold beyond saturation goes to the others, in proportion to what they spend there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from eddy.model.parallel_fraction import karp_flatt_fraction
from eddy.model.progress import HsmPredictor, ProgressCurve, ProgressPredictor
from eddy.policy.price.fisher import FisherMarket
from eddy.policy.price.progress import curves_of
from eddy.policy.price.view import Floats, PriceDecision, PriceView, Traits

_MIN_FRACTION = 1e-3
Columns = list[tuple[ProgressCurve | None, ...]]


@dataclass(frozen=True, slots=True)
class ProgressMarket:
    """The equilibrium for utilities that know of saturation; without counters, the market as it is.

    Attributes:
        predictor: Says who progresses how far.
        market: Finds prices and shares.
        name: As `--price` takes it.
    """

    predictor: ProgressPredictor = field(default_factory=HsmPredictor)
    market: FisherMarket = field(default_factory=FisherMarket)
    name: str = "market_progress"
    traits: ClassVar[Traits] = Traits(by_progress=True)

    def initial(self) -> Mapping[int, float]:
        """As the market's."""
        return self.market.initial()

    def decide(self, view: PriceView) -> PriceDecision:
        """The market's decision on corrected fractions, less what nobody could use."""
        columns = [curves_of(view, column, self.predictor) for column in range(len(view.present.clusters))]
        fraction = view.present.parallel_fraction.copy()
        for column, curves in enumerate(columns):
            for row, curve in enumerate(curves):
                if curve is not None and curve.memory_bound:
                    fraction[row, column] = min(fraction[row, column], saturating_fraction(curve))
        found = self.market.decide(replace(view, present=replace(view.present, parallel_fraction=fraction)))
        return replace(found, shares=_useful(found.shares, columns))


def saturating_fraction(curve: ProgressCurve) -> float:
    """F with which (3.2) rises from one core to all by as much as a curve does; 1 where it is a straight."""
    cores = len(curve.by_cores) - 1
    if cores < 2 or curve.by_cores[1] <= 0:
        return 1.0
    gain = curve.by_cores[-1] / curve.by_cores[1]
    return min(max(karp_flatt_fraction(max(gain, 1.0), cores), _MIN_FRACTION), 1.0)


def _useful(shares: Floats, columns: Columns) -> Floats:
    """Shares of which nobody has more than helps it, as far as others can use the rest."""
    after = shares.copy()
    for column, curves in enumerate(columns):
        most = np.array([np.inf if c is None or not c.memory_bound else float(c.most_cores) for c in curves])
        if not (after[:, column] > most).any():
            continue
        left, open_ = float(after[:, column].sum()), after[:, column] > 0
        held = np.where(open_, after[:, column], 0.0)
        # Who is full stays full while the others' parts grow, so this ends after as many steps as there are tenants.
        while open_.any() and held[open_].sum() > 0:
            grown = held * (left / held[open_].sum())
            full = open_ & (grown > most)
            if not full.any():
                after[open_, column] = grown[open_]
                break
            after[full, column] = most[full]
            left -= float(most[full].sum())
            open_ &= ~full
    return after
