# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How steps give way to those who submit.

One interpreter runs one thread at a time. While jobs wait, steps always find something to do, and would take half of it
from whoever submits, be they ever so many. So while somebody waits for an answer, steps take a share of a processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable

CROWD_SHARE = 0.5
"""Of a processor, for steps, while submissions wait."""
MOST_S = 0.02
"""Processor seconds that may be saved up: steps that had to wait catch up, but not for long."""


class CpuThrottle:
    """What steps may take at this moment: a bucket of processor time that fills at their share.

    Args:
        share: Of a processor.
        clock: Wall seconds that only grow.
    """

    def __init__(self, share: float = CROWD_SHARE, clock: Callable[[], float] = time.monotonic) -> None:
        self._share, self._clock = share, clock
        self._left_s, self._at_s = MOST_S, clock()

    def throttle_s(self, took_s: float) -> float:
        """Wall seconds to wait after a step that took so many processor seconds, while somebody else waits."""
        now_s = self._clock()
        self._left_s = min(MOST_S, self._left_s + (now_s - self._at_s) * self._share) - took_s
        self._at_s = now_s
        return max(0.0, -self._left_s / self._share)
