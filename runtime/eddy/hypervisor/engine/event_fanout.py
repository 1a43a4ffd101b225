# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What happens, told to everyone who follows it: the log is read once, each entry is put into words once, and the same
bytes go to all.

A follower reads the log for itself until it has all there is. From then on it is handed what is new, by a plain call
that must not wait. Where it has no room for that, because its client reads too slowly, it is handed nothing more, and
reads the log for itself again as soon as it can: it misses nothing, and nobody waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import anyio.to_thread

from eddy.core.records import JobEvent
from eddy.hypervisor.engine.job_subscriptions import ANY, JobSubscriptions
from eddy.store import Store

FEW = 8
"""Followers of single jobs that read for themselves whenever something happens to their job: with so few of them, to
read what happens to all others would cost more."""
READ = 500
"""Events that are read at once."""
STRIDE = 64
"""Followers that are told before others of the event loop have their turn."""
RETRY_S = 0.5
"""Wall seconds before the log is read again that could not be read."""
K = TypeVar("K")
_log = logging.getLogger(__name__)

Words = Callable[[Sequence[JobEvent]], bytes]
"""What followers are handed of some events."""


class Follower:
    """Somebody who follows a job, or all of them; for one event loop.

    Args:
        tenant: Whose jobs; None for everyone's (operators).
        job: Which one; None for all.
        take: Handed what is new; answers whether there was room for it.

    Attributes:
        after: Sequence number of the last event it has.
        told_s: When it was last handed something, in seconds of the event loop.
    """

    def __init__(self, tenant: str | None, job: int | None, take: Callable[[bytes], bool]) -> None:
        self.tenant, self.job, self.take = tenant, job, take
        self.after, self.told_s = 0, 0.0
        self._stale = True
        self._waiting: asyncio.Future[None] | None = None

    @property
    def live(self) -> bool:
        """Whether it is handed what is new."""
        return self._waiting is not None

    def begin_read(self) -> None:
        """The log is about to be read: what is told from now on may be missing from what is found."""
        self._stale = False

    def request_reread(self) -> None:
        """There may be more in the log than it has."""
        self._stale = True
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            if not waiting.done():
                waiting.set_result(None)

    async def receive_new(self) -> None:
        """Be handed what is new until the log is to be read again; at once where it is to be already."""
        if self._stale:
            return
        loop = asyncio.get_running_loop()
        self._waiting, self.told_s = loop.create_future(), loop.time()
        try:
            await self._waiting
        finally:
            self._waiting = None


