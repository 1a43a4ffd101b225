# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bytes by their hash, each tenant in a namespace of its own: what lies in the pool's place for bytes, and who refers
to it.

Each time that a blob is written it has another name there, its *generation*, and every reference says which one it is
of. So what one head takes away is never what another writes at that moment. All entries have one order:

- A generation goes once the last reference to it was given up and, at one moment after that, no entry names it.
- Whoever is about to refer to what is there announces that first, and relies on it only where somebody refers to it at
  one moment after that. Whoever gives up the last reference then finds the announcement, and takes nothing away.
- Who announced, and then does not refer, looks in turn whether it is to go.
- What is written is named by its writer's announcement alone until its reference is there.

A head that is killed leaves an announcement, which keeps bytes until somebody sweeps.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass

import anyio

from eddy.core.errors import NotFound
from eddy.pool.bytes.byte_store import BlobName, SeenBlob
from eddy.pool.connection.refusals import UNDONE
from eddy.pool.connection.transfer import PIECE_BYTES, DamagedBlob, damaged
from eddy.pool.jetstream.byte_accounts import OWNER, Reference, Reservation, TenantBytes
from eddy.pool.jetstream.link import Link

STEP_BYTES = 8 << 20
"""What is set aside at once for a blob that does not say how long it is."""
SEEN_S, MAX_SEEN = 10.0, 50_000
"""Wall seconds for which a blob that was seen to be there is said to be; and of how many that is known."""
MAX_BYTES = 1 << 62
"""What a tenant may keep whom nothing bounds."""


