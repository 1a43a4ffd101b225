"""Waiting for a job to become what somebody wants it to be, for a while: what long polls are made of."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import anyio
import anyio.to_thread

from eddy.core.records import JobRecord
from eddy.hypervisor.followers import Followers

LOOK_S = 1.0
"""Wall seconds between two looks whether the server ends."""


async def awaited(
    followers: Followers,
    read: Callable[[], JobRecord],
    job: int,
    good: Callable[[JobRecord], bool],
    timeout_s: float,
    ending: asyncio.Event,
) -> JobRecord:
    """A job as it is once it is good, or when the time is over.

    Args:
        followers: Told when something happens to it.
        read: Reads it; may wait for the disk.
        job: Its id.
        good: Whether it is what was waited for.
        timeout_s: Wall seconds.
        ending: Once set, nobody waits any longer.

    Raises:
        NotFound: There is no such job.
    """
    until_s = time.monotonic() + timeout_s
    record = await anyio.to_thread.run_sync(read)
    while not good(record) and not ending.is_set():
        changed = followers.next_of(job)  # before it is read: what happens in between is not missed
        record = await anyio.to_thread.run_sync(read)
        if good(record):
            break
        while not changed.is_set() and not ending.is_set():
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return record
            with anyio.move_on_after(min(left_s, LOOK_S)):
                await changed.wait()
    return record
