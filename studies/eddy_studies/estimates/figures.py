# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How good estimates were: how often quantiles held, and what they cost beside constant ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eddy.model.estimates.calibration import LEVELS, is_within
from eddy.model.estimates.quantiles import pinball, weighted_quantile

from eddy_studies.estimates.replay import CURVE, Outcome

WHATS = ("start", "end")


@dataclass(frozen=True, slots=True)
class Quality:
    """Of the estimates of starts, or of ends.

    Attributes:
        jobs: How many were judged.
        held: By level, the part of jobs for which the quantile held.
        pinball_s: Mean pinball loss over both levels, in seconds.
        constant_s: The same of the best constant quantiles, chosen knowing everything that came.
        by_policy_s: The same of the best constants for each policy.
    """

    jobs: int
    held: Mapping[float, float]
    pinball_s: float
    constant_s: float
    by_policy_s: float

    @property
    def gain(self) -> float:
        """Part of the constants' loss that is saved."""
        return 1.0 - self.pinball_s / self.constant_s if self.constant_s else 0.0

    @property
    def gain_by_policy(self) -> float:
        """The same beside constants for each policy."""
        return 1.0 - self.pinball_s / self.by_policy_s if self.by_policy_s else 0.0


def actual_s(outcome: Outcome, what: str) -> float:
    """When it came, in seconds from the job's arrival."""
    return outcome.start_s if what == "start" else outcome.end_s


def told_s(outcome: Outcome, what: str) -> dict[float, float]:
    """What it was told, by level."""
    if what == "start":
        return dict(zip(LEVELS, (outcome.start_p50_s, outcome.start_p90_s), strict=True))
    return dict(zip(LEVELS, (outcome.end_p50_s, outcome.end_p90_s), strict=True))


def quality(outcomes: Sequence[Outcome], what: str, unit_s: float) -> Quality:
    """Judge estimates.

    Args:
        outcomes: At least one.
        what: "start" or "end".
        unit_s: What a load takes, for rounding.
    """
    count = len(outcomes)
    held = {
        level: sum(is_within(actual_s(o, what), told_s(o, what)[level], unit_s) for o in outcomes) / count
        for level in LEVELS
    }
    own = sum(pinball(actual_s(o, what), told_s(o, what)[level], level) for o in outcomes for level in LEVELS)
    policies = {o.policy for o in outcomes}
    by_policy = sum(_constant([o for o in outcomes if o.policy == policy], what) for policy in policies)
    return Quality(count, held, own / count, _constant(outcomes, what) / count, by_policy / count)


def _constant(outcomes: Sequence[Outcome], what: str) -> float:
    """Pinball loss, added up, of the best constants."""
    values = sorted(actual_s(o, what) for o in outcomes)
    best = {level: weighted_quantile(values, [1.0] * len(values), level) for level in LEVELS}
    return sum(pinball(value, best[level], level) for value in values for level in LEVELS)


def reliability(outcomes: Sequence[Outcome], what: str, unit_s: float) -> list[tuple[float, float]]:
    """By level that was asked for, how often the quantile held."""
    found = []
    for place, level in enumerate(CURVE):
        held = [is_within(actual_s(o, what), (o.start_curve_s if what == "start" else o.end_curve_s)[place], unit_s)
                for o in outcomes]  # fmt: skip
        found.append((level, sum(held) / len(held)))
    return found
