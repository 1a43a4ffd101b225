# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who keeps which bytes, and how many: one entry for each reference to a blob, in a bucket of its own.

A blob is there for as long as somebody refers to it: its tenant, who stored it, or a job, whose output it is. It counts
once, whoever refers to it. A head that is about to take bytes *announces* them first, under a name that is its alone,
and counts all that was announced before: entries of a bucket have one order, which all heads see. So heads that are
asked at once take no more together than one would, without waiting for each other, and nothing that was announced later
is counted against what was first. What was announced keeps the blob, too: whoever gives up a reference at that moment,
the same one even, leaves it there (`eddy.pool.jetstream.blobs`).

A head follows the entries of the tenants it deals with, and of no others.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from collections import defaultdict
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping
from dataclasses import dataclass

import anyio
import structlog
from nats.aio.client import Client as Nats
from nats.js import JetStreamContext
from nats.js.errors import APIError, NotFoundError
from nats.js.kv import KeyValue

from eddy.core.errors import StorageQuotaExceeded
from eddy.core.units import format_bytes, format_size
from eddy.pool.connection.refusals import UNDONE, WRONG_LAST_SEQUENCE, code_of
from eddy.pool.connection.tasks import ended
from eddy.pool.jetstream.bucket_reader import confirm_bucket, operation_of, watch_bucket
from eddy.pool.jetstream.store_anomalies import StoreAnomalies
from eddy.pool.records.record_json import NO_SENSE, parse_json

BUCKET, STREAM = "eddy_bytes", "KV_eddy_bytes"
OWNER = ""
"""The reference of a tenant that stored a blob; a job's is its number."""
COMING = "coming-"
"""What references begin with of heads that take a blob in."""
STORE = "store"
"""The entry that says which part of the place for bytes is this pool's; no tenant's, as those have a hash."""
REFERENCE_BYTES = 1024
"""What each reference counts beside the blob: entries, and what is kept of an object, take as much on a disk."""
MARKER_S = 3600
"""Wall seconds for which servers tell that an entry is gone."""
CAUGHT_UP_S = 5.0
"""Wall seconds that what was written may take to come here."""
SETTLED_S = 3600.0
"""Wall seconds after which what is on its way is nobody's any more: it is announced again more often than that."""
LEFT_S = 86_400.0
"""Wall seconds after which a file on its way in is one that a killed head left: who sends so slowly is ended sooner."""
MAX_FOLLOWED = 256
"""Tenants that a head follows at once; those it dealt with longest ago are followed no more, unless it is at work for
them."""
_log = structlog.get_logger("eddy.pool")


@dataclass(frozen=True, slots=True)
class Reference:
    """Somebody who refers to a blob.

    Attributes:
        size_bytes: Of the blob; at most so many, while it is on its way.
        coming: Whether it is on its way, and not there yet.
        since: Of its first entry, where it was announced again without a gap.
        at: Of which generation of the blob.
    """

    size_bytes: int
    coming: bool
    revision: int
    since: int
    at: str = ""


class EntryReplaced(asyncio.TimeoutError):
    """An entry is another than whoever would take its place knew."""


