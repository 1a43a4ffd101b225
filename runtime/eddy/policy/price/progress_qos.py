# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""HSM-QoS ([001] 4.3) on any predictor: who was promised a progress gets the cores for it, the others share the rest.

A tenant with a target (`PriceView.least_progress`) is kept in a `Band` of predicted progress above it, because
predictions err: below the band it gets the cores at which its curve meets the band's aim, and above it gives back what
it does not need. The rest goes where it adds most to the sum of progress, but nobody falls below `least` of its
entitled share. Where targets together need more than there is, what there is beyond those least parts is divided by
need, but first everybody with a target has the part of the cores that the target is of progress: nobody's counters
take it. Without any target, everybody has the entitled share. Who was promised something and runs other kernels than
before starts from its entitled share; the others go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eddy.model.progress import HsmPredictor, ProgressCurve, ProgressPredictor
from eddy.policy.price.progress import MIN_PART, Curves, cores_for, curves_of, split_by_weight, whole_cores
from eddy.policy.price.view import Floats, PriceDecision, PriceView, Traits, zero_prices

PIECE = 0.25
"""Of a core: what the rest is dealt out in, where cores are not moved whole."""


@dataclass(frozen=True, slots=True)
class Band:
    """Where predicted progress is kept above a target, in parts of the target.

    Attributes:
        low: Below it cores are added.
        aim: Progress that cores are found for.
        high: Above it cores are given back.
    """

    low: float = 1 / 16
    aim: float = 1 / 8
    high: float = 3 / 16

    def of(self, target: float) -> tuple[float, float, float]:
        """The three as progress."""
        return target * (1 + self.low), target * (1 + self.aim), target * (1 + self.high)


WIDE = Band(0.1, 0.15, 0.2125)
"""For a predictor that errs by 7 % in the mean, as HSM's does."""


@dataclass(frozen=True, slots=True, eq=False)
class PromisedCores:
    """What is remembered: the shares in force, and of whom.

    Attributes:
        of: Clusters; with others, sharing starts even. That somebody comes or goes, or runs or asks for something else,
            does not matter to others: a promise to them could be undone by it.
        kernels: Of each tenant, by name.
        promised: Targets of those who have one, by name.
        entitled: PEs each was entitled to, (n, m).
        shares: PEs, (n, m).
    """

    of: tuple[Any, ...] = ()
    kernels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    promised: Mapping[str, float] = field(default_factory=dict)
    entitled: Floats | None = None
    shares: Floats | None = None


