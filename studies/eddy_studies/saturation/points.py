# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Saturation points: from makespans over slots and batches to the number of slots an application can use."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eddy_studies.saturation.graph import LoadedGraph, single_slot_s
from eddy_studies.saturation.program import Makespan, solve

BATCHES = (1, 2, 4, 8, 16)
"""Batches that are solved; what lies between and beyond follows a fitted rule."""
LITTLE = 0.05
"""What all further slots together must save, for one more to count."""
BUDGET_S = 50.0
"""Seconds of solving an application may take; setting up its programs takes some more, a minute in all."""


@dataclass(frozen=True, slots=True)
class Points:
    """What is known of an application.

    Attributes:
        makespans: By batch, then by slots from 1.
        goals: Saturation point of each batch solved.
        rule: (a, b) of the fitted rule: a + b * log2(batch) slots, rounded, within what was swept.
    """

    makespans: Mapping[int, tuple[Makespan, ...]]
    goals: Mapping[int, int]
    rule: tuple[float, float]

    @property
    def worst_gap(self) -> float:
        """The largest relative gap left open."""
        return max(found.gap for row in self.makespans.values() for found in row)

    def goal(self, batch: int) -> int:
        """Slots beyond which more bring little, for any batch."""
        if batch in self.goals:
            return self.goals[batch]
        a, b = self.rule
        most = max(len(row) for row in self.makespans.values())
        return min(max(round(a + b * math.log2(batch)), 1), most)


def saturation_point(makespans_s: Sequence[float], little: float = LITTLE) -> int:
    """The least number of slots such that all further ones together save less than `little`.

    Args:
        makespans_s: By slots from 1.
        little: Of the makespan at that number of slots.
    """
    last_s = min(makespans_s)
    return next(n for n, takes_s in enumerate(makespans_s, 1) if last_s >= takes_s * (1 - little))


def sweep(
    graph: LoadedGraph,
    slots: int,
    batches: Sequence[int] = BATCHES,
    budget_s: float = BUDGET_S,
    say: Callable[[str], None] = lambda line: None,
) -> Points:
    """Solve every batch for one slot up to `slots`, the budget shared among what is still to be solved.

    Args:
        budget_s: Seconds of solving.
    """
    wanted = sorted(set(batches))
    most = min(slots, len(graph.latency_s))
    left, left_s = len(wanted) * max(most - 1, 0), budget_s
    makespans: dict[int, tuple[Makespan, ...]] = {}
    for batch in wanted:
        alone_s = single_slot_s(graph, batch)
        row = [Makespan(alone_s, alone_s, 0.0)]
        for number in range(2, most + 1):
            found = solve(graph, batch, number, left_s / left, known_s=row[-1].makespan_s)
            left, left_s = left - 1, left_s - found.spent_s
            row.append(found)
            say(f"batch {batch}, {number} slots: {found.makespan_s:.4g} s, gap {found.gap:.1%}")
        # More slots than tasks change nothing.
        makespans[batch] = tuple(row + [row[-1]] * (slots - most))
    goals = {batch: saturation_point([found.makespan_s for found in row]) for batch, row in makespans.items()}
    return Points(makespans, goals, _fit(goals))


def _fit(goals: Mapping[int, int]) -> tuple[float, float]:
    """Least squares of the goals over the logarithm of the batch."""
    logs = np.log2(np.array(list(goals)))
    values = np.array(list(goals.values()), dtype=float)
    if len(goals) < 2:
        return float(values[0]), 0.0
    slope, start = np.polyfit(logs, values, 1)
    return float(start), float(slope)
