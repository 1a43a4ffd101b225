# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Board time: the one difference, beside the PYNQ `Device`, between a real board and the simulated one.

On a real board time passes by itself and interrupts arrive through the asyncio loop that PYNQ registered its UIO
files with. On the simulated board time passes only by bus cycles and by `wait`, and the device sets PYNQ's events
while it is stepped. `Clock` is what both offer; `PynqBoard` knows nothing else about time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol


class Clock(Protocol):
    """How board time passes."""

    @property
    def free_running(self) -> bool:
        """Whether time passes while nobody waits for it."""

    def now_s(self) -> float:
        """Board seconds since the board started."""

    def wait(self, until_s: float, loop: asyncio.AbstractEventLoop, bell: asyncio.Event) -> None:
        """Let board time pass, running the loop's callbacks, until `bell` is set or it is `until_s`.

        Args:
            until_s: Board time to stop at. In the past: only run the callbacks that are due.
            loop: The loop PYNQ's interrupts were made on; not running when this is called.
            bell: Set by a callback of the loop when an awaited interrupt arrives.
        """

    def start(self, work: Callable[[], None], done: Callable[[], None]) -> Future[None]:
        """Carry out a long blocking call (a partial download) in a worker thread.

        Args:
            work: The call; what it raises is kept in the future.
            done: Called once the future is done, on whatever thread ended it; must be thread safe.
        """


def run_due(loop: asyncio.AbstractEventLoop) -> None:
    """Run the callbacks of a loop that are due, and those they schedule at once, then return."""

    async def turns() -> None:
        # An interrupt's event wakes a task, the task's end calls back: two turns, and one to spare.
        for _ in range(3):
            await asyncio.sleep(0)

    loop.run_until_complete(turns())


def since_boot_s() -> float:
    """Seconds since the operating system booted, suspended or not."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class WallClock:
    """Time of a real board, standing still for nobody.

    Args:
        now_s: What is counted; the operating system's time since boot where not given.
    """

    free_running = True

    def __init__(self, now_s: Callable[[], float] = since_boot_s) -> None:
        self._now_s = now_s
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="configuration")

    def now_s(self) -> float:
        """Board time. A restarted `boardd` goes on counting where the last one stopped."""
        return self._now_s()

    def wait(self, until_s: float, loop: asyncio.AbstractEventLoop, bell: asyncio.Event) -> None:
        """Sleep in the loop until the bell rings or the time has come."""
        run_due(loop)
        while not bell.is_set() and (left_s := until_s - self.now_s()) > 0:
            # A fabric's clock may be slower than the one that the loop sleeps by: look again.
            loop.run_until_complete(_ring_or_timeout(bell, left_s))

    def start(self, work: Callable[[], None], done: Callable[[], None]) -> Future[None]:
        """Hand the call to the one worker thread; a board has one configuration port."""
        future = self._pool.submit(work)
        future.add_done_callback(lambda _: done())
        return future


async def _ring_or_timeout(bell: asyncio.Event, timeout_s: float) -> None:
    # A day at most, because selectors overflow on longer timeouts; the caller asks again.
    try:
        await asyncio.wait_for(bell.wait(), min(timeout_s, 86400.0))
    except asyncio.TimeoutError:
        return
