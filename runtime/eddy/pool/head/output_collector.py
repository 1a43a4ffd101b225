# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Takes away bytes that nobody can fetch: outputs of jobs that failed or were cancelled, of boards that were late, and
what a head that was killed left behind. The leading head does; what it does twice changes nothing the second time."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import re
import time
from collections import defaultdict
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import structlog
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError
from nats.js.kv import KeyValue

from eddy.api.request_bodies.base import SHA256
from eddy.core.errors import EddyError
from eddy.pool.connection.refusals import AWAY, SAID_NO
from eddy.pool.connection.streams import STORE
from eddy.pool.jetstream.blob_writer import META_OF, PIECES_OF
from eddy.pool.jetstream.blobs import PoolBlobs
from eddy.pool.jetstream.bucket_reader import entries
from eddy.pool.jetstream.byte_accounts import GOING, OWNER, SETTLED_S
from eddy.pool.jetstream.jobs import PoolJobs
from eddy.pool.jetstream.link import Link
from eddy.pool.placement.leader import Leader
from eddy.pool.records.records import PoolJob

LOOK_S = 1.0
"""Wall seconds between two looks at jobs that have ended."""
SWEEP_FIRST_S, SWEEP_S = 60.0, 86_400.0
"""Wall seconds after which a head that leads looks at all there is, and until it does so again."""
PATIENCE_S = 10.0
_SHA = re.compile(SHA256)
_log = structlog.get_logger("eddy.pool")


class OutputCollector:
    """One head's.

    Args:
        link: The pool.
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
        """Look at all there is. What is whole, and nobody ever referred to, is its tenant's; what nobody refers to any
        more goes, and so do pieces that nothing names and what was on its way and never came."""
        told, named = await self._entries(), set[str]()
        async with contextlib.aclosing(last_of_each(self._link.js, f"{META_OF}>")) as metas:
            async for message in metas:
                info = _meta(message)
                named.add(str(info.get("nuid")))
                tenant, _, sha = str(info.get("name")).partition("/")
                if not info.get("deleted") and _SHA.fullmatch(sha) and not told.references.get((tenant, sha)):
                    await self._adopt_or_remove(tenant, sha, (tenant, sha) in told.references)
        old = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=SETTLED_S)
        async with contextlib.aclosing(last_of_each(self._link.js, f"{PIECES_OF}>", headers_only=True)) as pieces:
            async for message in pieces:
                nuid = message.subject.removeprefix(PIECES_OF)
                if nuid not in named and message.metadata.timestamp < old:
                    await self._link.js.purge_stream(STORE, subject=message.subject)
        for (tenant, sha, reference), (revision, at) in told.coming.items():
            if at is not None and at < old:
                await (await self._link.accounts.of(tenant)).withdraw(sha, reference, revision)
                await self._blobs.tend(tenant, sha)
        for tenant, sha in told.going:
            await self._blobs.tend(tenant, sha)
        await self._of_jobs_that_ended(told)

    async def _adopt_or_remove(self, tenant: str, sha: str, was_referred_to: bool) -> None:
        """A blob of which no reference was found is its tenant's, unless somebody gave it up, or pieces of it are lost.

        Entries by which references were given up are there for an hour: a blob that was to go, and did not, is found by
        its own entry after that.
        """
        account = await self._link.accounts.of(tenant)
        await account.wait_caught_up()  # it may have come since
        if sha in account.blobs:
            return
        if was_referred_to or not await self._blobs.refer(tenant, sha, OWNER):
            await self._blobs.tend(tenant, sha)

    async def _entries(self) -> _Entries:
        told = _Entries()
        async with contextlib.aclosing(entries(self._link.accounts.bucket)) as all_there_are:
            async for entry in all_there_are:
                if entry is None:
                    break
                told.take(entry)
        return told

    async def _of_jobs_that_ended(self, told: _Entries) -> None:
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


@dataclass
class _Entries:
    """Who refers to what.

    Attributes:
        references: By tenant and blob; none, where all were given up lately.
        coming: Of blobs on their way: revision and date of each.
        going: Blobs that are about to be taken away.
    """

    references: defaultdict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    coming: dict[tuple[str, str, str], tuple[int, datetime.datetime | None]] = field(default_factory=dict)
    going: set[tuple[str, str]] = field(default_factory=set)

    def take(self, entry: KeyValue.Entry) -> None:
        """An entry is there, or was there and was taken back."""
        tenant, _, rest = entry.key.partition(".")
        sha, _, reference = rest.partition(".")
        references = self.references[tenant, sha]
        references.discard(reference)
        self.coming.pop((tenant, sha, reference), None)
        if entry.operation is not None:
            return
        if reference.startswith(GOING):
            self.going.add((tenant, sha))
            return
        references.add(reference)
        if b'"coming"' in (entry.value or b""):
            created = entry.created if isinstance(entry.created, datetime.datetime) else None
            self.coming[tenant, sha, reference] = int(entry.revision or 0), created


async def last_of_each(js: JetStreamContext, subject: str, headers_only: bool = False) -> AsyncGenerator[Msg, None]:
    """The last message of each subject of the store that is there now.

    Raises:
        TimeoutError: The servers did not tell them all.
    """
    try:
        last = (await js.get_last_msg(STORE, subject)).seq or 0
    except NotFoundError:
        return
    config = ConsumerConfig(
        deliver_policy=DeliverPolicy.LAST_PER_SUBJECT,
        headers_only=headers_only,
        inactive_threshold=60,
        mem_storage=True,
    )
    following = await js.subscribe(subject, stream=STORE, ordered_consumer=True, config=config)
    try:
        read = 0
        while read < last:
            message = await following.next_msg(timeout=PATIENCE_S)
            read = message.metadata.sequence.stream
            yield message
    finally:
        await following.unsubscribe()


def _meta(message: Msg) -> dict[str, object]:
    try:
        return dict(json.loads(message.data))
    except (RecursionError, TypeError, ValueError):
        return {}
