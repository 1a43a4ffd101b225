# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A module's interrupt line that cannot keep the board busy.

A module may hold its interrupt, or raise it again and again, with nothing to tell. Each time costs a walk through
PYNQ and some register accesses, which belong to the other slots. So a line that rang in vain a few times in a row is
not listened to for a while, each time longer up to `LONGEST_REST_S`. An end that comes meanwhile is noticed when the
rest is over; time limits hold all the same, for they need no interrupt.
"""

from __future__ import annotations

from collections.abc import Callable

from eddy.board.pynq.fabric import InterruptSource

FREE_RINGS = 4
"""Rings in vain, one after the other, that are nothing to worry about."""
FIRST_REST_S = 16e-6
LONGEST_REST_S = 1e-3
"""The longest a real end goes unnoticed, in board seconds: a walk that takes 50 us is then 5 % of a processor."""


def rest_s(in_vain: int) -> float:
    """How long a line rests that has rung so often in a row with nothing to tell: 0.0, or twice the time before."""
    if in_vain <= FREE_RINGS:
        return 0.0
    doublings = min(in_vain - FREE_RINGS - 1, 32)
    return min(FIRST_REST_S * 2.0**doublings, LONGEST_REST_S)


class ThrottledLine:
    """A line of one slot, with what it told lately.

    Args:
        line: The line.
        now_s: Board time.
    """

    def __init__(self, line: InterruptSource, now_s: Callable[[], float]) -> None:
        self._line, self._now_s = line, now_s
        self._in_vain = 0
        self._rang = False
        self.rests_until_s = float("inf")
        """Board time at which it must be looked at although it cannot ring; infinite while it does not rest."""

    def arm(self) -> None:
        """Listen, for something that starts now; what the line did before is forgotten."""
        self._in_vain = 0
        self._listen()

    def take_interrupt(self) -> bool:
        """Whether it rang since it was listened to. It is not listened to again before `rearm`."""
        if self._now_s() >= self.rests_until_s:
            self._listen()
        rang = self._line.take_interrupt()
        self._rang = self._rang or rang
        return rang

    def rearm(self, something: bool) -> None:
        """Listen again after a ring, at once or later, as it had something to tell or not; nothing without a ring."""
        if not self._rang:
            return
        self._in_vain = 0 if something else self._in_vain + 1
        rest = rest_s(self._in_vain)
        if rest == 0.0:
            self._listen()
        else:
            self._rang, self.rests_until_s = False, self._now_s() + rest

    def disarm(self) -> None:
        """Nothing runs any more that it could tell of."""
        self.rests_until_s = float("inf")

    def _listen(self) -> None:
        self._rang, self.rests_until_s = False, float("inf")
        self._line.arm()
