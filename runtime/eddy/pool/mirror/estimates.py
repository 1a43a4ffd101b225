# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How long an item takes on a kind of board, learned from the parts that were committed, with its spread."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from eddy.pool.records.records import JobPart, PoolJob

UNKNOWN_S = 1.0
"""Seconds an item takes of which nothing is known on any board: such work is tried small first."""
REMEMBERED = 64
"""Parts that count fully. With each after that the earlier ones count less, so a mean follows times that change."""
P90 = 1.2816
"""Standard deviations from the mean to the 90th percentile of a normal distribution."""


@dataclass(slots=True)
class ItemTimes:
    """Mean and variance of seconds an item takes, by Welford's recurrence; weights of measurements fall by
    `1 - 1 / REMEMBERED` with each one beyond that number.

    Attributes:
        count: Measurements.
        mean_s: Their mean, seconds.
        squares: Sum of squared differences from it, of so many as are remembered.
    """

    count: int = 0
    mean_s: float = 0.0
    squares: float = 0.0

    def add(self, item_s: float) -> None:
        """Take a measurement in."""
        self.count += 1
        number, delta = min(self.count, REMEMBERED), item_s - self.mean_s
        kept = 1.0 if number == self.count else 1.0 - 1.0 / number
        self.mean_s += delta / number
        self.squares = kept * self.squares + delta * (item_s - self.mean_s)

    @property
    def deviation_s(self) -> float:
        """Standard deviation; the mean itself where there is one measurement only."""
        return math.sqrt(self.squares / (min(self.count, REMEMBERED) - 1)) if self.count > 1 else self.mean_s


@dataclass(slots=True)
class Estimates:
    """What is known, by (work, kind of board). It is made from the committed parts, so any head learns the same; where
    there are more than `REMEMBERED`, but for the order in which a head that starts reads jobs.
    """

    known: dict[tuple[str, str], ItemTimes] = field(default_factory=dict)
    seen: dict[int, int] = field(default_factory=dict)
    """Parts that were taken in of each job that has not ended."""

    def learn(self, job: PoolJob, kinds: Mapping[str, str]) -> dict[tuple[str, str], ItemTimes]:
        """Take in what a job's record says that was not seen yet, and answer what is known otherwise by that. The last
        record of a job, once it has ended, is taken in once. `kinds` is the kind of each board."""
        keys = [(job.timed, kinds[part.board]) for part in self._unseen(job) if self._take(job, part, kinds)]
        self.skip(job)
        return {key: self.known[key] for key in keys}

    def skip(self, job: PoolJob) -> None:
        """What a job's record says was taken in."""
        if job.is_ended:
            self.seen.pop(job.id, None)
        else:
            self.seen[job.id] = len(job.parts)

    def _unseen(self, job: PoolJob) -> tuple[JobPart, ...]:
        return job.parts[self.seen.get(job.id, 0) :]

    def now(self) -> Estimates:
        """The same, for another thread: kinds of work that are learned later are not in it."""
        return Estimates(dict(self.known))

    def _take(self, job: PoolJob, part: JobPart, kinds: Mapping[str, str]) -> bool:
        if kind := kinds.get(part.board, ""):
            spread = self.known.setdefault((job.timed, kind), ItemTimes())
            spread.add(max(part.ended_unix_s - part.started_unix_s, 0.0) / part.items)
        return bool(kind)

    def item_s(self, work: str, kind: str) -> tuple[float, float]:
        """Mean and 90th percentile of seconds an item takes; from other kinds of boards where this one is unknown."""
        spread = self.known.get((work, kind))
        if spread is None:
            others = [each for (name, _), each in self.known.items() if name == work]
            if not others:
                return UNKNOWN_S, 2 * UNKNOWN_S
            mean = sum(each.mean_s for each in others) / len(others)
            return mean, 2 * mean
        return spread.mean_s, spread.mean_s + P90 * spread.deviation_s
