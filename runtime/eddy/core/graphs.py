# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Task graphs: the one order that every part of Eddy numbers tasks by."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from eddy.core.errors import InvalidRequest


def topological_order(count: int, edges: Iterable[tuple[int, int]], field: str) -> list[int]:
    """Positions in an order in which every edge goes forward, the smallest first where the edges leave a choice.

    Args:
        count: How many positions there are.
        edges: (predecessor, successor) pairs of positions; one that stands twice counts once.
        field: What the edges are called in the request, for the message.

    Raises:
        InvalidRequest: The edges form a cycle.
    """
    waits_for = [0] * count
    after: list[list[int]] = [[] for _ in range(count)]
    for first, second in set(edges):
        waits_for[second] += 1
        after[first].append(second)
    ready = [position for position in range(count) if not waits_for[position]]
    order: list[int] = []
    while ready:
        here = heapq.heappop(ready)
        order.append(here)
        for there in after[here]:
            waits_for[there] -= 1
            if not waits_for[there]:
                heapq.heappush(ready, there)
    if len(order) < count:
        raise InvalidRequest(f"{field}: the edges form a cycle", field=field)
    return order