@dataclass(frozen=True, slots=True)
class IncomingBlob:
    """A blob that is to be taken in.

    Attributes:
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
    """The pool's bytes."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._seen: OrderedDict[BlobName, float] = OrderedDict()
        self._right: OrderedDict[BlobName, SeenBlob] = OrderedDict()
        """What was found to be what its name says, as it was then."""

    async def size(self, tenant: str, sha256: str, look: bool = False) -> int | None:
        """Bytes of a blob; None where it is not there.

        Args:
            look: Whether the place is looked at in any case, and not only where that was not done within `SEEN_S`.
        """
        account = await self._link.accounts.of(tenant)
        for certain in (False, True):
            if certain:
                await account.wait_caught_up()
            if (kept := account.newest_reference(sha256)) is None:
                continue
            name = BlobName(tenant, sha256, kept.at)
            if not look and time.monotonic() - self._seen.get(name, -SEEN_S) < SEEN_S:
                return kept.size_bytes
            if await self._is_there(name, kept):
                return kept.size_bytes
        return None

    async def _is_there(self, name: BlobName, kept: Reference) -> bool:
        found = await self._link.bytes.look(name)
        self._seen.pop(name, None)
        if found is None or found.size_bytes != kept.size_bytes:
            return False
        _remember(self._seen, name, time.monotonic())
        return True

    async def size_of(self, tenant: str, sha256: str) -> int:
        """Bytes of a blob that was stored.

        Raises:
            NotFound: It was not.
            DamagedBlob: It is not there any more, or not all of it.
        """
        size = await self.size(tenant, sha256)
        return size if size is not None else await self._lost(tenant, sha256)

    async def _lost(self, tenant: str, sha256: str) -> int:
        if (await self._link.accounts.of(tenant)).newest_reference(sha256) is None:
            raise NotFound("You have not stored this blob.", field="sha256", asked=sha256)
        raise damaged(sha256)

    async def put(self, tenant: str, data: bytes, sha256: str = "", reference: str = OWNER) -> str:
        """Keep bytes, unless they are there already, whatever the tenant keeps; answers their name.

        Raises:
            DamagedBlob: They are not what `sha256` says.
        """
        name = sha256 or hashlib.sha256(data).hexdigest()

        async def chunks() -> AsyncGenerator[bytes, None]:
            yield data

        await self.store(IncomingBlob(tenant, name, reference, len(data), MAX_BYTES), chunks())
        return name

    async def store(self, incoming: IncomingBlob, chunks: AsyncIterable[bytes]) -> tuple[int, bool]:
        """Take a blob in, piece by piece; answers its bytes, and whether it is new.

        Raises:
            DamagedBlob: They are not what the name says; nothing of them stays.
            StorageQuotaExceeded: The tenant would keep more than it may; nothing of them stays.
            StorageFull: There is no room.
        """
        tenant, sha = incoming.tenant, incoming.sha256
        account = await self._link.accounts.of(tenant)
        with account.rely():
            if account.is_referenced(sha, incoming.reference):
                await account.wait_caught_up()  # another head may have been told that it is to go
                if account.is_referenced(sha, incoming.reference) and await self.is_right(tenant, sha):
                    return await _read_through(chunks, sha), False
            async with self._reserved(account, sha, incoming.reference, incoming.most_bytes) as reservation:
                first = STEP_BYTES if incoming.declared_bytes is None else incoming.declared_bytes
                shared = await self._share(reservation, first)
                if shared is not None and await self._is_right(shared):
                    size = await _read_through(reservation.renewing(chunks), sha)
                else:
                    size, shared = await self._written(reservation, incoming, chunks)
                await reservation.keep(size)
        return size, shared is None

    @asynccontextmanager
    async def _reserved(
        self, account: TenantBytes, sha: str, reference: str, most_bytes: int
    ) -> AsyncIterator[Reservation]:
        """Take bytes inside the block. What is not kept then goes, and so does what the reference was of before."""
        reservation = Reservation(account, sha, reference, most_bytes)
        try:
            async with reservation:
                yield reservation
        finally:
            with anyio.CancelScope(shield=True), suppress(*UNDONE):
                await self._remove_unnamed(account, sha, reservation.named)

    async def _share(self, reservation: Reservation, size_bytes: int) -> BlobName | None:
        """Announce what is about to be referred to; answers what is there of it and stays. None where nothing is: it is
        to be written."""
        account, sha = reservation.account, reservation.sha
        if (kept := account.newest_reference(sha)) is not None:
            await reservation.grow(size_bytes, kept.at)
            told = await account.read_entries(sha)
            if any(not each.coming and each.at == kept.at for each in told.values()):
                return BlobName(account.tenant, sha, kept.at)
        return None

    async def _written(
        self, reservation: Reservation, incoming: IncomingBlob, chunks: AsyncIterable[bytes]
    ) -> tuple[int, BlobName | None]:
        """Write a blob; answers its bytes, and what was there of it in the end that others had written meanwhile: of
        many who send the same at once one keeps it."""
        sha, size = incoming.sha256, 0
        name = BlobName.new(incoming.tenant, sha)
        first = STEP_BYTES if incoming.declared_bytes is None else incoming.declared_bytes
        await reservation.grow(first, name.generation)
        self._link.bytes.check_room(first)
        draft = await asyncio.to_thread(self._link.bytes.draft)
        try:
            async with aclosing(_gathered(reservation.renewing(chunks))) as pieces:
                async for piece in pieces:
                    size += len(piece)
                    if size > reservation.size_bytes:
                        await reservation.grow(size + STEP_BYTES, name.generation)
                        self._link.bytes.check_room(STEP_BYTES)
                    await asyncio.to_thread(draft.write, piece)
            _check(draft.sha256, sha)
            if reservation.account.newest_reference(sha) is not None:
                shared = await self._share(reservation, size)
                if shared is not None and await self._is_right(shared):
                    return size, shared
                await reservation.grow(size, name.generation)
            await self._link.bytes.keep(draft, name)
            self._note(name, await self._link.bytes.look(name), size)
        finally:
            with anyio.CancelScope(shield=True):
                await asyncio.to_thread(draft.drop)
        return size, None

    def _note(self, name: BlobName, found: SeenBlob | None, size_bytes: int) -> None:
        """Remember what has just been written, or read, and was right."""
        if found is not None and found.size_bytes == size_bytes:
            _remember(self._seen, name, time.monotonic())
            _remember(self._right, name, found)

    async def is_right(self, tenant: str, sha256: str) -> bool:
        """Whether a blob that somebody refers to is there, and what its name says: one that was lost, or is damaged, is
        written again."""
        kept = (await self._link.accounts.of(tenant)).newest_reference(sha256)
        return kept is not None and await self._is_right(BlobName(tenant, sha256, kept.at))

    async def _is_right(self, name: BlobName) -> bool:
        if (found := await self._link.bytes.look(name)) is None:
            return False
        if self._right.get(name) == found:
            return True
        digest, size = hashlib.sha256(), 0
        async with aclosing(self._link.bytes.pieces(name, 0, found.size_bytes)) as pieces:
            async for piece in pieces:
                digest.update(piece)
                size += len(piece)
        if digest.hexdigest() != name.sha256:
            self._right.pop(name, None)
            self._seen.pop(name, None)
            return False
        self._note(name, found, size)
        return True

    async def is_lost(self, name: BlobName, read: bool = False) -> bool:
        """Whether a generation that somebody refers to is not there, or not all of it.

        Args:
            read: Whether its bytes are read, too, whatever was known of them.
        """
        found = await self._link.bytes.look(name)
        self._right.pop(name, None)
        right = found is not None and (not read or await self._is_right(name))
        account = await self._link.accounts.of(name.tenant)
        size = None if found is None else found.size_bytes
        if right and size == account.size(name.sha256):
            return False
        await account.wait_caught_up()  # where it is referred to now, it was when it was looked for
        kept = [each for each in account.blobs.get(name.sha256, {}).values() if not each.coming]
        of_it = {each.size_bytes for each in kept if each.at == name.generation}
        return bool(of_it) and not (right and of_it == {size})

    async def refer(self, tenant: str, sha256: str, reference: str) -> bool:
        """Have somebody refer to a blob; false where it is not there, or nobody referred to it and it has just gone.

        What others gave up is known here where the account of the tenant has caught up.
        """
        account = await self._link.accounts.of(tenant)
        if account.is_referenced(sha256, reference):
            return await self.size(tenant, sha256) is not None
        with account.rely():
            if account.newest_reference(sha256) is None:
                await account.wait_caught_up()
            async with self._reserved(account, sha256, reference, MAX_BYTES) as reservation:
                shared = await self._share(reservation, account.size(sha256) or 0)
                found = None if shared is None else await self._link.bytes.look(shared)
                if found is None:
                    return False
                await reservation.keep(found.size_bytes)
        return True

    async def release(self, tenant: str, sha256: str, reference: str) -> bool:
        """Have somebody refer to a blob no more; one that nobody refers to goes. False where it was not referred to."""
        account = await self._link.accounts.of(tenant)
        with account.rely():
            await account.wait_caught_up()
            if (kept := account.blobs.get(sha256, {}).get(reference)) is None:
                return False
            await account.withdraw(sha256, reference)
            await self._remove_unnamed(account, sha256, {kept.at})
        return True

    async def let_go(self, tenant: str, reference: str, shas: Iterable[str], needs: Callable[[str, str], bool]) -> None:
        """Have a job refer to blobs no more. What another job needs, as its input, is the tenant's then.

        Args:
            tenant: Whose they are; all of its entries are known here.
            needs: Whether a job of a tenant's that has not ended names a blob.
        """
        for sha in sorted(shas):
            if needs(tenant, sha):
                await self.refer(tenant, sha, OWNER)
            await self.release(tenant, sha, reference)

    async def remove_unnamed(self, tenant: str, sha256: str, generations: Iterable[str]) -> None:
        """Take bytes away that no entry names."""
        account = await self._link.accounts.of(tenant)
        with account.rely():
            await self._remove_unnamed(account, sha256, generations)

    async def _remove_unnamed(self, account: TenantBytes, sha: str, generations: Iterable[str]) -> None:
        unnamed = {*generations} - {each.at for each in account.blobs.get(sha, {}).values()}
        if unnamed:  # as far as was heard
            unnamed -= {each.at for each in (await account.read_entries(sha)).values()}
        for generation in unnamed:
            name = BlobName(account.tenant, sha, generation)
            self._seen.pop(name, None)
            self._right.pop(name, None)
            await self._link.bytes.remove(name)

    async def pieces(
        self, tenant: str, sha256: str, begin: int = 0, stop: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Bytes of a blob from `begin` up to `stop`, a piece at a time. What is damaged never ends as if it were whole:
        all of it is read before a part is given, unless it was and nothing was written to it since, and the last piece
        of the whole is given once all are seen to be right.

        Raises:
            NotFound: It is not there.
            DamagedBlob: It is not what its name says.
        """
        account = await self._link.accounts.of(tenant)
        while True:
            if (kept := account.newest_reference(sha256)) is None:
                await account.wait_caught_up()
                if (kept := account.newest_reference(sha256)) is None:
                    raise NotFound("You have not stored this blob.", field="sha256", asked=sha256)
            end, given = kept.size_bytes if stop is None else stop, False
            async with aclosing(self._pieces(BlobName(tenant, sha256, kept.at), kept.size_bytes, begin, end)) as pieces:
                try:
                    async for piece in pieces:
                        yield piece
                        given = True
                    return
                except DamagedBlob:
                    await account.wait_caught_up()
                    now = account.newest_reference(sha256)
                    if given or (now is not None and now.at == kept.at):
                        raise
            # It was given up at that moment, and may have been stored again.

    async def _pieces(self, name: BlobName, size_bytes: int, begin: int, stop: int) -> AsyncGenerator[bytes, None]:
        is_whole = (begin, stop) == (0, size_bytes)
        if not is_whole and not await self._is_right(name):
            raise damaged(name.sha256)
        found = await self._link.bytes.look(name)
        if found is None or found.size_bytes != size_bytes:  # told before the first byte is given
            raise damaged(name.sha256)
        digest, size, last = hashlib.sha256(), 0, b""
        async with aclosing(self._link.bytes.pieces(name, begin, stop)) as pieces:
            async for piece in pieces:
                size += len(piece)
                if is_whole:
                    digest.update(piece)
                if last:
                    yield last
                last = piece
        if size != stop - begin or (is_whole and digest.hexdigest() != name.sha256):
            self._right.pop(name, None)
            raise damaged(name.sha256)
        if last:
            yield last


def _remember(known: OrderedDict, name: BlobName, what: object) -> None:  # type: ignore[type-arg]
    known.pop(name, None)
    known[name] = what
    if len(known) > MAX_SEEN:
        known.popitem(last=False)


async def _gathered(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """The same bytes in pieces of some size: each is written in a thread of its own."""
    waiting = bytearray()
    async for chunk in chunks:
        waiting += chunk
        if len(waiting) >= PIECE_BYTES:
            yield bytes(waiting)
            waiting.clear()
    if waiting:
        yield bytes(waiting)


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
