# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jumps of the wall clock, which days of accounts and ends of keys follow; jobs take the time of the board."""

from __future__ import annotations

import time
from collections.abc import Callable

import anyio
import structlog

PERIOD_S = 5.0
"""Seconds between two looks."""
JUMP_S = 2.0
"""A step of the wall clock against the monotonic one from which on it is a jump; a clock that is disciplined slews by
0.5 ms a second at most (NTP, RFC 5905)."""
_log = structlog.get_logger("eddy.api")


class ClockJumpDetector:
    """The wall clock against one that never jumps.

    Args:
        wall: Tells seconds since 1970.
        steady: Tells seconds that never jump.
    """

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._steady = wall, steady
        self._ahead_s = wall() - steady()

    def measure_jump(self) -> float:
        """Seconds by which it jumped since the last look; 0 where it did not."""
        ahead_s = self._wall() - self._steady()
        step_s, self._ahead_s = ahead_s - self._ahead_s, ahead_s
        return step_s if abs(step_s) >= JUMP_S else 0.0


async def watch_clock(noted: Callable[[], None], clock: ClockJumpDetector, period_s: float = PERIOD_S) -> None:
    """Note every jump of the wall clock, until cancelled."""
    while True:
        await anyio.sleep(period_s)
        step_s = clock.measure_jump()
        if step_s:
            _log.warning("the wall clock jumped", seconds=round(step_s, 3))
            noted()
