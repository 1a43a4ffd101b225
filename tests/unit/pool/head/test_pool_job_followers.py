# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who waits for a job is woken by its changes and by nothing else, and misses none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from eddy.pool.mirror.job_followers import JobFollowers, Revised
from eddy.pool.records.records import PLACED, QUEUED, RUNNING, SUCCEEDED, PoolJob

LONG_S = 60.0


def job(state: str) -> PoolJob:
    return PoolJob(7, "ada", {"application": "a"}, 0.0, state=state)


class FollowerRig:
    """Followers, what the servers keep, and how often they were asked."""

    def __init__(self, state: str = QUEUED) -> None:
        self.followers, self.kept, self.reads = JobFollowers(), (job(state), 1), 0
        self.ending = asyncio.Event()

    async def read(self) -> Revised:
        self.reads += 1
        await asyncio.sleep(0)
        return self.kept

    def tell(self, state: str, revision: int) -> None:
        self.followers.tell(job(state), revision)

    def until(self, good: Callable[[PoolJob], bool] = lambda it: it.is_ended, wait_s: float = LONG_S) -> Awaitable[str]:
        async def state() -> str:
            return (await self.followers.wait_until(7, self.read, good, wait_s, self.ending)).state

        return asyncio.ensure_future(state())


def plays(scene: Callable[[FollowerRig], Awaitable[None]]) -> None:
    async def play() -> None:
        waiting = FollowerRig()
        await asyncio.wait_for(scene(waiting), LONG_S / 2)
        assert waiting.followers._followed == {}, "nothing is kept of a job that nobody waits for"

    asyncio.run(play())


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_many_are_woken_by_one_change_and_the_servers_are_asked_once_by_each() -> None:
    async def scene(waiting: FollowerRig) -> None:
        all_of_them = [waiting.until() for _ in range(50)]
        await turns()
        for state, revision in ((PLACED, 2), (RUNNING, 3)):
            waiting.tell(state, revision)
            await turns()
        waiting.tell(SUCCEEDED, 4)
        assert await asyncio.gather(*all_of_them) == [SUCCEEDED] * 50
        assert waiting.reads == 50

    plays(scene)


def test_changes_that_come_at_once_or_while_the_record_is_read_are_not_missed() -> None:
    async def scene(waiting: FollowerRig) -> None:
        at_once = waiting.until()
        await turns()
        waiting.tell(RUNNING, 2)
        waiting.tell(SUCCEEDED, 3)
        assert await at_once == SUCCEEDED
        meanwhile = waiting.until()
        await asyncio.sleep(0)  # it follows, and asks the servers
        waiting.tell(SUCCEEDED, 2)
        assert await meanwhile == SUCCEEDED

    plays(scene)


def test_what_was_read_is_not_taken_back_by_older_news() -> None:
    """A head hears of changes a moment after they were made: what was read may be newer."""

    async def scene(waiting: FollowerRig) -> None:
        waiting.kept = job(RUNNING), 3
        while_running = waiting.until(lambda it: it.state != RUNNING)
        await turns()
        waiting.tell(PLACED, 2)
        waiting.tell(RUNNING, 3)
        await turns()
        assert not while_running.done()  # type: ignore[attr-defined]
        waiting.tell(SUCCEEDED, 4)
        assert await while_running == SUCCEEDED

    plays(scene)


def test_patience_and_the_head_end() -> None:
    async def scene(waiting: FollowerRig) -> None:
        assert await waiting.until(wait_s=0.01) == QUEUED
        assert waiting.reads == 2, "it is read again where the time is over"
        ended = waiting.until()
        await turns()
        waiting.ending.set()
        assert await ended == QUEUED
        assert await waiting.until() == QUEUED

    plays(scene)
