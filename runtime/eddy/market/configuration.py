# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which configuration the fabric should hold: the one of most Nash welfare (3.7), if the change pays for itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eddy.core.errors import InvalidRequest
from eddy.market.problem import Array, number_of
from eddy.market.result import Equilibrium
from eddy.market.solve import equilibrium
from eddy.market.welfare import log_nash


@dataclass(frozen=True)
class Candidate:
    """A configuration, as tenants see it.

    Attributes:
        name: What it is called.
        parallel_fraction: (n, m) on its clusters.
        throughput: (n, m) on its clusters.
        capacity: (m,), in PEs.
        change_s: Seconds without service if the fabric changes to it; 0 for the one that is there.
    """

    name: str
    parallel_fraction: Array
    throughput: Array
    capacity: Array
    change_s: float = 0.0


@dataclass(frozen=True)
class Choice:
    """What was chosen, and why.

    Attributes:
        name: The configuration to hold.
        equilibria: By name; None where a tenant could not run at all.
        mean_utility: By name: the geometric mean of utilities (Nash welfare to the power 1/n).
        delivered: By name: the same over the horizon, time without service taken off.
    """

    name: str
    equilibria: dict[str, Equilibrium | None]
    mean_utility: dict[str, float]
    delivered: dict[str, float]


def choose_configuration(
    candidates: Sequence[Candidate],
    weights: Array,
    current: str | None = None,
    horizon_s: float = float("inf"),
    utility: str = "amdahl",
) -> Choice:
    """The configuration whose Nash welfare over the horizon is largest; the current one where none is better.

    Over a horizon H a configuration that takes c seconds to load delivers every tenant a part (H - c) / H of its
    utility. So a change is worth it when the geometric mean of utilities grows by more than H / (H - c): with two
    configurations that are nearly as good, the fabric stays where it is.

    Args:
        candidates: Configurations to choose from, each with a name of its own.
        weights: (n,), above 0.
        current: Name of the one that is loaded, if any; changing to it costs nothing.
        horizon_s: Seconds the choice is expected to hold.
        utility: As for `equilibrium`.

    Raises:
        InvalidRequest: No candidates, a name given twice or unknown, a negative time, or a market refused.
    """
    _check(candidates, current, horizon_s)
    equilibria = {each.name: _market(each, weights, utility) for each in candidates}
    means = {name: _mean(found) for name, found in equilibria.items()}
    kept = {each.name: _kept(0.0 if each.name == current else each.change_s, horizon_s) for each in candidates}
    delivered = {name: mean * kept[name] for name, mean in means.items()}
    best = max(delivered, key=lambda name: (delivered[name], name == current))
    if current is not None and delivered[best] <= delivered[current]:
        best = current
    return Choice(best, equilibria, means, delivered)


def _market(candidate: Candidate, weights: Array, utility: str) -> Equilibrium | None:
    """Its equilibrium; None where a tenant can use none of its clusters, so that its Nash welfare is 0."""
    throughput = np.asarray(candidate.throughput, dtype=np.float64)
    if throughput.ndim == 2 and throughput.size and (throughput == 0).all(axis=1).any():
        return None
    return equilibrium(candidate.parallel_fraction, throughput, weights, candidate.capacity, utility, in_digits=False)


def _mean(found: Equilibrium | None) -> float:
    """Geometric mean of utilities."""
    return 0.0 if found is None else float(np.exp(log_nash(found.utilities) / len(found.utilities)))


def _kept(change_s: float, horizon_s: float) -> float:
    """The part of the horizon that is left for service."""
    return 1.0 if change_s == 0 or np.isinf(horizon_s) else max(0.0, 1 - change_s / horizon_s)


def _check(candidates: Sequence[Candidate], current: str | None, horizon_s: float) -> None:
    """Refuse what cannot be chosen from."""
    good = isinstance(candidates, Sequence) and all(isinstance(each, Candidate) for each in candidates)
    names = [each.name for each in candidates] if good else []
    if not names or len(set(names)) != len(names):
        raise InvalidRequest(
            "candidates must be one or more configurations with different names.",
            field="candidates",
            allowed="one or more, with different names",
        )
    if current is not None and current not in names:
        known = ", ".join(names)
        raise InvalidRequest(f"current is {current!r}; it must be one of {known}.", field="current", allowed=known)
    number_of(horizon_s, "horizon_s", finite=False)
    for each in candidates:
        number_of(each.change_s, f"change_s of {each.name}", strict=False)
