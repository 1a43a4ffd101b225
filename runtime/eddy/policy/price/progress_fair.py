# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""HSM-Fair ([001] 4.3) on any predictor: cores move until predicted progress is the same for all.

All start with their entitled part. After each epoch progress is predicted; where the smallest is less than `threshold`
of the largest, cores move from those ahead to those behind, as far as the curves say makes them alike. [001] does this
for the first and the last of two; here all move at once, which is the same for two. It starts even again when clusters
are others. Who comes, or runs other kernels than before, has its entitled part until it was counted, and the others go
on: fairness among them does not end because somebody's kernels do.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from eddy.model.progress import HsmPredictor, ProgressPredictor
from eddy.model.slowdown import fairness
from eddy.policy.price.progress import (
    MIN_PART,
    Curves,
    SharedCores,
    allocation_key,
    curves_of,
    equalize_progress,
    split_by_weight,
    whole_cores,
)
from eddy.policy.price.view import Floats, PriceDecision, PriceView, Traits, zero_prices


@dataclass(frozen=True, slots=True)
class ProgressFair:
    """The same progress per weight on every cluster.

    Attributes:
        predictor: Says who progresses how far.
        threshold: Fairness, smallest over largest progress, from which on nothing moves.
        least: Part of its entitled share that nobody falls below.
        whole: Whether cores are moved whole.
        name: As `--price` takes it.
    """

    predictor: ProgressPredictor = field(default_factory=HsmPredictor)
    threshold: float = 0.9
    least: float = MIN_PART
    whole: bool = False
    name: str = "hsm_fair"

    @property
    def traits(self) -> Traits:
        """It needs counters."""
        return Traits(by_progress=True, kept=self.least)

    def initial(self) -> SharedCores:
        """Nothing was shared."""
        return SharedCores()

    def decide(self, view: PriceView) -> PriceDecision:
        """Each cluster by itself."""
        before: SharedCores = view.memory
        found = allocation_key(view)
        began = {row for row, name in enumerate(view.tenants) if before.who.get(name) != found[name]}
        columns = []
        for column in range(len(view.present.clusters)):
            start = split_by_weight(view, column)
            now = start
            if before.shares is not None and before.of == view.present.clusters:
                same = list(before.who.items()) == list(found.items())
                now = self._shares(view, column, start, before.shares[:, column] if same else None, began)
            columns.append(self._round_shares(view, column, start, now))
        shares = np.stack(columns, axis=1) if columns else np.zeros((len(view.tenants), 0))
        return PriceDecision(shares, zero_prices(view), "", SharedCores(view.present.clusters, found, shares))

    def _round_shares(self, view: PriceView, column: int, start: Floats, shares: Floats) -> Floats:
        able = [bool(each > 0) for each in start]
        return whole_cores(shares, view.present.clusters[column].cores, able) if self.whole else shares

    def _shares(self, view: PriceView, column: int, start: Floats, now: Floats | None, began: set[int]) -> Floats:
        """`now` is None where somebody came, left, or runs other kernels: what was counted of the others holds."""
        curves = curves_of(view, column, self.predictor)
        known = [r for r, curve in enumerate(curves) if curve is not None and start[r] > 0 and r not in began]
        if len(known) < 2:
            return start if now is None else now
        if now is not None and self._is_fair(view, curves, known):
            return now
        return self._moved(view, curves, known, start)

    def _is_fair(self, view: PriceView, curves: Curves, known: list[int]) -> bool:
        return fairness([c.progress / float(view.weights[i]) for i in known if (c := curves[i])]) >= self.threshold

    def _moved(self, view: PriceView, curves: Curves, known: list[int], start: Floats) -> Floats:
        """Those of whom nothing was counted have their entitled part; the others share the rest."""
        after = start.copy()
        found = [curve for row in known if (curve := curves[row])]
        weights, least = [float(view.weights[row]) for row in known], [self.least * start[row] for row in known]
        after[known] = equalize_progress(found, weights, least, float(start[known].sum()))
        return after