class EventFanout:
    """Everyone who follows something of one hypervisor; for one event loop.

    Args:
        followers: Told when something has happened.
        words: What followers are handed of some events.
        beat: What they are handed when nothing happens.
        silence_s: After so many wall seconds of silence.
    """

    def __init__(
        self, followers: JobSubscriptions, store: Store, words: Words, beat: bytes, silence_s: Callable[[], float]
    ) -> None:
        self._followers, self._store, self.words = followers, store, words
        self._beat, self._silence_s = beat, silence_s
        self._feeds: dict[str | None, dict[Follower, None]] = {}
        self._jobs: dict[int, dict[Follower, None]] = {}
        self._of_jobs = 0
        self._due = asyncio.Event()
        self._pumping: asyncio.Task[None] | None = None
        self._beating: asyncio.TimerHandle | None = None
        followers.listen(self._told)

    @contextmanager
    def subscribe(self, follower: Follower) -> Iterator[None]:
        """Tell a follower of what happens while the block runs."""
        self._join(follower)
        try:
            yield
        finally:
            self._leave(follower)

    @property
    def _crowded(self) -> bool:
        """Whether the log is read for all; else each follower reads for itself."""
        return bool(self._feeds) or self._of_jobs > FEW

    def _join(self, follower: Follower) -> None:
        self._followers.watch(ANY if follower.job is None else follower.job)
        if follower.job is None:
            self._feeds.setdefault(follower.tenant, {})[follower] = None
        else:
            self._jobs.setdefault(follower.job, {})[follower] = None
            self._of_jobs += 1
        if self._crowded and self._pumping is None:
            self._pumping = asyncio.create_task(self._pump())
        if self._beating is None:
            self._keep_beating()

    def _leave(self, follower: Follower) -> None:
        self._followers.unwatch(ANY if follower.job is None else follower.job)
        if follower.job is None:
            _remove_follower(self._feeds, follower.tenant, follower)
        else:
            _remove_follower(self._jobs, follower.job, follower)
            self._of_jobs -= 1
        self._due.set()  # perhaps the crowd is gone

    def _list_followers(self) -> list[Follower]:
        groups = [*self._feeds.values(), *self._jobs.values()]
        return [follower for group in groups for follower in group]

    # What happens -------------------------------------------------------------------------------------------------

    def _told(self, jobs: Collection[int] | None) -> None:
        """Something happened to these jobs; it is not known to which for None."""
        self._due.set()
        if jobs is None:
            for follower in self._list_followers():
                follower.request_reread()
        elif not self._crowded:
            for job in jobs:
                for follower in tuple(self._jobs.get(job, ())):
                    follower.request_reread()

    async def _pump(self) -> None:
        """Hand on what happens, for as long as there is a crowd."""
        last: int | None = None
        try:
            while self._crowded:
                self._due.clear()
                try:
                    if last is None:  # what came before is for each to read
                        last = await anyio.to_thread.run_sync(self._store.events.before_last, None, 0)
                        for follower in self._list_followers():
                            follower.request_reread()
                    last = await self._hand_on(last)
                except Exception:  # they meet it too, each where it reads
                    _log.exception("the log of events could not be read for those who follow it")
                    last = None
                    await asyncio.sleep(RETRY_S)
                else:
                    await self._due.wait()
        finally:
            self._pumping = None
            for follower in self._list_followers():  # what was told meanwhile was for the crowd
                follower.request_reread()

    async def _hand_on(self, last: int) -> int:
        """Hand on everything after a sequence number; answers the last one."""
        while True:
            events = await anyio.to_thread.run_sync(self._store.events.list_events, None, None, last, READ)
            if events:
                last = events[-1].seq
                await self._tell_groups(events)
            if len(events) < READ:
                return last

    async def _tell_groups(self, events: Sequence[JobEvent]) -> None:
        for tenant, group in tuple(self._feeds.items()):
            theirs = events if tenant is None else [event for event in events if event.tenant == tenant]
            await self._tell(tuple(group), theirs)
        by_job: dict[int, list[JobEvent]] = {}
        for event in events:
            if event.job in self._jobs:
                by_job.setdefault(event.job, []).append(event)
        for job, theirs in by_job.items():
            await self._tell(tuple(self._jobs.get(job, ())), theirs)

    async def _tell(self, group: Sequence[Follower], events: Sequence[JobEvent]) -> None:
        if not events:
            return
        words, first, last = self.words(events), events[0].seq, events[-1].seq
        over = any(event.state is not None and event.state.is_final for event in events)
        now_s = asyncio.get_running_loop().time()
        for number, follower in enumerate(group):
            if number % STRIDE == STRIDE - 1:
                await asyncio.sleep(0)
            if not follower.live:
                follower.request_reread()  # what it is reading may be from before
            elif follower.after < last:
                missing = words
                if follower.after >= first:
                    missing = self.words([event for event in events if event.seq > follower.after])
                if not follower.take(missing):
                    follower.request_reread()
                    continue
                follower.after, follower.told_s = last, now_s
                if over and follower.job is not None:
                    follower.request_reread()

    # What does not happen -----------------------------------------------------------------------------------------

    def _keep_beating(self) -> None:
        """Say to those who have heard nothing for long that they are still connected: one timer for all."""
        silence_s, loop = self._silence_s(), asyncio.get_running_loop()
        now_s = loop.time()
        for follower in self._list_followers():
            if follower.live and now_s - follower.told_s >= silence_s * 3 / 4 and follower.take(self._beat):
                follower.told_s = now_s
        somebody = self._feeds or self._jobs
        self._beating = loop.call_later(silence_s / 4, self._keep_beating) if somebody else None


def _remove_follower(groups: dict[K, dict[Follower, None]], key: K, follower: Follower) -> None:
    del groups[key][follower]
    if not groups[key]:
        del groups[key]