class TenantBytes:
    """What a tenant keeps, as a head follows it.

    Args:
        troubles: What cannot be read.

    Attributes:
        total: Bytes that count.
        blobs: References by who has them, by blob.
        of_jobs: Blobs that jobs refer to, by their number.
    """

    def __init__(self, tenant: str, nats: Nats, bucket: KeyValue, troubles: StoreAnomalies) -> None:
        self.tenant, self._nats, self._bucket, self._troubles = tenant, nats, bucket, troubles
        self._js: JetStreamContext = bucket._js
        self.total = 0
        self.blobs: dict[str, dict[str, Reference]] = {}
        self.of_jobs: defaultdict[str, set[str]] = defaultdict(set)
        self._users = 0
        self._announced: dict[str, asyncio.Future[int]] = {}
        self._revision, self._moved = 0, asyncio.Event()
        self._connection = int(nats.stats["reconnects"])
        self._following = asyncio.ensure_future(self._follow())

    @property
    def is_over(self) -> bool:
        """Whether nothing more is heard: servers that were away have forgotten who followed."""
        return self._following.done() or self._connection != int(self._nats.stats["reconnects"])

    @property
    def in_use(self) -> bool:
        """Whether somebody relies on what is heard."""
        return self._users > 0

    @contextlib.contextmanager
    def rely(self) -> Iterator[None]:
        """Rely on what is heard, inside the block."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1

    async def close(self) -> None:
        """Follow no more."""
        await ended([self._following])

    async def _follow(self) -> None:
        async with watch_bucket(self._bucket, f"{self.tenant}.>") as watch:
            async for entry in watch:
                if entry is not None:
                    self._take(entry)

    def _take(self, entry: KeyValue.Entry) -> None:
        _, _, rest = entry.key.partition(".")
        sha, _, reference = rest.partition(".")
        before, told = self._cost(sha), self._read(entry)
        of_blob = self.blobs.setdefault(sha, {})
        if told is None:
            of_blob.pop(reference, None)
            self.of_jobs[reference].discard(sha)
        else:
            of_blob[reference] = told[0]
            self.of_jobs[reference].add(sha)
        if not of_blob:
            del self.blobs[sha]
        if not self.of_jobs[reference]:
            del self.of_jobs[reference]
        self.total += self._cost(sha) - before
        if told is not None and (waiting := self._announced.pop(told[1], None)) is not None and not waiting.done():
            waiting.set_result(self.total)
        self._revision = int(entry.revision or 0)
        self._moved.set()
        self._moved = asyncio.Event()

    def _read(self, entry: KeyValue.Entry) -> tuple[Reference, str] | None:
        """A reference, and the word by which whoever announced it knows it; None where it is taken back."""
        self._troubles.forget(BUCKET, entry.key)
        if entry.operation is not None:
            return None
        try:
            told = json.loads(entry.value or b"")
            revision, at = int(entry.revision or 0), str(told["at"])
            reference = Reference(
                int(told["bytes"]), bool(told.get("coming")), revision, int(told.get("since", revision)), at
            )
            return reference, str(told.get("by", ""))
        except (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError) as wrong:
            self._troubles.record_unreadable(BUCKET, entry.key, str(wrong))
            return Reference(0, True, int(entry.revision or 0), int(entry.revision or 0)), ""

    def _cost(self, sha: str) -> int:
        of_blob = self.blobs.get(sha, {}).values()
        return max((each.size_bytes for each in of_blob), default=0) + REFERENCE_BYTES * len(of_blob)

    def newest_reference(self, sha: str) -> Reference | None:
        """The newest of those who refer to a blob that is there; None where it is not known to be."""
        there = [each for each in self.blobs.get(sha, {}).values() if not each.coming]
        return max(there, key=lambda each: each.revision, default=None)

    def size(self, sha: str) -> int | None:
        """Bytes of a blob that is there; None where it is not known to be."""
        kept = self.newest_reference(sha)
        return None if kept is None else kept.size_bytes

    def is_referenced(self, sha: str, reference: str) -> bool:
        """Whether somebody refers to a blob that is there."""
        found = self.blobs.get(sha, {}).get(reference)
        return found is not None and not found.coming

    async def wait_caught_up(self) -> None:
        """Wait until all is known here that any head had written when this was called.

        Raises:
            TimeoutError: It did not come.
        """
        with self.rely():
            await confirm_bucket(self._bucket)
            await self._reached(await self._last(f"{self.tenant}.>"))

    async def _last(self, entries: str) -> int:
        """The revision of the last of these entries; 0 where there is none."""
        try:
            return int((await self._js.get_last_msg(STREAM, f"$KV.{BUCKET}.{entries}")).seq or 0)
        except NotFoundError:
            return 0

    async def read_entries(self, sha: str) -> Mapping[str, Reference]:
        """All entries of a blob, as they were at one moment after this was called.

        What is heard may lack some: servers pass over an entry in whose place another one was written meanwhile. So
        what was the last entry before all was heard must be the last one after that, too.

        Raises:
            TimeoutError: They did not come.
        """
        names, told = (self._entry(sha, OWNER), self._entry(sha, ">")), dict[str, Reference]()
        before: list[int] = []
        with self.rely():
            while (last := await asyncio.gather(*(self._last(name) for name in names))) != before:
                await self._reached(max(last))
                before, told = last, dict(self.blobs.get(sha, {}))
                await confirm_bucket(self._bucket)
        return told

    async def _reached(self, revision: int) -> None:
        deadline = time.monotonic() + CAUGHT_UP_S
        while self._revision < revision:
            moved = asyncio.ensure_future(self._moved.wait())
            try:
                await asyncio.wait(
                    [moved, self._following],
                    timeout=max(deadline - time.monotonic(), 0.0),
                    return_when=asyncio.FIRST_COMPLETED,
                )
            finally:
                moved.cancel()
            if self._revision < revision and (self.is_over or time.monotonic() > deadline):
                raise asyncio.TimeoutError("this head hears no byte counts from the servers")

    async def announce(
        self,
        sha: str,
        reference: str,
        size_bytes: int,
        at: str,
        coming: bool = False,
        last: int | None = None,
        **more: int,
    ) -> tuple[int, int]:
        """Write an entry; answers what the tenant keeps with it and all that was announced before, and its revision.

        Args:
            sha: Of which blob.
            coming: Whether it is not there yet.
            last: The revision of the entry that this one takes the place of; any if left out.
            more: What the entry says beside.

        Raises:
            TimeoutError: It did not come back.
            EntryReplaced: Another entry is there than should be.
        """
        name = secrets.token_hex(8)
        waiting = self._announced[name] = asyncio.get_running_loop().create_future()
        headers = None if last is None else {"Nats-Expected-Last-Subject-Sequence": str(last)}
        value = {"bytes": size_bytes, "at": at, "by": name, **({"coming": True} if coming else {}), **more}
        try:
            with self.rely():
                revision = await self._publish(sha, reference, json.dumps(value).encode(), headers)
                await self._reached(revision)
            # Where what is followed began again in between, its own word may have been passed over.
            return waiting.result() if waiting.done() else self.total, revision
        except APIError as refused:
            if code_of(refused) not in WRONG_LAST_SEQUENCE:
                raise
            raise EntryReplaced("what was on its way for so long was given up") from refused
        finally:
            self._announced.pop(name, None)

    async def withdraw(self, sha: str, reference: str, revision: int | None = None) -> bool:
        """Take an entry back, where it still is the one of that revision, or whatever it is; false where it is not."""
        headers = {"KV-Operation": "PURGE", "Nats-Rollup": "sub", "Nats-TTL": str(MARKER_S)}
        if revision is not None:
            headers["Nats-Expected-Last-Subject-Sequence"] = str(revision)
        try:
            with self.rely():
                await self._reached(await self._publish(sha, reference, b"", headers))
        except APIError as refused:
            if code_of(refused) not in WRONG_LAST_SEQUENCE:
                raise
            return False
        return True

    async def last_entry(self, sha: str, reference: str) -> tuple[int, str]:
        """The revision of an entry, and of which generation it is; 0 and "" where there is none."""
        try:
            message = await self._js.get_last_msg(STREAM, f"$KV.{BUCKET}.{self._entry(sha, reference)}")
        except NotFoundError:
            return 0, ""
        try:
            at = str(parse_json(message.data)["at"]) if operation_of(message.headers) is None else ""
        except NO_SENSE:
            at = ""
        return int(message.seq or 0), at

    async def _publish(self, sha: str, reference: str, value: bytes, headers: dict[str, str] | None) -> int:
        subject = f"$KV.{BUCKET}.{self._entry(sha, reference)}"
        return int((await self._js.publish(subject, value, headers=headers)).seq)

    def _entry(self, sha: str, reference: str) -> str:
        return f"{self.tenant}.{sha}" + (f".{reference}" if reference else "")


class Reservation:
    """Bytes that are on their way; an asynchronous context manager, after which what was kept counts, and alone.

    Args:
        sha: What they will be.
        reference: Who will refer to them.
        most_bytes: What the tenant may keep.

    Attributes:
        account, sha: As given.
        named: Generations that were announced, and the one that was referred to before.
        size_bytes: How many are set aside.
    """

    def __init__(self, account: TenantBytes, sha: str, reference: str, most_bytes: int) -> None:
        self.account, self.sha, self._reference, self._most_bytes = account, sha, reference, most_bytes
        self.named, self.size_bytes = set[str](), 0
        self._mark = f"{COMING}{secrets.token_hex(8)}"
        self._announced = self._unsure = False
        self._since = self._revision = 0
        self._at, self._at_s = "", time.monotonic()

    async def __aenter__(self) -> Reservation:
        return self

    async def __aexit__(self, *_: object) -> None:
        # Where nobody knows whether the reference is there, or comes yet, the blob stays until somebody sweeps; and
        # what cannot be taken back now is by whoever sweeps.
        if self._unsure:
            self.named.clear()
        elif self._announced:
            with anyio.CancelScope(shield=True), contextlib.suppress(*UNDONE):
                await self.account.withdraw(self.sha, self._mark)

    async def grow(self, size_bytes: int, at: str) -> None:
        """See that there is room for so many, in all.

        Args:
            at: Of which generation of the blob.

        Raises:
            StorageQuotaExceeded: There is not.
        """
        account, more = self.account, size_bytes - self.size_bytes
        of_blob = account.blobs.get(self.sha, {})
        if not of_blob and account.total + more > self._most_bytes:  # nothing is written for that
            raise quota_error(self._most_bytes, account.total, more)
        total = await self._announce(size_bytes, at)
        if self._reference in of_blob:
            total -= REFERENCE_BYTES  # what comes takes its place
        self.size_bytes = size_bytes
        if total > self._most_bytes:
            raise quota_error(self._most_bytes, total - size_bytes, size_bytes)

    async def _announce(self, size_bytes: int, at: str) -> int:
        since = {"since": self._since} if self._announced else {}
        last = self._revision if self._announced else None
        self._announced, self._at, self._at_s = True, at, time.monotonic()  # whether it is heard or not
        self.named.add(at)
        total, self._revision = await self.account.announce(
            self.sha, self._mark, size_bytes, at, coming=True, last=last, **since
        )
        self._since = self._since or self._revision
        return total

    async def renew(self) -> None:
        """Say that they are still on their way, where that was said a while ago.

        Raises:
            TimeoutError: Nothing came for so long that they were given up.
        """
        if time.monotonic() - self._at_s >= SETTLED_S / 4:
            await self._announce(self.size_bytes, self._at)

    async def renewing(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        """The same chunks; what they are part of is on its way for as long as they come."""
        async for chunk in chunks:
            await self.renew()
            yield chunk

    async def keep(self, size_bytes: int) -> None:
        """They are there, so many. Not before, as others rely on what is said to be there."""
        await self.renew()
        self._unsure = True
        with anyio.CancelScope(shield=True):
            known = self.account.blobs.get(self.sha, {}).get(self._reference)
            last, before = (0, "") if known is None else (known.revision, known.at)
            while True:
                try:
                    await self.account.announce(self.sha, self._reference, size_bytes, self._at, last=last)
                    break
                except EntryReplaced:
                    last, before = await self.account.last_entry(self.sha, self._reference)
        self._unsure = False
        self.named |= {before} - {""}


class ByteAccounts:
    """The accounts of tenants that a head deals with.

    Args:
        troubles: What cannot be read.

    Attributes:
        bucket: As given.
    """

    def __init__(self, nats: Nats, bucket: KeyValue, troubles: StoreAnomalies) -> None:
        self._nats, self.bucket, self._troubles = nats, bucket, troubles
        self._accounts: dict[str, TenantBytes] = {}
        self._beginning: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def of(self, tenant: str) -> TenantBytes:
        """What a tenant keeps, with all that was written before this was called first.

        Raises:
            TimeoutError: The servers do not tell it.
        """
        account = self._accounts.get(tenant)
        if account is None or account.is_over:
            async with self._beginning[tenant]:
                account = self._accounts.get(tenant)
                if account is None or account.is_over:
                    await self._forget(tenant)
                    account = self._accounts[tenant] = TenantBytes(tenant, self._nats, self.bucket, self._troubles)
                    with account.rely():
                        try:
                            await account.wait_caught_up()
                        except BaseException:
                            await self._forget(tenant)
                            raise
                        await self._forget_some()
            self._beginning.pop(tenant, None)
        self._accounts[tenant] = self._accounts.pop(tenant, account)  # the one dealt with last is last
        return account

    async def _forget_some(self) -> None:
        for tenant in [*self._accounts][:-MAX_FOLLOWED]:
            if (account := self._accounts.get(tenant)) is not None and not account.in_use:
                await self._forget(tenant)

    async def _forget(self, tenant: str) -> None:
        if (account := self._accounts.pop(tenant, None)) is not None:
            await account.close()

    async def close(self) -> None:
        """Follow nobody any more."""
        for tenant in [*self._accounts]:
            await self._forget(tenant)


def quota_error(most_bytes: int, total: int, more: int) -> StorageQuotaExceeded:
    """Say that a tenant keeps as many bytes as it may."""
    message = (
        f"You keep {format_size(max(total, 0))} of {format_bytes(most_bytes)} (blobs, outputs, records of jobs), so"
        f" these {format_size(more)} have no room: delete blobs, or outputs of jobs that have ended."
    )
    return StorageQuotaExceeded(message, limit=most_bytes, asked=total + more)
