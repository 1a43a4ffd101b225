# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jumps of the wall clock: what was to last for a time is not to end with them."""

from __future__ import annotations

from collections.abc import Callable

JUMP_S = 2.0
"""A step of the wall clock against the monotonic one from which on it is a jump; a clock that is disciplined slews by
0.5 ms a second at most (NTP, RFC 5905)."""


class ClockJumpDetector:
    """The wall clock against one that never jumps.

    Args:
        wall: Tells seconds since 1970.
        steady: Tells seconds that never jump.
    """

    def __init__(self, wall: Callable[[], float], steady: Callable[[], float]) -> None:
        self._wall, self._steady = wall, steady
        self._ahead_s = wall() - steady()

    def measure_jump(self) -> float:
        """Seconds by which it jumped since the last look; 0 where it did not."""
        ahead_s = self._wall() - self._steady()
        step_s, self._ahead_s = ahead_s - self._ahead_s, ahead_s
        return step_s if abs(step_s) >= JUMP_S else 0.0
