# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Quantiles of weighted samples, and what a wrong one costs."""

from __future__ import annotations

from collections.abc import Sequence


def pinball(actual: float, quantile: float, level: float) -> float:
    """The pinball loss of one quantile, in the unit of the values: least, on average, for the true quantile.

    Args:
        quantile: What was said.
        level: Of the quantile, between 0 and 1.
    """
    gap = actual - quantile
    return gap * level if gap >= 0 else -gap * (1.0 - level)


def weighted_quantile(values: Sequence[float], weights: Sequence[float], level: float) -> float:
    """The least value such that values up to it have at least a part `level` of all weight.

    Args:
        values: In ascending order; at least one.
        weights: Of each, positive.
        level: Between 0 and 1; at 1 or above, the largest value.
    """
    wanted = level * sum(weights) * (1.0 - 1e-12)
    reached = 0.0
    for value, weight in zip(values, weights, strict=True):
        reached += weight
        if reached >= wanted:
            return value
    return values[-1]
