# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Quantiles of starts and ends that hold: forecasts, corrected by how earlier ones came true.

A forecast is one time, and knows nothing of jobs that are yet to come, of faults, or of its own simplifications. What
it was wrong by is measured when a job starts or ends: its *score* is the logarithm of the true wait over the expected
one, both with `unit_s` added, about what a load takes, so that waits far below it count as none. The quantiles of
scores in like circumstances, applied to a new forecast, are the quantiles of its wait: conformal prediction, split by
time, with weights for likeness (Tibshirani, Barber, Candes and Ramdas 2019) and for age, so that what was long ago is
forgotten slowly. Where a score comes from a shorter wait, the error it stands for counts as growing with the square
root of the wait's length: a long wait is the sum of many parts, whose errors make up for each other, and twenty times a
wait of a second says nothing of a wait of a minute. Because jobs are not exchangeable, the level asked for is corrected
by how often quantiles held of late under the same policy (Gibbs and Candes 2021).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from eddy.model.estimates.quantiles import weighted_quantile

LEVELS = (0.5, 0.9)
"""Quantiles that are told."""
KEPT = 1000
"""Scores that are remembered, of starts, ends and rests each."""
FADE = 0.995
"""What a score counts for, for each one that came after it."""
LIKE_POLICY, LIKE_PRIORITY, LIKE_STEP = 0.02, 0.4, 0.25
"""What a score counts for from under another policy; for another priority; for each step between sizes."""
STEP = 4.0
"""Ratio between two sizes of waits."""
GROWS = 0.5
"""Power of its length with which the error of a wait grows, where a longer one is judged by it."""
MIN_LIKE = 1e-6
"""What counts for less is left out."""
FARTHEST = 0.97
"""Level that a correction for few scores does not go beyond: of ten scores none says what one in a hundred is."""
GAIN = 0.02
"""Part of a miss by which the level asked for is corrected."""
MAX_CORRECTED = 0.08
"""Most by which it is."""
UNTRIED = math.log(2.0)
"""Score that nine in ten stay below, as long as nothing was seen: twice the wait."""
EQUAL = 1e-6
"""A wait that is longer than a quantile by less than this part counts as within it."""

What = Literal["start", "end", "rest"]
"""`rest`: the end of a job that has started."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What makes forecasts alike.

    Attributes:
        policy: Name of the policy that decides.
        wait: Size of the expected wait, in steps of a factor of `STEP` of `unit_s`; 0 for next to none.
        load: Size of the queue, in steps of a factor of two of the number of slots.
        known: Whether items of the job's tasks were seen before.
    """

    what: What
    policy: str
    priority: int
    wait: int
    load: int
    known: bool

    @classmethod
    def of(
        cls, what: What, policy: str, priority: int, wait_s: float, unit_s: float, jobs: int, slots: int, known: bool
    ) -> Circumstances:
        """Circumstances of a forecast.

        Args:
            policy: Name of the policy.
            wait_s: Expected seconds from now.
            unit_s: What a load takes, in seconds.
            jobs: Jobs that have not ended.
            known: Whether items of the job's tasks were seen before.
        """
        ratio = wait_s / unit_s
        wait = 0 if ratio < 0.01 else 1 + min(max(round(math.log(ratio, STEP)) + 1, 0), 7)
        load = min(max(round(math.log2((jobs + 1) / (slots + 1))) + 2, 0), 8)
        return cls(what, policy, priority, wait, load, known)

    def likeness(self, other: Circumstances) -> float:
        """What a score of `other` counts for here: from 0 to 1."""
        if self.what != other.what:
            return 0.0
        weight: float = LIKE_STEP ** (abs(self.wait - other.wait) + 0.5 * abs(self.load - other.load))
        weight *= 1.0 if self.policy == other.policy else LIKE_POLICY
        weight *= 1.0 if self.priority == other.priority else LIKE_PRIORITY
        return weight * (1.0 if self.known == other.known else LIKE_STEP)

    def row(self) -> list[Any]:
        """As JSON."""
        return [self.what, self.policy, self.priority, self.wait, self.load, self.known]


@dataclass(slots=True)
class _Correction:
    """How the level asked for is corrected, by level."""

    by: dict[float, float] = field(default_factory=lambda: dict.fromkeys(LEVELS, 0.0))

    def at(self, level: float) -> float:
        """Of any level: none at 0 and 1, and on straight lines between those that are told."""
        points = [(0.0, 0.0), *sorted(self.by.items()), (1.0, 0.0)]
        for (left, low), (right, high) in pairwise(points):
            if level <= right:
                return low + (high - low) * (level - left) / (right - left)
        return 0.0


