# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Reads the bucket of jobs into a head's projection: from where it was read to, at a start and a reconnection, and on.

Servers give each change a revision, and keep the last entry of each key. So an entry that they have as it was read
says that all before it is as it was read too, but for what was removed since; and what was changed comes with a later
revision. What they have lost, or have otherwise, as a stream restored by itself does, is behind such an entry.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

import structlog

from eddy.core.errors import StorageDamaged
from eddy.pool.connection.tasks import ended
from eddy.pool.jetstream.jobs import JobEntry, PoolJobs
from eddy.pool.jetstream.link import Link
from eddy.pool.mirror.projection import REMOVED, Projection, same_time

SAVED = 500
"""Entries that are saved together while those that were there are read."""
SAVE_S = 0.25
"""Wall seconds in which changes are saved together from then on. What came last may stay unsaved: it is read again."""
CAUGHT_UP_S, LOOK_S = 5.0, 0.5
"""Wall seconds that what others have written may take to come here, and between two looks whether it still can."""
LOOKS = 5
"""Times that entries are counted, before all that the servers have are listed: others may change some meanwhile."""
AT_ONCE = 50
"""Removed records that are asked for at once."""
_log = structlog.get_logger("eddy.pool")


class JobReader:
    """One head's.

    Args:
        take: Called for each entry that is new, or changed; puts it into the projection.
        settled: Called once all that is there was read.
    """

    def __init__(
        self, link: Link, projection: Projection, take: Callable[[JobEntry], None], settled: Callable[[], None]
    ) -> None:
        self._link, self._table, self._projection = link, PoolJobs(link), projection
        self._take, self._settled = take, settled
        self._revision, self._connection = 0, -1
        self._moved = asyncio.Event()

    def forget(self) -> None:
        """Nothing is known any more."""
        self._connection = -1

    @property
    def is_settled(self) -> bool:
        """Whether all is known that was there when the servers were connected to last."""
        return self._connection == self._link.reconnects

    async def run(self) -> None:
        """Read until cancelled, or until something fails."""
        connection = self._link.reconnects
        await self._table.state()  # who answers has all that was written
        self._revision = place = await self._known_place()
        unsure, told_all = self._projection.select_unsure(place), asyncio.Event()

        async def settle() -> None:
            await told_all.wait()
            await self._read_unsure(unsure, place)
            await self._see_that_none_was_removed()
            self._settled()
            self._projection.save()
            self._connection = connection
            self._moved.set()

        parts = [asyncio.ensure_future(each) for each in (self._follow(place, unsure, told_all), settle())]
        try:
            await asyncio.gather(*parts)
        finally:
            await ended(parts)
            self._projection.save()

    async def _known_place(self) -> int:
        """The revision of an entry that the servers have as it was read, one of the last; 0 where there is none."""
        behind = 0
        while (newest := self._projection.select_newest(behind)) is not None:
            key, revision, written_us = newest
            found_us = await self._table.written_us(key, revision)
            if found_us is not None and same_time(found_us, written_us):
                return revision
            behind = 2 * behind + 1
        return 0

    async def _follow(self, place: int, unsure: set[str], told_all: asyncio.Event) -> None:
        unsaved, saved_s = 0, time.monotonic()
        async with contextlib.aclosing(self._table.following(place)) as following:
            async for told in following:
                if told is None:
                    told_all.set()
                else:
                    unsure.discard(told.key)
                    self._hear(told)
                    self._revision = told.revision
                    self._moved.set()
                unsaved += 1
                if unsaved == SAVED or (told_all.is_set() and time.monotonic() - saved_s > SAVE_S):
                    self._projection.save()
                    unsaved, saved_s = 0, time.monotonic()

    def _hear(self, told: JobEntry) -> None:
        try:
            if self._projection.is_news(told):
                self._take(told)
        except StorageDamaged:
            raise
        except Exception as failure:  # one record must not keep a head from all that come behind it
            _log.exception("a job's record cannot be dealt with", job=told.key)
            self._link.troubles.record_unreadable("eddy_jobs", told.key, repr(failure))

    async def _read_unsure(self, unsure: set[str], place: int) -> None:
        """Read what was behind the known place before, and was not told again."""
        for key in [*unsure]:
            told = await self._table.entry(key) if place else JobEntry(key, None, 0, 0, gone=True)
            if key in unsure:  # nothing was told of it meanwhile
                self._projection.drop_entry(key)
                self._hear(told)

    async def _see_that_none_was_removed(self) -> None:
        """See that no record was removed of which not even the mark is left: there are as many as were read. A server
        that alone had them, and was started since, may have others: killed, it brings back what was removed last."""
        server = await self._table.lone_server()
        may_return = self._projection.lone_server not in ("", server)
        if (may_return and await self._read_returned()) or not await self._are_as_many():
            await self._compare_keys()
        self._projection.set_lone_server(server)

    async def _read_returned(self) -> bool:
        """Read removed records that are back; whether further ones may be, which were removed too long ago."""
        removed = list(self._projection.removed)
        for first in range(0, len(removed), AT_ONCE):
            for told in await asyncio.gather(*map(self._table.entry, removed[first : first + AT_ONCE])):
                if not told.gone:
                    self._hear(told)
        return len(removed) == REMOVED and not (await self._table.entry(removed[0])).gone

    async def _compare_keys(self) -> None:
        """List what the servers have, and forget or read what is otherwise."""
        read, there = self._projection.keys(), await self._table.keys()
        for key in read - there:
            self._hear(JobEntry(key, None, 0, 0, gone=True))
        for key in there - self._projection.keys():
            self._hear(await self._table.entry(key))

    async def _are_as_many(self) -> bool:
        """Whether the servers have as many entries as were read."""
        for _ in range(LOOKS):
            messages, last = await self._table.state()
            await self._reach(last)
            if self._revision <= last and self._projection.count_entries() > messages:
                await self._drop_marks()
            if self._revision <= last and self._projection.count_entries() == messages:
                return True
        return False

    async def _drop_marks(self) -> None:
        """Forget marks that the head that leads took away, the oldest first."""
        marks = self._projection.marks()
        gone, there = 0, len(marks)
        while gone < there:
            half = (gone + there) // 2
            if await self._table.written_us(*marks[half]) is None:
                gone = half + 1
            else:
                there = half
        for key, _ in marks[:gone]:
            self._projection.drop_entry(key)

    async def wait_caught_up(self) -> None:
        """Wait until all is known here that any head had written when this was called.

        Raises:
            TimeoutError: It did not come.
        """
        last, deadline = await self._table.last_revision(), time.monotonic() + CAUGHT_UP_S
        while not self.is_settled:
            await self._wait_moved(deadline)
        await self._reach(last)

    async def wait_settled(self) -> None:
        """Wait until all is known that was there when the servers were connected to last.

        Raises:
            TimeoutError: It did not come.
        """
        if not self.is_settled:
            await self.wait_caught_up()

    async def _reach(self, last: int) -> None:
        deadline = time.monotonic() + CAUGHT_UP_S
        while self._revision < last:
            if not await self._wait_moved(deadline) and await self._table.newest() <= self._revision:
                self._revision = max(self._revision, last)  # what was last is gone

    async def _wait_moved(self, deadline: float) -> bool:
        """Wait until something is told; whether it was.

        Raises:
            TimeoutError: It is too late.
        """
        self._moved.clear()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._moved.wait(), LOOK_S)
        if not self._moved.is_set() and time.monotonic() > deadline:
            raise asyncio.TimeoutError("what was written does not come here")
        return self._moved.is_set()
