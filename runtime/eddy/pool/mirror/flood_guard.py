# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Boards that send without end: which, so that an operator knows whom to revoke.

A board renews its lease once a second, and asks heads a few things for each part that it runs. One that sends many
times as much is broken, or its key was stolen. Servers refuse what their disk does not take, whoever sent it, so what
comes is mostly the flood; heads read no more of it than honest boards may send, and give that board nothing more.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import structlog

LEASES, REQUESTS = "leases", "requests"
WINDOW_S = 10.0
MOST = {LEASES: 100, REQUESTS: 5000}
"""Of each that a board may send in `WINDOW_S`: ten times the leases of an honest one, and as many requests as a head
answers of all boards where it is the bound of a pool."""
NAMED_S = 60.0
"""Seconds for which a board is named after the last that was too much."""
_log = structlog.get_logger("eddy.pool")


@dataclass(slots=True)
class _Count:
    """What came of a board since a window began, and when too much of it came last."""

    began_s: float
    number: int = 0
    beyond_s: float = float("-inf")
    a_second: float = 0.0


class FloodGuard:
    """What boards send, as one head hears it.

    Args:
        clock: Seconds that never jump.

    Attributes:
        came: Everything that was counted, by board and what it was.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: dict[tuple[str, str], _Count] = {}
        self._flooded: set[str] = set()
        self.came: Counter[tuple[str, str]] = Counter()

    def count_and_check(self, board: str, what: str) -> bool:
        """Count something that a board sent; whether it is too much."""
        now_s = self._clock()
        self.came[board, what] += 1
        count = self._counts.setdefault((board, what), _Count(now_s))
        if now_s - count.began_s >= WINDOW_S:
            count.began_s, count.number = now_s, 0
        count.number += 1
        if count.number <= MOST[what]:
            return False
        if count.number == MOST[what] + 1:
            self._flooded.add(board)
            _log.warning("a board floods the pool; `eddy pool revoke` ends that", board=board, what=what)
        count.beyond_s, count.a_second = now_s, count.number / max(now_s - count.began_s, 1.0)
        return True

    def describe_flood(self, board: str) -> str:
        """What a board floods the pool with, in words; empty where it does not."""
        if board not in self._flooded:
            return ""
        now_s = self._clock()
        found = [
            f"{count.a_second:.0f} {what} a second"
            for what in (LEASES, REQUESTS)
            if (count := self._counts.get((board, what))) is not None and now_s - count.beyond_s < NAMED_S
        ]
        return " and ".join(found)
