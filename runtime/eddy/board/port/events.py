# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The log of a board's events: numbered, and kept until a caller says it has them."""

from __future__ import annotations

from collections import deque

from eddy.board.port.port import BoardEvent, Cause, CoreReport, EventKind


class EventLog:
    """Events in order, each kept until it is acknowledged.

    Args:
        first_seq: Number of the first event; a board that outlives its process goes on counting.
    """

    def __init__(self, first_seq: int = 0) -> None:
        self._next = first_seq
        self._kept: deque[BoardEvent] = deque()

    @property
    def next_seq(self) -> int:
        """The number the next event will carry."""
        return self._next

    def add(
        self,
        kind: EventKind,
        slot: int,
        *,
        at_s: float,
        started_s: float,
        item: str = "",
        image: str = "",
        cause: Cause = Cause.NONE,
        detail: str = "",
        cores: tuple[CoreReport, ...] = (),
    ) -> BoardEvent:
        """Record something that ended."""
        event = BoardEvent(self._next, at_s, kind, slot, item, image, cause, detail, started_s, cores)
        self._next += 1
        self._kept.append(event)
        return event

    def acknowledge(self, seq: int) -> None:
        """Forget events up to and including `seq`."""
        while self._kept and self._kept[0].seq <= seq:
            self._kept.popleft()

    def kept(self) -> tuple[BoardEvent, ...]:
        """Events not yet acknowledged, oldest first."""
        return tuple(self._kept)
