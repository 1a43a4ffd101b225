# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a saturation study needs of an application, a feasible schedule of it, and bounds no schedule can beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from eddy.core.applications import Application


@dataclass(frozen=True)
class LoadedGraph:
    """A task graph with reconfiguration nodes: every task is loaded once, then does its items one after another.

    Attributes:
        latency_s: Seconds an item of each task takes; tasks in topological order.
        edges: Pairs of tasks, predecessor first.
        load_s: Seconds a load takes. One slot is loaded at a time.
    """

    latency_s: tuple[float, ...]
    edges: tuple[tuple[int, int], ...]
    load_s: float

    @classmethod
    def of(cls, application: Application, load_s: float) -> LoadedGraph:
        """An application as its designer estimates it."""
        return cls(tuple(task.estimate_s for task in application.tasks), application.edges, load_s)

    @cached_property
    def before(self) -> tuple[tuple[int, ...], ...]:
        """Predecessors of each task."""
        return tuple(tuple(sorted(a for a, b in self.edges if b == t)) for t in range(len(self.latency_s)))

    @cached_property
    def ancestors(self) -> tuple[frozenset[int], ...]:
        """Everything that comes before each task."""
        found: list[frozenset[int]] = []
        for parents in self.before:
            found.append(frozenset(parents).union(*(found[p] for p in parents)))
        return tuple(found)

    @cached_property
    def tail_s(self) -> tuple[float, ...]:
        """The longest way from the start of each task to the end, for one item."""
        tails = list(self.latency_s)
        for a, b in sorted(self.edges, reverse=True):
            tails[a] = max(tails[a], self.latency_s[a] + tails[b])
        return tuple(tails)


def single_slot_s(graph: LoadedGraph, batch: int) -> float:
    """The makespan on one slot: every task is loaded and does its whole batch, one after another."""
    return len(graph.latency_s) * graph.load_s + batch * sum(graph.latency_s)


def lower_bound_s(graph: LoadedGraph, batch: int, slots: int) -> float:
    """A makespan no schedule is below: of shared slots, of the port, and of each way through the graph.

    - All loads and items take their time in some slot.
    - Loads follow each other, and the last one is followed by its task's batch at least.
    - A task's first item waits for its ancestors' first item and a load; after its last item the longest tail follows.
    """
    count = len(graph.latency_s)
    by_slots = single_slot_s(graph, batch) / slots
    by_port = count * graph.load_s + batch * min(graph.latency_s)
    heads: list[float] = []
    for task in range(count):
        heads.append(max((heads[p] + graph.latency_s[p] for p in graph.before[task]), default=graph.load_s))
    through = zip(heads, graph.latency_s, graph.tail_s, strict=True)
    by_path = max(head + (batch - 1) * takes + tail for head, takes, tail in through)
    return max(by_slots, by_port, by_path)


def list_schedule_s(graph: LoadedGraph, batch: int, slots: int) -> float:
    """The makespan of the better of two lists: tasks by id, and by the longest tail among those that may come next.

    Each task in turn is loaded into the slot that is free first, as soon as it and the port are.
    """
    return min(_play(graph, batch, slots, order) for order in (range(len(graph.latency_s)), _by_tail(graph)))


def _by_tail(graph: LoadedGraph) -> list[int]:
    order: list[int] = []
    left = set(range(len(graph.latency_s)))
    while left:
        ready = [t for t in left if not left.intersection(graph.before[t])]
        chosen = max(ready, key=lambda t: (graph.tail_s[t], -t))
        order.append(chosen)
        left.remove(chosen)
    return order


def _play(graph: LoadedGraph, batch: int, slots: int, order: Sequence[int]) -> float:
    free = [0.0] * slots
    port = 0.0
    ends: dict[int, list[float]] = {}
    for task in order:
        slot = min(range(slots), key=free.__getitem__)
        port = max(port, free[slot]) + graph.load_s
        at_s, done = port, []
        for item in range(batch):
            at_s = max([at_s, *(ends[p][item] for p in graph.before[task])]) + graph.latency_s[task]
            done.append(at_s)
        ends[task], free[slot] = done, at_s
    return max(free)
