"""What ends when, in virtual time."""

from __future__ import annotations

import heapq
from collections.abc import Iterator


class Agenda:
    """Planned ends in order of time; of those at one time, in the order in which they were planned."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, int]] = []
        self._last = 0

    def plan(self, at_s: float, slot: int) -> int:
        """Plan an end in a slot.

        Returns:
            Its number, from 1; no two have the same.
        """
        self._last += 1
        heapq.heappush(self._heap, (at_s, self._last, slot))
        return self._last

    def next_s(self) -> float | None:
        """When the next one is; None where none is planned."""
        return self._heap[0][0] if self._heap else None

    def take_due(self, until_s: float) -> Iterator[tuple[float, int, int]]:
        """Take out what is due, those planned meanwhile included: time, number and slot of each."""
        while self._heap and self._heap[0][0] <= until_s:
            yield heapq.heappop(self._heap)