@dataclass(frozen=True, slots=True)
class ProgressQos:
    """Targets first, then throughput.

    Attributes:
        predictor: Says who progresses how far.
        band: Where those with a target are kept. A target of 0.8 is aimed at with 0.9, as in [001] 4.3.
        least: Part of its entitled share that nobody falls below.
        whole: Whether cores are moved whole.
        name: As `--price` takes it.
    """

    predictor: ProgressPredictor = field(default_factory=HsmPredictor)
    band: Band = field(default_factory=Band)
    least: float = MIN_PART
    whole: bool = False
    name: str = "hsm_qos"

    @property
    def traits(self) -> Traits:
        """It needs counters."""
        return Traits(by_progress=True, kept=self.least)

    def initial(self) -> PromisedCores:
        """Nothing was shared."""
        return PromisedCores()

    def decide(self, view: PriceView) -> PriceDecision:
        """Each cluster by itself."""
        clusters, before = view.present.clusters, view.memory
        kernels = dict(zip(view.tenants, view.kernels or ((),) * len(view.tenants), strict=True))
        promised = {name: target for name, target in zip(view.tenants, view.least_progress, strict=False) if target > 0}
        began = {row for row, (name, runs) in enumerate(kernels.items()) if before.kernels.get(name) != runs}
        entitled = [split_by_weight(view, column) for column in range(len(clusters))]
        columns = []
        for column, start in enumerate(entitled):
            able, now = [bool(each > 0) for each in start], start
            if before.shares is not None and before.of == clusters:
                asked_anew = before.promised != promised
                now = self._shares(view, column, start, self._carried(before, view, column, start), began, asked_anew)
            columns.append(whole_cores(now, clusters[column].cores, able) if self.whole else now)
        shares, parts = (
            np.stack(each, axis=1) if each else np.zeros((len(view.tenants), 0)) for each in (columns, entitled)
        )
        return PriceDecision(shares, zero_prices(view), "", PromisedCores(clusters, kernels, promised, parts, shares))

    def _carried(self, before: PromisedCores, view: PriceView, column: int, start: Floats) -> Floats:
        """Shares as they were; where somebody came or went, those with targets keep as much of theirs as there is."""
        assert before.shares is not None
        assert before.entitled is not None
        had = before.shares[:, column]
        if tuple(before.kernels) == view.tenants and np.array_equal(before.entitled[:, column], start):
            return np.asarray(had)
        known = dict(zip(before.kernels, had.tolist(), strict=True))
        rows = [row for row, target in enumerate(view.least_progress) if target > 0]
        least = self.least * start
        beyond = np.zeros(len(start))
        for row in rows:
            if start[row] > 0:
                beyond[row] = max(known.get(view.tenants[row], start[row]) - least[row], 0.0)
        spare = float(start.sum() - least.sum())
        if beyond.sum() > spare:
            beyond *= spare / beyond.sum()
        others = start.copy()
        others[rows] = 0.0
        left = spare - float(beyond.sum())
        return np.asarray(least + beyond + (others * (left / others.sum()) if others.sum() > 0 else 0.0))

    def _shares(
        self, view: PriceView, column: int, start: Floats, now: Floats, began: set[int], asked_anew: bool
    ) -> Floats:
        targets = self._targets(view, [bool(each > 0) for each in start])
        if not targets:
            return start
        # What was counted of other kernels says nothing of those that run now.
        counted = enumerate(curves_of(view, column, self.predictor))
        curves = tuple(None if row in began and row in targets else curve for row, curve in counted)
        if asked_anew or began.intersection(targets) or self._out_of_band(curves, targets):
            return self._moved(curves, targets, start, now, view.present.clusters[column].cores)
        return now

    def _targets(self, view: PriceView, able: list[bool]) -> dict[int, float]:
        asked = view.least_progress
        return {row: float(asked[row]) for row in range(len(asked)) if able[row] and asked[row] > 0}

    def _out_of_band(self, curves: Curves, targets: dict[int, float]) -> bool:
        known = [(curve.progress, target) for row, target in targets.items() if (curve := curves[row]) is not None]
        return any(not self._settled(progress, target) for progress, target in known)

    def _settled(self, progress: float, target: float) -> bool:
        low, _, high = self.band.of(target)
        return low <= progress <= high

    def _moved(self, curves: Curves, targets: dict[int, float], start: Floats, now: Floats, cores: int) -> Floats:
        # Of whom nothing was counted, nothing is known: it keeps what it has, or what it is entitled to.
        after = self.least * start
        others = [row for row in range(len(start)) if start[row] > 0 and row not in targets]
        # A part of a tenant's entitled share is everybody's, so that only what is needed beyond it is divided.
        needs = {row: self._need(curves, row, target, now, start) for row, target in targets.items()}
        beyond = {row: max(needs[row] - after[row], 0.0) for row in targets}
        left = cores - float(after.sum())
        if sum(beyond.values()) > left:
            first = {row: min(beyond[row], max(target * cores - after[row], 0.0)) for row, target in targets.items()}
            beyond = _divided(first, beyond, left)
        for row, given in beyond.items():
            after[row] += given
        return self._dealt(curves, others, after, start, cores) if others else after

    def _dealt(self, curves: Curves, others: list[int], after: Floats, start: Floats, cores: int) -> Floats:
        """What is left goes to others in pieces, each where it adds most."""
        has, entitled = after.tolist(), start.tolist()
        step = 1.0 if self.whole else PIECE

        def gain(row: int) -> tuple[float, float]:
            return self._gain(curves[row], has[row], entitled[row], step)

        gains = [gain(row) for row in others]
        while (left := cores - sum(has)) > 1e-9:
            if left < step:
                step = left
                gains = [gain(row) for row in others]
            most = gains.index(max(gains))
            has[others[most]] += step
            gains[most] = gain(others[most])
        return np.array(has)

    def _need(self, curves: Curves, row: int, target: float, now: Floats, start: Floats) -> float:
        curve = curves[row]
        if curve is None:
            return float(start[row])
        if self._settled(curve.progress, target):
            return float(now[row])
        return cores_for(curve, min(self.band.of(target)[1], curve.by_cores[-1]))

    def _gain(self, curve: ProgressCurve | None, has: float, entitled: float, step: float) -> tuple[float, float]:
        """What a piece adds to the sum of progress; then, who lacks most of its entitled share."""
        lacks = (entitled - has) / entitled
        return (0.0 if curve is None else curve.at(has + step) - curve.at(has)), lacks


def _divided(first: dict[int, float], wanted: dict[int, float], left: float) -> dict[int, float]:
    """What each gets where less is left than is wanted: what it has first, then more in proportion to what it lacks."""
    owed = sum(first.values())
    if owed >= left:
        return {row: each * left / owed for row, each in first.items()}
    part = (left - owed) / (sum(wanted.values()) - owed)
    return {row: each + (wanted[row] - each) * part for row, each in first.items()}
