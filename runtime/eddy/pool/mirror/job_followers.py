# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who waits for a job: woken by the changes that a head follows anyway, and by nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field

from eddy.pool.connection.tasks import ended
from eddy.pool.records.records import PoolJob

Revised = tuple[PoolJob, int]
"""A record, and the revision it was read at."""


@dataclass(slots=True)
class FollowedJob:
    """A job that somebody waits for.

    Attributes:
        latest: Its record as it was last told since somebody follows it; None before.
        changed: Set when the next change is told; another one then.
    """

    latest: Revised | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    followers: int = 0


async def wait_first(events: Iterable[asyncio.Event], within_s: float | None) -> None:
    """Wait until one is set, or the time is over."""
    tasks = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(tasks, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await ended(tasks)


class JobFollowers:
    """The followers of one head; a change costs as much as there are jobs that changed, not waiters."""

    def __init__(self) -> None:
        self._followed: dict[int, FollowedJob] = {}

    @contextlib.contextmanager
    def following(self, number: int) -> Iterator[FollowedJob]:
        """Follow a job while the block runs; nothing of it is kept after the last follower."""
        followed = self._followed.setdefault(number, FollowedJob())
        followed.followers += 1
        try:
            yield followed
        finally:
            followed.followers -= 1
            if not followed.followers:
                del self._followed[number]

    def tell(self, job: PoolJob, revision: int) -> None:
        """A job's record has changed."""
        if (followed := self._followed.get(job.id)) is not None:
            followed.latest = job, revision
            changed, followed.changed = followed.changed, asyncio.Event()
            changed.set()

    async def wait_until(
        self,
        number: int,
        read: Callable[[], Awaitable[Revised]],
        good: Callable[[PoolJob], bool],
        wait_s: float,
        ending: asyncio.Event,
    ) -> PoolJob:
        """A job as it is once it is good, or when the time is over.

        Args:
            read: Reads its record from the servers: at the beginning, and where the time is over.
            good: Whether it is what was waited for.
            wait_s: Wall seconds.
            ending: Once set, nobody waits any longer.
        """
        deadline = time.monotonic() + wait_s
        with self.following(number) as followed:
            changed = followed.changed  # before it is read: what happens in between is not missed
            job, revision = await read()
            while not good(job):
                await wait_first((changed, ending), max(deadline - time.monotonic(), 0.0))
                if not changed.is_set():
                    return (await read())[0]
                changed = followed.changed
                # What was read may be newer than what comes here.
                if followed.latest is not None and followed.latest[1] > revision:
                    job, revision = followed.latest
        return job
