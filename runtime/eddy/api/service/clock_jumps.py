# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jumps of the wall clock, which days of accounts and ends of keys follow; jobs take the time of the board."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import structlog

from eddy.core.clock_jumps import ClockJumpDetector

PERIOD_S = 5.0
"""Seconds between two looks."""
_log = structlog.get_logger("eddy.api")


async def watch_clock(noted: Callable[[], None], clock: ClockJumpDetector, period_s: float = PERIOD_S) -> None:
    """Note every jump of the wall clock, until cancelled."""
    while True:
        await anyio.sleep(period_s)
        step_s = clock.measure_jump()
        if step_s:
            _log.warning("the wall clock jumped", seconds=round(step_s, 3))
            noted()
