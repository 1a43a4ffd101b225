"""What policies that go by predicted progress have in common ([001] 4.2): curves, even starts, and levels.

Cores are shared in parts of a core, because slices of time deliver them; `whole` rounds to whole cores, as [001] moves
them. Progress counts per weight: with equal weights this is [001].
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eddy.model.progress import ClusterEpoch, ProgressCurve, ProgressPredictor
from eddy.policy.price.view import Floats, PriceView

Curves = tuple[ProgressCurve | None, ...]
_HALVINGS = 40
"""Of the interval in which a level is sought: to a millionth of a millionth."""
LEAST = 0.25
"""Part of its entitled share that nobody falls below, whatever anybody's counters say. What a tenant can gain by
misleading the predictor is bounded by it."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedCores:
    """What is remembered: the shares in force, and for whom and which kernels they were found.

    Attributes:
        of: Tenants, weights, clusters, kernels, and who can use what; with others, sharing starts even.
        shares: PEs, (n, m).
    """

    of: tuple[Any, ...] = ()
    shares: Floats | None = None


def key_of(view: PriceView) -> tuple[Any, ...]:
    """What an allocation holds for, who can use which cluster included."""
    return (
        view.tenants,
        tuple(view.weights),
        view.present.clusters,
        view.kernels,
        (view.present.throughput > 0).tobytes(),
    )


def even(view: PriceView, column: int) -> Floats:
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
    return _cores_of(curve.by_cores, curve.most_cores, progress)


def _cores_of(reached: Sequence[float], last: int, progress: float) -> float:
    if progress >= reached[last]:
        return float(last)
    above = bisect_left(reached, progress)
    if above == 0:
        return 0.0
    below = reached[above - 1]
    return above - 1 + (progress - below) / (reached[above] - below)


def levelled(curves: Sequence[ProgressCurve], weights: Sequence[float], least: Sequence[float], cores: float) -> Floats:
    """Cores at which everybody's predicted progress per weight is the same, and as much as it can be; (n,).

    Who would need fewer than its least has its least. Who cannot use more has no more, and what nobody can use is left.

    Args:
        curves: Of each.
        weights: Of each, positive.
        least: Cores each has at least; they sum to `cores` at most.
        cores: To be shared.
    """
    most = max(curve.by_cores[-1] / weight for curve, weight in zip(curves, weights, strict=True))
    # Looked for once: the search below asks some forty times.
    ends = [curve.most_cores for curve in curves]
    every = tuple(zip((curve.by_cores for curve in curves), ends, weights, least, strict=True))

    def at(level: float) -> list[float]:
        return [max(_cores_of(reached, last, level * weight), floor) for reached, last, weight, floor in every]

    shares = at(most)
    if sum(shares) > cores:
        low, high = 0.0, most
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if sum(at(middle)) <= cores:
                low = middle
            else:
                high = middle
        shares = at(low)
    return np.array(shares)


def whole_cores(shares: Floats, cores: int, able: Sequence[bool]) -> Floats:
    """Shares rounded to whole cores by largest remainder; whoever can use the cluster keeps one where there are enough.

    Args:
        shares: (n,); they sum to `cores` at most.
        cores: Of the cluster.
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
