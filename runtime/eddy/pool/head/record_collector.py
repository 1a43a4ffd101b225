# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Removes jobs that ended long ago, or that are too many: outputs, events, record, and the entry that gave the number.

The leading head does, some at a time. Whatever it does twice changes nothing the second time; a record goes last but
for what names it, so a head that ends in between leaves a job that the next one removes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

import structlog
from nats.js.errors import NotFoundError

from eddy.core.errors import Conflict, EddyError, NotFound
from eddy.pool.connection.refusals import AWAY, SAID_NO
from eddy.pool.connection.streams import EVENTS
from eddy.pool.jetstream.blobs import PoolBlobs
from eddy.pool.jetstream.jobs import AT_ONCE, PoolJobs
from eddy.pool.jetstream.kept_usage import announce_removal, read_kept_usage
from eddy.pool.jetstream.link import Link
from eddy.pool.mirror.usage_accounts import spent_to_json
from eddy.pool.placement.leader import Leader
from eddy.pool.records.record_json import UnreadableRecord
from eddy.pool.records.records import PoolJob
from eddy.store.db.bounds import JobBounds

LOOK_S = 5.0
"""Wall seconds between two looks at what is kept."""
BATCH = 64
"""Jobs of a tenant that go together; of an array all its jobs do."""
MIN_AGE_S = 60.0
"""Wall seconds since its end for which a job stays, whatever bounds say: who waits for it hears of its end."""
MARK_S = 600.0
"""Wall seconds after which the mark of a record that was removed goes: heads that follow have heard of it by then, and
others look at what is there when they begin again."""
_log = structlog.get_logger("eddy.pool")


class RecordCollector:
    """One head's.

    Args:
        lead: Its part in deciding.
        blobs: The pool's bytes.
        bounds: What is kept of jobs that have ended.

    Attributes:
        removed: Jobs that it removed.
    """

    def __init__(self, link: Link, lead: Leader, blobs: PoolBlobs, bounds: JobBounds) -> None:
        self._link, self._lead, self._blobs, self._bounds = link, lead, blobs, bounds
        self._table = PoolJobs(link)
        self.removed = 0

    async def run(self) -> None:
        """Remove until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            if not (self._lead.lease.is_leader and self._lead.mirror.whole.is_set()):
                continue
            try:
                await self.collect()
            except AWAY as failure:
                _log.warning("the removal of jobs that have ended is postponed", error=repr(failure))
            except (EddyError, *SAID_NO) as said:
                _log.error("jobs that have ended cannot be removed", error=str(said))

    async def collect(self) -> None:
        """Remove all that exceeds the bounds now."""
        if self._bounds != JobBounds():
            await self._remove_excess()
        await self._remove_marks()

    async def _remove_excess(self) -> None:
        projection, now_s = self._lead.mirror.projection, time.time()
        ended = projection.count_ended()
        latest_us = round(1e6 * (now_s - MIN_AGE_S))
        excess = self._bounds.excess(ended)
        for tenant in ended:
            if self._bounds.max_age_s:
                await self._remove_of(tenant, min(latest_us, round(1e6 * (now_s - self._bounds.max_age_s))), None)
            if most := excess.get(tenant):
                most -= max(ended[tenant] - projection.count_ended().get(tenant, 0), 0)
                await self._remove_of(tenant, latest_us, most)

    async def _remove_of(self, tenant: str, before_us: int, most: int | None) -> None:
        """Remove jobs of a tenant that had ended by then, oldest first; of these at most so many, or an array more."""
        passed_over = set[int]()
        while most is None or most > 0:
            limit = len(passed_over) + (BATCH if most is None else min(BATCH, most))
            oldest = self._lead.mirror.projection.select_oldest(tenant, before_us, limit)
            rows = [row for row in oldest if row[0] not in passed_over]
            if not rows:
                return
            units = dict.fromkeys((array, array is not None) if array else (number, False) for number, array in rows)
            going: list[int] = []
            for unit, is_array in units:
                members = [job.id for job in self._lead.mirror.projection.members(unit)] if is_array else [unit]
                array = unit if is_array else None
                if any(self._lead.mirror.jobs.names(each, array) for each in members):
                    passed_over.update(members)
                else:
                    going += members
            if going:
                await self._remove(tenant, going, [unit for unit, is_array in units if is_array])
                most = None if most is None else most - len(going)

    async def _remove(self, tenant: str, numbers: list[int], arrays: list[int]) -> None:
        """Remove jobs, as far as they are still there, and what names arrays of which nothing is left."""
        kept = await read_kept_usage(self._link, tenant)
        for number in kept.removing:  # of a head that ended in between
            await self._remove_record(number)
        jobs = [job for number in numbers if (job := await self._read(number)) is not None]
        spent: dict[int, Mapping[str, tuple[int, int]]] = {
            job.id: {day: (had[0], had[1]) for day, had in spent_to_json(job).items()} for job in jobs
        }
        await announce_removal(self._link, tenant, kept, spent)
        turns = asyncio.Semaphore(AT_ONCE)

        async def remove(job: PoolJob) -> None:
            async with turns:
                await self._remove_job(job)

        await asyncio.gather(*map(remove, jobs))
        for number in {*numbers} - spent.keys():  # gone, or nobody can read it: an operator's matter
            self._lead.mirror.projection.forget(number)
        for array in arrays:
            await self._remove_submission(array)
        self.removed += len(jobs)
        await self._heard_of(jobs)

    async def _read(self, number: int) -> PoolJob | None:
        """A job that has ended; None where it is gone, or nobody can read it."""
        try:
            job = await self._table.job(number)
        except (NotFound, UnreadableRecord):
            return None
        return job if job.is_ended else None

    async def _remove_job(self, job: PoolJob) -> None:
        account = await self._link.accounts.of(job.tenant)
        await account.wait_caught_up()
        blobs = account.of_jobs.get(str(job.id), ())
        await self._blobs.let_go(job.tenant, str(job.id), blobs, self._lead.mirror.inputs.is_needed)
        await self._link.js.purge_stream(EVENTS, subject=f"eddy.events.{job.tenant}.{job.id}")
        await self._remove_submission(job.id)
        await self._remove_record(job.id)

    async def _remove_record(self, number: int) -> None:
        """Take a record away, and have every head hear of it; the mark that says so goes later."""
        await self._link.jobs.purge(str(number))

    async def _remove_submission(self, number: int) -> None:
        """Take the entry away that gave a number: its idempotency key names nothing any more."""
        stream = self._link.submissions._stream
        try:
            message = await self._link.js.get_msg(stream, number)
        except NotFoundError:
            return
        if message.subject:
            await self._link.js.purge_stream(stream, seq=number + 1, subject=message.subject)

    async def _remove_marks(self) -> None:
        marks, stream = self._lead.mirror.marks, self._link.jobs._stream
        while marks and time.monotonic() - marks[0][0] >= MARK_S:
            _, number, revision = marks[0]
            await self._link.js.purge_stream(stream, seq=revision + 1, subject=f"$KV.eddy_jobs.{number}")
            marks.popleft()
            self._lead.mirror.projection.drop_entry(str(number))

    async def _heard_of(self, jobs: list[PoolJob]) -> None:
        """Wait until this head has heard what it removed itself: it would choose the same again.

        Raises:
            Conflict: It does not hear it.
        """
        await self._lead.mirror.wait_caught_up()
        if any(self._lead.mirror.projection.has(job.id) for job in jobs):
            raise Conflict("What was removed is still told.", jobs=len(jobs))
