"""Takes away bytes that nobody can fetch: outputs of jobs that failed or were cancelled, of boards that were late, and
what a head that was killed left behind. The leading head does; what it does twice changes nothing the second time."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import re
import time
from collections.abc import AsyncGenerator, Iterable

import structlog
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError

from eddy.api.bodies_base import SHA256
from eddy.core.errors import EddyError
from eddy.pool.blob_writer import META_OF, PIECES_OF, found
from eddy.pool.blobs import PoolBlobs
from eddy.pool.byte_accounts import OWNER
from eddy.pool.lead import Lead
from eddy.pool.link import Link
from eddy.pool.mirror import Mirror
from eddy.pool.reading import entries
from eddy.pool.records import PoolJob
from eddy.pool.refusals import AWAY, SAID_NO
from eddy.pool.streams import STORE
from eddy.pool.table import PoolJobs

LOOK_S = 1.0
"""Wall seconds between two looks at jobs that have ended."""
SETTLED_S = 3600.0
"""Wall seconds after which what is on its way is nobody's any more: a client sends more often than that."""
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

    def __init__(self, link: Link, lead: Lead, blobs: PoolBlobs) -> None:
        self._link, self._lead, self._blobs, self._table = link, lead, blobs, PoolJobs(link)
        self._sweep_at_s = time.monotonic() + SWEEP_FIRST_S

    async def run(self) -> None:
        """Collect until cancelled."""
        ended = self._lead.mirror.collectable
        while True:
            await asyncio.sleep(LOOK_S)
            if not self._lead.lease.held:
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
                _log.warning("removing what nobody can fetch is put off", error=repr(failure))
            except (EddyError, *SAID_NO) as said:  # the next sweep looks again
                _log.error("what nobody can fetch cannot be removed", error=str(said))
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
        left = account.of_jobs.get(str(job.id), set()) - job.output_blobs
        await let_go(self._blobs, self._lead.mirror, job.tenant, str(job.id), left)

    async def sweep(self) -> None:
        """Look at all there is. What is whole and nobody refers to is its tenant's again; pieces that nothing names go,
        and so does what was on its way and never came."""
        known, coming = await self._references()
        named, adopted = set[str](), list[tuple[str, str]]()
        async with contextlib.aclosing(last_of_each(self._link.js, f"{META_OF}>")) as metas:
            async for message in metas:
                info = _meta(message)
                named.add(str(info.get("nuid")))
                tenant, _, sha = str(info.get("name")).partition("/")
                if not info.get("deleted") and _SHA.fullmatch(sha) and (tenant, sha) not in known:
                    account = await self._link.accounts.of(tenant)
                    await account.caught_up()  # it may have come since
                    if sha not in account.blobs and await self._blobs.refer(tenant, sha, OWNER):
                        adopted.append((tenant, sha))
        old = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=SETTLED_S)
        async with contextlib.aclosing(last_of_each(self._link.js, f"{PIECES_OF}>", headers_only=True)) as pieces:
            async for message in pieces:
                nuid = message.subject.removeprefix(PIECES_OF)
                if nuid not in named and message.metadata.timestamp < old:
                    await self._link.js.purge_stream(STORE, subject=message.subject)
        for (tenant, sha, reference), (revision, at) in coming.items():
            if at is not None and at < old:
                await (await self._link.accounts.of(tenant)).withdraw(sha, reference, revision)
        await self._of_jobs_that_ended(known)
        await asyncio.sleep(LOOK_S)
        for tenant, sha in adopted:  # one may have been about to go, as nobody referred to it
            if await found(self._link, f"{tenant}/{sha}") is None:
                await (await self._link.accounts.of(tenant)).withdraw(sha, OWNER)

    async def _references(
        self,
    ) -> tuple[dict[tuple[str, str], set[str]], dict[tuple[str, str, str], tuple[int, datetime.datetime | None]]]:
        """All there are, by tenant and blob, and those of blobs on their way: revision and date of each."""
        known: dict[tuple[str, str], set[str]] = {}
        coming: dict[tuple[str, str, str], tuple[int, datetime.datetime | None]] = {}
        async with contextlib.aclosing(entries(self._link.accounts.bucket)) as told:
            async for entry in told:
                if entry is None:
                    break
                tenant, _, rest = entry.key.partition(".")
                sha, _, reference = rest.partition(".")
                coming.pop((tenant, sha, reference), None)
                if entry.operation is not None:
                    known.get((tenant, sha), set()).discard(reference)
                    continue
                known.setdefault((tenant, sha), set()).add(reference)
                if b'"coming"' in (entry.value or b""):
                    created = entry.created if isinstance(entry.created, datetime.datetime) else None
                    coming[tenant, sha, reference] = int(entry.revision or 0), created
        return {blob: references for blob, references in known.items() if references}, coming

    async def _of_jobs_that_ended(self, known: dict[tuple[str, str], set[str]]) -> None:
        """Of jobs that failed or were cancelled while nobody led."""
        mirror = self._lead.mirror
        numbers = {int(reference) for references in known.values() for reference in references if reference.isdecimal()}
        for number in mirror.index.without_outputs(numbers):
            with contextlib.suppress(EddyError):
                await self.tidy(await self._table.job(number))


async def let_go(blobs: PoolBlobs, mirror: Mirror, tenant: str, reference: str, shas: Iterable[str]) -> None:
    """Have a job refer to blobs no more. What another job needs, as its input, is the tenant's then."""
    for sha in sorted(shas):
        if mirror.inputs.needs(tenant, sha):
            await blobs.refer(tenant, sha, OWNER)
        await blobs.release(tenant, sha, reference)


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
