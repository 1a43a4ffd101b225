# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Takes away bytes that nobody can fetch: outputs of jobs that failed or were cancelled, of boards that were late, and
what a head that was killed left behind. The leading head does; what it does twice changes nothing the second time."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import defaultdict

import structlog

from eddy.core.errors import EddyError
from eddy.pool.connection.refusals import AWAY, SAID_NO
from eddy.pool.jetstream.blobs import PoolBlobs
from eddy.pool.jetstream.byte_accounts import LEFT_S, SETTLED_S
from eddy.pool.jetstream.byte_references import ByteReferences, read_references
from eddy.pool.jetstream.jobs import PoolJobs
from eddy.pool.jetstream.link import Link
from eddy.pool.placement.leader import Leader
from eddy.pool.records.records import PoolJob
from eddy.store.disk.files import remove_unnamed

LOOK_S = 1.0
"""Wall seconds between two looks at jobs that have ended."""
SWEEP_FIRST_S, SWEEP_S = 60.0, 86_400.0
"""Wall seconds after which a head that leads looks at all there is, and until it does so again."""
_log = structlog.get_logger("eddy.pool")


class OutputCollector:
    """One head's.

    Args:
        lead: Its part in deciding.
        blobs: The pool's bytes.
    """

    def __init__(self, link: Link, lead: Leader, blobs: PoolBlobs) -> None:
        self._link, self._lead, self._blobs, self._table = link, lead, blobs, PoolJobs(link)
        self._sweep_at_s = time.monotonic() + SWEEP_FIRST_S

    async def run(self) -> None:
        """Collect until cancelled."""
        ended = self._lead.mirror.collectable
        while True:
            await asyncio.sleep(LOOK_S)
            if not self._lead.lease.is_leader:
                ended.clear()
                self._sweep_at_s = time.monotonic() + SWEEP_FIRST_S
                continue
            try:
                while ended:
                    await self._tidied(ended[0])
                    ended.popleft()
                if time.monotonic() >= self._sweep_at_s:
                    await self.sweep()
                    self._sweep_at_s = time.monotonic() + SWEEP_S
            except AWAY as failure:
                _log.warning("the removal of outputs without a job is postponed", error=repr(failure))
            except (EddyError, *SAID_NO) as said:  # the next sweep looks again
                _log.error("outputs without a job cannot be removed", error=str(said))
                self._sweep_at_s = max(self._sweep_at_s, time.monotonic() + SWEEP_FIRST_S)

    async def _tidied(self, job: PoolJob) -> None:
        """Tidy; a job of which that is refused is the next sweep's matter, and stands before no other."""
        try:
            await self.tidy(job)
        except AWAY:
            raise
        except (EddyError, *SAID_NO) as said:
            _log.error("what a job has left cannot be removed", job=job.id, error=str(said))

    async def tidy(self, job: PoolJob) -> None:
        """Remove what a job that has ended refers to, but its outputs."""
        account = await self._link.accounts.of(job.tenant)
        await account.wait_caught_up()  # what another head wrote before it heard that the job has ended
        left = account.of_jobs.get(str(job.id), set()) - job.output_blobs
        await self._blobs.let_go(job.tenant, str(job.id), left, self._lead.mirror.inputs.is_needed)

    async def sweep(self) -> None:
        """Look at all there is: what no entry names goes, and so does what was on its way and never came."""
        told, old_s = await read_references(self._link.accounts.bucket), time.time() - SETTLED_S
        named = told.named
        for draft in await self._link.bytes.left_drafts(time.time() - LEFT_S):
            remove_unnamed(draft)
        async with contextlib.aclosing(self._link.bytes.blobs()) as there:
            async for name, seen in there:
                if name.generation not in named.get((name.tenant, name.sha256), ()) and seen.at_unix_s < old_s:
                    await self._blobs.remove_unnamed(name.tenant, name.sha256, {name.generation})
        for (tenant, sha, reference), coming in told.coming.items():
            if coming.at_unix_s < old_s:
                await (await self._link.accounts.of(tenant)).withdraw(sha, reference, coming.revision)
                await self._blobs.remove_unnamed(tenant, sha, {coming.generation})
        await self._of_jobs_that_ended(told)

    async def _of_jobs_that_ended(self, told: ByteReferences) -> None:
        """Of jobs that ended while nobody led, or whose boards were late."""
        of_jobs: defaultdict[int, set[str]] = defaultdict(set)
        for (_, sha), references in told.references.items():
            for reference in references:
                if reference.isdecimal():
                    of_jobs[int(reference)].add(sha)
        for number in self._lead.mirror.projection.select_ended(of_jobs):
            with contextlib.suppress(EddyError):
                if not of_jobs[number] <= (job := await self._table.job(number)).output_blobs:
                    await self.tidy(job)
