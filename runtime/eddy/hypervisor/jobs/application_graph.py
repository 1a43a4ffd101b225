# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""An application's edges, as the state machine asks for them."""

from __future__ import annotations

from eddy.core.applications import Application


class Graph:
    """An application's edges, both ways."""

    __slots__ = ("predecessors", "successors")

    def __init__(self, application: Application) -> None:
        before: list[list[int]] = [[] for _ in application.tasks]
        after: list[list[int]] = [[] for _ in application.tasks]
        for a, b in application.edges:
            before[b].append(a)
            after[a].append(b)
        self.predecessors = tuple(tuple(sorted(p)) for p in before)
        self.successors = tuple(tuple(sorted(s)) for s in after)
