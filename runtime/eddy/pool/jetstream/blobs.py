# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bytes by their hash, each tenant in a namespace of its own."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from weakref import WeakValueDictionary

import anyio
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, ObjectInfo

from eddy.core.errors import NotFound, StorageQuotaExceeded
from eddy.pool.connection.refusals import UNDONE
from eddy.pool.connection.streams import STORE, WRITTEN
from eddy.pool.connection.transfer import DamagedBlob, FetchedBlob, WaitingBlob, damaged, pieces_of, received, verified
from eddy.pool.jetstream.blob_removal import announce_blob, remove_unreferenced
from eddy.pool.jetstream.blob_writer import PIECES_OF, BlobWriter, find_object, split_pieces
from eddy.pool.jetstream.byte_accounts import OWNER, Reference, Reservation, TenantBytes
from eddy.pool.jetstream.link import Link

WAIT_S, READ_S = 60.0, 900.0
"""Wall seconds after which servers forget what nobody reads. A client of a head may take a while for pieces that are on
their way to it."""
STEP_BYTES = 8 << 20
"""What is set aside at once for a blob that does not say how long it is."""
SEEN_S, MOST_SEEN = 10.0, 50_000
"""Wall seconds for which a blob that was seen to be there, all of it, is said to be; and of how many that is known."""
LOOKS, LOOK_S = 3, 0.3
"""Looks, and wall seconds between them, before a blob has lost pieces: a server may not have caught up."""
MOST_BYTES = 1 << 62
"""What a tenant may keep whom nothing bounds."""


@dataclass(frozen=True, slots=True)
class IncomingBlob:
    """A blob that is to be taken in.

    Attributes:
        tenant: Whose it is.
        sha256: What it should be.
        reference: Who will refer to it.
        declared_bytes: How many it has; None where that shows as they come.
        most_bytes: What the tenant may keep in all.
    """

    tenant: str
    sha256: str
    reference: str
    declared_bytes: int | None
    most_bytes: int


