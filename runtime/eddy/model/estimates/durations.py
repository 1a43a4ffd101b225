# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How long an item of each task takes, and how much that varies: what forecasts of the queue are made with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eddy.model.latency.learned import MEMORY, Item, Latencies

UNSEEN = math.log(3.0)
"""Standard deviation of the logarithm of an estimate nobody has checked: [004]'s are 1.3 to 9.8 times too short."""
SEEN_LEAST = 3
"""Items of a task from which its own spread is believed."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """Running variance of a task's duration, relative to its mean.

    Attributes:
        mean_s: Mean duration of an item, in seconds.
        square: Mean squared deviation from it, in seconds squared.
        items: How many items that stands for, at most `MEMORY`.
    """

    mean_s: float
    square: float = 0.0
    items: int = 1

    def with_item(self, took_s: float) -> Deviation:
        """With one more item."""
        items = min(self.items + 1, MEMORY)
        gap_s = took_s - self.mean_s
        mean_s = self.mean_s + gap_s / items
        square = self.square + (gap_s * (took_s - mean_s) - self.square) / items
        return Deviation(mean_s, max(square, 0.0), items)

    @property
    def relative(self) -> float:
        """Standard deviation over mean."""
        return math.sqrt(self.square) / self.mean_s if self.mean_s > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Durations:
    """What is known of tasks' durations; a value, extended by `observe`.

    Attributes:
        means: Mean durations.
        spreads: By application and task.
    """

    means: Latencies = field(default_factory=Latencies)
    spreads: Mapping[tuple[str, int], Deviation] = field(default_factory=dict)

    def observe(self, items: Iterable[Item]) -> Durations:
        """With some more items, in order."""
        items = tuple(items)
        if not items:
            return self
        means, spreads = self.means.observe(items), dict(self.spreads)
        for item in items:
            key = item.application, item.task
            known = spreads.get(key)
            spreads[key] = Deviation(item.duration_s) if known is None else known.with_item(item.duration_s)
        kept = {key: spread for key, spread in spreads.items() if key[0] in means.tasks}
        return Durations(means, kept)

    def predict(self, application: str, tasks: Sequence[tuple[str, float]]) -> tuple[float, ...]:
        """Seconds an item of each task takes.

        Args:
            tasks: Module and designer's estimate in seconds of each, by id.
        """
        return self.means.predict(application, tasks)

    def spread(self, application: str, tasks: int) -> float:
        """Standard deviation of the logarithm of an item's duration, the mean over an application's tasks.

        Args:
            tasks: How many it has.
        """
        if tasks == 0:
            return 0.0
        found = [self._spread_of(application, task) for task in range(tasks)]
        return sum(found) / tasks

    def _spread_of(self, application: str, task: int) -> float:
        known = self.spreads.get((application, task))
        if known is None:
            return UNSEEN
        return known.relative if known.items >= SEEN_LEAST else max(known.relative, UNSEEN / known.items)

    def to_json(self) -> dict[str, Any]:
        """What `restore` takes."""
        rows = []
        for application, tasks in self.means.tasks.items():
            for task, seen in tasks.items():
                known = self.spreads.get((application, task), Deviation(seen.mean_s))
                rows.append([application, task, seen.module, seen.estimate_s, known.mean_s, known.square, known.items])
        return {"tasks": rows}

    @classmethod
    def restore(cls, kept: Mapping[str, Any]) -> Durations:
        """As it was when `to_json` was asked, but for how the means came about."""
        rows = kept["tasks"]
        items = [Item(app, task, module, estimate_s, mean_s) for app, task, module, estimate_s, mean_s, *_ in rows]
        spreads = {(app, task): Deviation(mean_s, square, n) for app, task, _, _, mean_s, square, n in rows}
        return cls(Latencies().observe(items), spreads)