class Calibration:
    """Scores that were seen, and the quantiles that follow; belongs to one thread at a time.

    Args:
        unit_s: What a load takes, about, in seconds; positive.
        prior: Scores from elsewhere, oldest first, for as long as there are few of one's own.
    """

    def __init__(self, unit_s: float, prior: Iterable[tuple[Circumstances, float]] = ()) -> None:
        self.unit_s = unit_s
        self.seen = 0
        """Scores of one's own, whether or not they are still remembered."""
        self._scores: dict[str, deque[tuple[Circumstances, float]]] = {}
        self._corrections: dict[tuple[str, str], _Correction] = {}
        self._known: dict[Circumstances, tuple[list[float], list[float]]] = {}
        """Scores with their weights, in order, for circumstances that were asked for since the last score came."""
        for circumstances, score in prior:
            self._line(circumstances.what).append((circumstances, score))

    def _line(self, what: str) -> deque[tuple[Circumstances, float]]:
        return self._scores.setdefault(what, deque(maxlen=KEPT))

    # Telling ------------------------------------------------------------------------------------------------------

    def quantile_s(self, circumstances: Circumstances, expected_s: float, level: float) -> float:
        """Seconds from now that a wait stays within, with a probability of `level`.

        Args:
            expected_s: What was forecast, in seconds from now.
            level: Between 0 and 1, mostly one of `LEVELS`.
        """
        score = self._score(circumstances, level)
        return max((expected_s + self.unit_s) * math.exp(score) - self.unit_s, 0.0)

    def _score(self, circumstances: Circumstances, level: float) -> float:
        values, weights = self._similar_scores(circumstances)
        if not values:
            return 0.0 if level <= LEVELS[0] else UNTRIED
        asked = level + self._correction(circumstances).at(level)
        if level > LEVELS[0]:
            # The next score is one more that nobody knows, as split conformal prediction has it.
            count = sum(weights) ** 2 / sum(weight * weight for weight in weights)
            asked = min(asked * (1.0 + 1.0 / count), max(asked, FARTHEST))
        return weighted_quantile(values, weights, asked)

    def _similar_scores(self, circumstances: Circumstances) -> tuple[list[float], list[float]]:
        """Scores in order, and what each counts for."""
        found = self._known.get(circumstances)
        if found is None:
            line = self._line(circumstances.what)
            last, alike = len(line) - 1, dict[Circumstances, float]()
            pairs = []
            for place, (other, score) in enumerate(line):
                like = alike.get(other)
                if like is None:
                    like = alike[other] = circumstances.likeness(other)
                weight = like * FADE ** (last - place)
                if weight > MIN_LIKE:
                    pairs.append((_carried(score, circumstances.wait - other.wait), weight))
            pairs.sort()
            found = self._known[circumstances] = [score for score, _ in pairs], [weight for _, weight in pairs]
        return found

    def _correction(self, circumstances: Circumstances) -> _Correction:
        return self._corrections.setdefault((circumstances.what, circumstances.policy), _Correction())

    # Learning -----------------------------------------------------------------------------------------------------

    def learn(
        self, circumstances: Circumstances, expected_s: float, actual_s: float, told: Mapping[float, float]
    ) -> None:
        """A forecast came true, or not.

        Args:
            circumstances: Of the forecast, when it was made.
            expected_s: What was forecast, in seconds from then.
            actual_s: What it came to.
            told: By level, the quantile that was told then, in seconds from then.
        """
        self._line(circumstances.what).append((circumstances, self.score(expected_s, actual_s)))
        self.seen += 1
        by = self._correction(circumstances).by
        for level, quantile_s in told.items():
            held = is_within(actual_s, quantile_s, self.unit_s)
            by[level] += GAIN * (level - held)
            by[level] = min(max(by[level], -MAX_CORRECTED), min(MAX_CORRECTED, 1.0 - level))
        self._known.clear()

    def score(self, expected_s: float, actual_s: float) -> float:
        """The logarithm of what came over what was expected."""
        return math.log((actual_s + self.unit_s) / (expected_s + self.unit_s))

    # Keeping ------------------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """What `restore` takes."""
        scores = [[*c.row(), round(score, 5)] for line in self._scores.values() for c, score in line]
        kept = [[what, policy, *each.by.values()] for (what, policy), each in self._corrections.items()]
        return {"seen": self.seen, "scores": scores, "corrections": kept}

    @classmethod
    def restore(cls, unit_s: float, kept: Mapping[str, Any]) -> Calibration:
        """As it was when `to_json` was asked."""
        made = cls(unit_s, scores_of(kept["scores"]))
        made.seen = int(kept["seen"])
        for what, policy, *by in kept.get("corrections", ()):
            made._corrections[what, policy] = _Correction(dict(zip(LEVELS, by, strict=True)))
        return made


def _carried(score: float, steps: int) -> float:
    """A score as it counts for a wait that is so many steps longer; one of a longer wait, or one that came sooner than
    expected, counts as it is."""
    if steps <= 0 or score <= 0.0:
        return score
    return math.log1p(math.expm1(score) * STEP ** ((GROWS - 1.0) * steps))


def scores_of(rows: Iterable[list[Any]]) -> list[tuple[Circumstances, float]]:
    """Scores as JSON has them."""
    return [(Circumstances(*row[:-1]), float(row[-1])) for row in rows]


def is_within(actual_s: float, quantile_s: float, unit_s: float) -> bool:
    """Whether a wait stayed within a quantile, but for rounding."""
    return actual_s <= quantile_s + EQUAL * (quantile_s + unit_s)