class PoolBlobs:
    """The pool's bytes.

    Args:
        link: The pool.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._writing: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self._seen: dict[tuple[str, str], float] = {}

    async def size(self, tenant: str, sha256: str, look: bool = False) -> int | None:
        """Bytes of a blob; None where it is not there, all of it. Of what was seen to be within `SEEN_S`, no server is
        asked.

        Args:
            tenant: Whose it is.
            sha256: Its name.
            look: Whether the servers are asked in any case.
        """
        size = (await self._link.accounts.of(tenant)).size(sha256)
        if size is not None and not look and time.monotonic() - self._seen.get((tenant, sha256), -SEEN_S) < SEEN_S:
            return size
        self._seen.pop((tenant, sha256), None)
        for attempt in range(LOOKS):
            await asyncio.sleep(LOOK_S * min(attempt, 1))
            known = await find_object(self._link, f"{tenant}/{sha256}")  # again: it may be written again at this moment
            if known is None:
                return None
            if await has_pieces(self._link, known[0]):
                self._saw(tenant, sha256)
                return int(known[0].size or 0)
        return None

    def _saw(self, tenant: str, sha256: str) -> None:
        """A blob is there, all of it."""
        if len(self._seen) >= MOST_SEEN:
            self._seen.clear()
        self._seen[tenant, sha256] = time.monotonic()

    async def size_of(self, tenant: str, sha256: str) -> int:
        """Bytes of a blob that was stored.

        Raises:
            NotFound: It was not.
            DamagedBlob: It is not there any more, or not all of it.
        """
        account = await self._link.accounts.of(tenant)
        while True:
            before = dict(account.blobs.get(sha256, {}))
            if (size := await self.size(tenant, sha256)) is not None:
                return size
            await _check_moved(account, sha256, before)

    async def put(self, tenant: str, data: bytes, sha256: str = "", reference: str = OWNER) -> str:
        """Keep bytes, unless they are there already, whatever the tenant keeps; answers their name.

        Raises:
            DamagedBlob: They are not what `sha256` says.
        """
        name = sha256 or hashlib.sha256(data).hexdigest()

        async def chunks() -> AsyncGenerator[bytes, None]:
            yield data

        await self.store(IncomingBlob(tenant, name, reference, len(data), MOST_BYTES), chunks())
        return name

    async def store(self, incoming: IncomingBlob, chunks: AsyncIterable[bytes]) -> tuple[int, bool]:
        """Take a blob in, piece by piece; answers its bytes, and whether it is new.

        Raises:
            DamagedBlob: They are not what the name says; nothing of them stays.
            StorageQuotaExceeded: The tenant would keep more than it may; nothing of them stays.
            StorageFull: The store has no room.
        """
        tenant, sha = incoming.tenant, incoming.sha256
        account = await self._link.accounts.of(tenant)
        with account.rely():
            if account.is_referenced(sha, incoming.reference):
                await account.wait_caught_up()  # another head may have been told that it is to go
                if account.is_referenced(sha, incoming.reference) and await self.is_right(tenant, sha):
                    return await _read_through(chunks, sha), False
            async with self._reserved(account, sha, incoming.reference, incoming.most_bytes) as reservation:
                first = incoming.declared_bytes
                await reservation.grow(STEP_BYTES if first is None else first)
                coming = reservation.renewing(chunks)
                # Once this is announced, whoever else refers to it no more leaves it there.
                if shared := await self._has(account, incoming):
                    size = await _read_through(coming, sha)
                else:
                    size = await self._written(incoming, coming, account, reservation)
                await reservation.keep(size)
        self._saw(tenant, sha)
        return size, not shared

    @asynccontextmanager
    async def _reserved(
        self, account: TenantBytes, sha: str, reference: str, most_bytes: int
    ) -> AsyncIterator[Reservation]:
        """Take bytes inside the block; a blob that nobody refers to after it goes."""
        try:
            async with account.reserved(sha, reference, most_bytes) as reservation:
                yield reservation
        finally:
            with anyio.CancelScope(shield=True), suppress(*UNDONE):
                await remove_unreferenced(self._link, account.tenant, sha)

    async def _has(self, account: TenantBytes, incoming: IncomingBlob) -> bool:
        """Whether a blob that is announced to come is there, for somebody else, and stays."""
        sha = incoming.sha256
        if not account.shared(sha, incoming.reference) or await announce_blob(self._link, account, sha) is None:
            return False
        return await self.is_right(account.tenant, sha)

    async def _written(
        self, incoming: IncomingBlob, chunks: AsyncIterable[bytes], account: TenantBytes, reservation: Reservation
    ) -> int:
        """Write a blob; answers its bytes."""
        tenant, sha = incoming.tenant, incoming.sha256
        writer, digest, size, kept = BlobWriter(self._link, f"{tenant}/{sha}"), hashlib.sha256(), 0, False
        try:
            async with aclosing(split_pieces(chunks)) as pieces:
                async for piece in pieces:
                    size += len(piece)
                    if size > reservation.size_bytes:
                        await reservation.grow(size + STEP_BYTES)
                    digest.update(piece)  # piece by piece: who does this does other things in between
                    await writer.write(piece)
            _check(digest.hexdigest(), sha)
            async with self._writing.setdefault((tenant, sha), asyncio.Lock()):  # two at once would be kept twice
                if not await self._has(account, incoming):
                    await writer.keep(digest.digest())
                    kept = True
        finally:
            if not kept:
                await writer.drop()
        return size

    async def is_right(self, tenant: str, sha256: str) -> bool:
        """Whether a blob that somebody refers to is there, and what its name says: one that was lost, or is damaged, is
        written again."""
        self._seen.pop((tenant, sha256), None)
        try:
            async for _ in self.pieces(tenant, sha256):
                pass
        except (NotFound, DamagedBlob, asyncio.TimeoutError):
            return False
        return True

    async def refer(self, tenant: str, sha256: str, reference: str) -> bool:
        """Have somebody refer to a blob; false where it is not there, or nobody referred to it and it has just gone.

        What others gave up is known here where the account of the tenant has caught up.
        """
        account = await self._link.accounts.of(tenant)
        if account.is_referenced(sha256, reference):
            return await self.size(tenant, sha256) is not None
        if await find_object(self._link, f"{tenant}/{sha256}") is None:
            return False
        with account.rely():
            async with self._reserved(account, sha256, reference, MOST_BYTES) as reservation:
                await reservation.grow(account.size(sha256) or 0)
                known = await announce_blob(self._link, account, sha256)
                if known is None or not await is_whole(self._link, known[0]):
                    return False
                await reservation.keep(int(known[0].size or 0))
        self._saw(tenant, sha256)
        return True

    async def release(self, tenant: str, sha256: str, reference: str) -> bool:
        """Have somebody refer to a blob no more; one that nobody refers to goes. False where it was not referred to.

        A blob that is written again at this moment stays (`eddy.pool.jetstream.blob_removal`).
        """
        account = await self._link.accounts.of(tenant)
        with account.rely():
            await account.wait_caught_up()
            if reference not in account.blobs.get(sha256, {}):
                return False
            await account.withdraw(sha256, reference)
            await remove_unreferenced(self._link, tenant, sha256)
        return True

    async def let_go(self, tenant: str, reference: str, shas: Iterable[str], needs: Callable[[str, str], bool]) -> None:
        """Have a job refer to blobs no more. What another job needs, as its input, is the tenant's then.

        Args:
            tenant: Whose they are; all of its entries are known here.
            reference: The job's.
            shas: Names of the blobs.
            needs: Whether a job of a tenant's that has not ended names a blob.
        """
        for sha in sorted(shas):
            if needs(tenant, sha):
                await self.refer(tenant, sha, OWNER)
            await self.release(tenant, sha, reference)

    async def tend(self, tenant: str, sha256: str) -> None:
        """End what a head that was killed had begun with a blob, and take it away where nobody refers to it."""
        account = await self._link.accounts.of(tenant)
        with account.rely():
            async with self._reserved(account, sha256, OWNER, MOST_BYTES) as reservation:
                await reservation.grow(0)
                await announce_blob(self._link, account, sha256)

    async def fetch(self, tenant: str, sha256: str) -> FetchedBlob:
        """The bytes of a blob.

        Raises:
            NotFound: It is not there.
            DamagedBlob: What came is not what its name says.
        """
        return await self._received(await self.waiting(tenant, sha256), sha256, STORE)

    async def pieces(self, tenant: str, sha256: str) -> AsyncGenerator[bytes, None]:
        """The bytes of a blob, a piece at a time. The last is given once all are seen to be what the name says.

        Raises:
            NotFound: It is not there.
            DamagedBlob: What came is not what its name says.
        """
        waiting = await self.waiting(tenant, sha256, inactive_s=READ_S)
        try:
            async with aclosing(verified(self._link.js, waiting, sha256, STORE)) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            await self._end(waiting, STORE)

    async def waiting(self, tenant: str, sha256: str, board: str = "", inactive_s: float = WAIT_S) -> WaitingBlob:
        """Have a blob wait under a name that nobody can guess, for whoever is told it; forgotten after a minute.

        Args:
            tenant: Whose it is.
            sha256: Its name.
            board: Whom it waits for; "" for this head.
            inactive_s: Wall seconds without a question for a piece after which it waits no longer.

        Raises:
            NotFound: It was not stored.
            DamagedBlob: It is not there any more, or pieces of it are not.
        """
        account = await self._link.accounts.of(tenant)
        while True:
            before = dict(account.blobs.get(sha256, {}))
            for look in range(LOOKS):
                await asyncio.sleep(LOOK_S * min(look, 1))
                if (known := await find_object(self._link, f"{tenant}/{sha256}")) is None:  # again, as in `size`
                    break
                info, size_bytes = known[0], int(known[0].size or 0)
                waiting, pieces = await self._waiting(STORE, f"{PIECES_OF}{info.nuid}", size_bytes, board, inactive_s)
                if not size_bytes or pieces == info.chunks:
                    return waiting
                await self._end(waiting, STORE)
            await _check_moved(account, sha256, before)

    async def forget(self, consumer: str, stream: str = STORE) -> None:
        """Let what waits under a name wait no longer."""
        with suppress(*UNDONE):  # the server forgets it after a minute
            await self._link.js.delete_consumer(stream, consumer)

    async def take(
        self,
        tenant: str,
        sha256: str,
        pieces: str,
        size_bytes: int,
        reference: str = OWNER,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """Keep what a board wrote piece by piece (`sent`), once it is seen to be what its name says. The pieces go,
        also where there is no room for them.

        Args:
            tenant: Whose it is.
            sha256: What it should be.
            pieces: The last words of the subject of its pieces.
            size_bytes: All of it.
            reference: Who will refer to it.
            most_bytes: What the tenant may keep.

        Raises:
            DamagedBlob: It is something else.
            StorageQuotaExceeded: The tenant would keep more than it may.
            StorageFull: The store has no room.
        """
        subject = f"eddy.written.{pieces}"
        waiting, _ = await self._waiting(WRITTEN, subject, size_bytes)
        try:
            # Whether it is there already or not: a board that wrote something else would hear of it.
            async with aclosing(_written_pieces(self._link.js, waiting)) as written:
                await self.store(IncomingBlob(tenant, sha256, reference, size_bytes, most_bytes), written)
        except (StorageQuotaExceeded, DamagedBlob):
            await self._link.js.purge_stream(WRITTEN, subject=subject)
            raise
        finally:
            await self._end(waiting, WRITTEN)
        await self._link.js.purge_stream(WRITTEN, subject=subject)

    async def _received(self, waiting: WaitingBlob, sha256: str, stream: str) -> FetchedBlob:
        """What waits; its consumer goes at once.

        A server keeps 1,000 consumers for a stream and refuses more: at 20 outputs a second, each kept for a minute, a
        pool would stand still for ten seconds after every 1,000.
        """
        try:
            return await received(self._link.js, waiting, sha256, stream=stream)
        finally:
            await self._end(waiting, stream)

    async def _end(self, waiting: WaitingBlob, stream: str) -> None:
        """Nothing more is read of what waited, also where whoever read it was cancelled."""
        if waiting.consumer:
            with anyio.CancelScope(shield=True):
                await self.forget(waiting.consumer, stream)

    async def _waiting(
        self, stream: str, subject: str, size_bytes: int, board: str = "", inactive_s: float = WAIT_S
    ) -> tuple[WaitingBlob, int]:
        """What waits, and how many pieces that has."""
        if not size_bytes:
            return WaitingBlob("", 0), 0
        config = ConsumerConfig(
            name=f"{board}-{secrets.token_hex(16)}", ack_policy=AckPolicy.NONE, deliver_policy=DeliverPolicy.ALL,
            filter_subject=subject, inactive_threshold=inactive_s, mem_storage=True, num_replicas=1,
        )  # fmt: skip
        made = await self._link.js.add_consumer(stream, config)
        return WaitingBlob(str(made.name), size_bytes), int(made.num_pending or 0)


async def _check_moved(account: TenantBytes, sha256: str, before: Mapping[str, Reference]) -> None:
    """See that a blob which was not found, all of it, was given up or stored at that moment: it is to be looked for
    again.

    Args:
        account: Whose it is.
        sha256: Its name.
        before: Who referred to it before it was looked for. It is there for as long as one of them does.

    Raises:
        NotFound: Nobody refers to it.
        DamagedBlob: It should have been there.
    """
    await account.wait_caught_up()  # another head may have been told
    if account.size(sha256) is None:
        raise NotFound("You have not stored this blob.", field="sha256", asked=sha256)
    if account.blobs.get(sha256, {}) == before:
        raise damaged(sha256)


async def has_pieces(link: Link, info: ObjectInfo) -> bool:
    """Whether all pieces of an object are there; a server may not have caught up."""
    if not info.chunks:
        return True
    subject = f"{PIECES_OF}{info.nuid}"
    state = (await link.js.stream_info(STORE, subjects_filter=subject)).state
    return (state.subjects or {}).get(subject) == info.chunks


async def is_whole(link: Link, info: ObjectInfo) -> bool:
    """The same, for certain."""
    for look in range(LOOKS):
        await asyncio.sleep(LOOK_S * min(look, 1))
        if await has_pieces(link, info):
            return True
    return False


async def _read_through(chunks: AsyncIterable[bytes], sha256: str) -> int:
    """Read bytes that need not be kept; answers how many.

    Raises:
        DamagedBlob: They are not what the name says.
    """
    digest, size = hashlib.sha256(), 0
    async for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
    _check(digest.hexdigest(), sha256)
    return size


def _check(found: str, sha256: str) -> None:
    if found != sha256:
        raise DamagedBlob(f"The bytes have sha256 {found}, not {sha256}.", asked=sha256, allowed=found)


async def _written_pieces(js: JetStreamContext, waiting: WaitingBlob) -> AsyncGenerator[bytes, None]:
    """What a board wrote, as it waits."""
    if waiting.size_bytes:
        async with aclosing(pieces_of(js, waiting, 0.0, WRITTEN)) as pieces:
            async for piece in pieces:
                yield piece
