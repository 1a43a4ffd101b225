# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Algorithm 2 of [002]: from fractions to one accelerator a job, with at most one split job on each accelerator.

The graph of split jobs and their accelerators has, in a vertex solution, components with at most one cycle. Jobs on a
cycle go to the accelerator that follows; every other job goes to one of its children, so no accelerator gets two.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np

from eddy.model.placement.instance import Ints
from eddy.policy.place.relaxation import RelaxedSolution

Edge = tuple[int, int]
"""A job, an accelerator."""


def round_shares(relaxed: RelaxedSolution, jobs: int) -> Ints:
    """The accelerator of each job."""
    host = np.full(jobs, -1, np.int64)
    shares = {
        (int(i), int(j)): float(x) for i, j, x in zip(relaxed.job, relaxed.accelerator, relaxed.share, strict=True)
    }
    degree = np.bincount(relaxed.job, minlength=jobs)
    for i, j in shares:
        if degree[i] == 1:
            host[i] = j
    split = {edge: share for edge, share in shares.items() if host[edge[0]] < 0}
    graph = _Graph(_pseudo_forest(split))
    for component in graph.components():
        _assign(graph, component, split, host)
    return host


def _pseudo_forest(shares: dict[Edge, float]) -> list[Edge]:
    """The edges, largest shares first, leaving out any that gives a component a second cycle.

    A vertex solution has no such edge; the solver's tolerances can leave one of no weight behind. A job keeps its
    largest share always.
    """
    parent: dict[int, int] = {}
    cyclic: set[int] = set()

    def find(node: int) -> int:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    kept = []
    for (i, j), _ in sorted(shares.items(), key=lambda item: (-item[1], item[0])):
        a, b = find(i), find(~j)
        if a == b:
            if a in cyclic:
                continue
            cyclic.add(a)
        else:
            if a in cyclic and b in cyclic:
                continue
            parent[a] = b
            if a in cyclic:
                cyclic.add(b)
        kept.append((i, j))
    return kept


class _Graph:
    """Jobs are nodes >= 0, accelerators ~j < 0."""

    def __init__(self, edges: Iterable[Edge]) -> None:
        self.near: dict[int, list[int]] = {}
        for i, j in edges:
            self.near.setdefault(i, []).append(~j)
            self.near.setdefault(~j, []).append(i)

    def components(self) -> Iterable[list[int]]:
        """Nodes of each component, jobs first in order of their index."""
        seen: set[int] = set()
        for start in sorted(self.near, reverse=True):
            if start not in seen:
                found = [start]
                seen.add(start)
                for node in found:
                    fresh = [n for n in self.near[node] if n not in seen]
                    seen.update(fresh)
                    found.extend(fresh)
                yield sorted(found, reverse=True)

    def cycle(self, component: list[int]) -> list[int]:
        """The nodes of the component's one cycle, in order; [] for a tree. Leaves are peeled until none is left."""
        degree = {node: len(self.near[node]) for node in component}
        leaves = [node for node in component if degree[node] == 1]
        for node in leaves:
            degree[node] = 0
            for other in self.near[node]:
                if degree[other] > 0:
                    degree[other] -= 1
                    if degree[other] == 1:
                        leaves.append(other)
        ring = [node for node in component if degree[node] >= 2]
        if not ring:
            return []
        start = next(node for node in ring if node >= 0)
        path, before = [start], start
        left = set(ring)
        node = next(n for n in self.near[start] if n in left)
        while node != start:
            path.append(node)
            before, node = node, next(n for n in self.near[node] if n in left and n != before)
        return path


def _assign(graph: _Graph, component: list[int], shares: dict[Edge, float], host: Ints) -> None:
    ring = graph.cycle(component)
    for k, node in enumerate(ring):
        if node >= 0:
            host[node] = ~ring[(k + 1) % len(ring)]
    seen = set(ring)
    roots = ring or [_root(graph, component)]
    seen.update(roots)
    todo = deque(roots)
    while todo:
        node = todo.popleft()
        children = [n for n in graph.near[node] if n not in seen]
        seen.update(children)
        todo.extend(children)
        if node >= 0 and host[node] < 0:
            # Without a child the job is a leaf: its one place is its parent, which no other job can have taken
            # only where the job is the root; a leaf elsewhere had a single share and was placed before.
            options = children or graph.near[node]
            host[node] = ~max(options, key=lambda n: (shares[(node, ~n)], n))


def _root(graph: _Graph, component: list[int]) -> int:
    """A job with a single edge, if there is one (line 9), else the first job."""
    jobs = [node for node in component if node >= 0]
    return next((node for node in jobs if len(graph.near[node]) == 1), jobs[-1])
