# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What policies that go by predicted progress have in common ([001] 4.2): curves, even starts, and levels.

Cores are shared in parts of a core, because slices of time deliver them; `whole` rounds to whole cores, as [001] moves
them. Progress counts per weight: with equal weights this is [001].
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eddy.model.progress import ClusterEpoch, ProgressCurve, ProgressPredictor
from eddy.policy.price.view import Floats, PriceView

Curves = tuple[ProgressCurve | None, ...]
MIN_PART = 0.25
"""Part of its entitled share that nobody falls below, whatever anybody's counters say. What a tenant can gain by
misleading the predictor is bounded by it."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedCores:
    """What is remembered: the shares in force, and for whom and which kernels they were found.

    Attributes:
        of: Clusters; with others, sharing starts even.
        who: Of each tenant its weight, its kernels, and which clusters it can use, by name.
        shares: PEs, (n, m).
    """

    of: tuple[Any, ...] = ()
    who: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    shares: Floats | None = None


def allocation_key(view: PriceView) -> dict[str, tuple[Any, ...]]:
    """What a tenant's part of an allocation holds for, by name."""
    kernels = view.kernels or ((),) * len(view.tenants)
    able = [row.tobytes() for row in view.present.throughput > 0]
    return dict(zip(view.tenants, zip(view.weights.tolist(), kernels, able, strict=True), strict=True))


def split_by_weight(view: PriceView, column: int) -> Floats:
    """Cores of a cluster by weight, between those who can use it; (n,)."""
    weights = np.where(view.present.throughput[:, column] > 0, view.weights, 0.0)
    total = float(weights.sum())
    capacity = float(view.present.clusters[column].cores)
    return np.asarray(weights * (capacity / total) if total > 0 else np.zeros(len(weights)))


def curves_of(view: PriceView, column: int, predictor: ProgressPredictor) -> Curves:
    """Everybody's curve on a cluster; None where nothing was counted, or nothing is known of the cluster's memory."""
    nothing: Curves = (None,) * len(view.tenants)
    if column >= len(view.machines) or not view.sharing:
        return nothing
    machine = view.machines[column]
    if machine is None:
        return nothing
    able = view.present.throughput[:, column] > 0
    counted = tuple(row[column] if can else None for row, can in zip(view.sharing, able, strict=True))
    return predictor.predict(ClusterEpoch(machine.cores, machine.law, counted))


def cores_for(curve: ProgressCurve, progress: float) -> float:
    """Fewest cores that reach a progress, in parts of a core; as many as help at all where none do."""
    return _cores_of(curve.by_cores[: curve.most_cores + 1], progress)


def _cores_of(reached: Sequence[float], progress: float) -> float:
    """On the straights between what 0, 1, ... cores reach; all of these cores where none do."""
    above = bisect_left(reached, progress)
    if above == len(reached):
        return float(above - 1)
    if above == 0:
        return 0.0
    below = reached[above - 1]
    return above - 1 + (progress - below) / (reached[above] - below)


def equalize_progress(
    curves: Sequence[ProgressCurve], weights: Sequence[float], least: Sequence[float], cores: float
) -> Floats:
    """Cores at which everybody's predicted progress per weight is the same, and as much as it can be; (n,).

    Who would need fewer than its least has its least. Who cannot use more has no more, and what nobody can use is left.

    Args:
        curves: Of each.
        weights: Of each, positive.
        least: Cores each has at least; they sum to `cores` at most.
    """
    each = zip(curves, weights, strict=True)
    every = [[p / weight for p in curve.by_cores[: curve.most_cores + 1]] for curve, weight in each]

    def at(level: float) -> list[float]:
        return [max(_cores_of(reached, level), floor) for reached, floor in zip(every, least, strict=True)]

    def asked(level: float) -> float:
        return sum(at(level))

    # Between two of these levels nobody's curve bends, and nobody reaches its least.
    levels = sorted({level for reached in every for level in reached}.union(map(_reached_with, every, least)))
    above = bisect_right(levels, cores, key=asked)
    if above == len(levels):
        return np.array(at(levels[-1]))
    return np.array(_interpolate(at, levels[above - 1] if above else 0.0, levels[above], cores))


def _reached_with(reached: Sequence[float], cores: float) -> float:
    """The inverse of `_cores_of`."""
    below = min(int(cores), len(reached) - 1)
    above = min(below + 1, len(reached) - 1)
    return reached[below] + (cores - below) * (reached[above] - reached[below])


def _interpolate(at: Callable[[float], list[float]], low: float, high: float, cores: float) -> list[float]:
    """Shares that sum to `cores`, of which `low` asks for at most so many and `high` for more; straight in between.

    Just above `low` more may be asked for at once, where further cores bring somebody nothing. It does not get them.
    """
    half, most = at((low + high) / 2), at(high)
    over, rise = sum(most) - cores, 2 * (sum(most) - sum(half))
    if over >= rise:
        return at(low)
    return [m - (m - h) * 2 * over / rise for h, m in zip(half, most, strict=True)]


def whole_cores(shares: Floats, cores: int, able: Sequence[bool]) -> Floats:
    """Shares rounded to whole cores by largest remainder; whoever can use the cluster keeps one where there are enough.

    Args:
        shares: (n,); they sum to `cores` at most.
        able: Who can use it.
    """
    given = np.floor(shares + 1e-9)
    if cores >= sum(able):
        given = np.maximum(given, np.asarray(able, np.float64))
    over = given.sum() - cores
    while over > 0:
        given[int(np.argmax(given))] -= 1
        over -= 1
    left = min(round(float(shares.sum())), cores) - int(given.sum())
    for row in np.argsort(-(shares - given), kind="stable")[: max(left, 0)]:
        given[row] += 1
    return np.asarray(given)
