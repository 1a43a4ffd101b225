# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Calls of the pool's servers at once where their order does not matter, and in order where it does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable

AT_ONCE = 16
"""Calls that are under way at once: a call waits for the servers' disks, and others can wait with it."""
Call = Callable[[], Awaitable[object]]


async def run_in_lanes(calls: Iterable[tuple[Hashable, Call]], at_once: int = AT_ONCE) -> None:
    """Make all calls. Those of one lane begin in the order given, each once the one before has ended.

    After a call has failed, none begins any more; this raises what it raised once those under way have ended.

    Args:
        calls: Each with the lane it is in.
        at_once: How many may be under way.
    """
    lanes: dict[Hashable, list[Call]] = {}
    for lane, call in calls:
        lanes.setdefault(lane, []).append(call)
    turns, failures = asyncio.Semaphore(at_once), list[Exception]()

    async def run(lane: list[Call]) -> None:
        for call in lane:
            async with turns:
                if failures:
                    return
                try:
                    await call()
                except Exception as failure:
                    failures.append(failure)

    await asyncio.gather(*map(run, lanes.values()))
    if failures:
        raise failures[0]
