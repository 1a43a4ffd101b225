"""Bytes by their hash, each tenant in a namespace of its own."""

from __future__ import annotations

import asyncio
import hashlib
import io
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from weakref import WeakValueDictionary

from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError, ObjectNotFoundError

from eddy.core.errors import EddyError, NotFound
from eddy.pool.link import AWAY, Link
from eddy.pool.pace import TokenBucket
from eddy.pool.streams import STORE, WRITTEN

PIECES = 4
"""Pieces that a fetch asks for at once."""
PIECE_BYTES = 128 * 1024
PIECE_BITS = 8 * PIECE_BYTES
PIECE_S = 5.0
"""Wall seconds that the next piece may take."""
KNOWN = 20_000
"""Sizes of blobs that are kept in memory, some 200 bytes each."""


class DamagedBlob(EddyError):
    """What came is not what its name says."""

    code = "file-damaged"


@dataclass(frozen=True, slots=True)
class Fetched:
    """Bytes, how long their transfer took in wall seconds, and the name of the consumer they came by."""

    data: bytes
    took_s: float
    consumer: str


@dataclass(frozen=True, slots=True)
class WaitingBlob:
    """Bytes that can be fetched by whoever knows the name of their consumer.

    Attributes:
        consumer: Its name; "" where there are no bytes.
        size_bytes: How many there are.
    """

    consumer: str
    size_bytes: int


class PoolBlobs:
    """The pool's bytes.

    Args:
        link: The pool.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._sizes: dict[str, int] = {}
        self._writing: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def size(self, tenant: str, sha256: str) -> int | None:
        """Bytes of a blob; None where it is not there. What was seen to be there is not asked for again, as blobs are
        never taken away."""
        name = f"{tenant}/{sha256}"
        if name not in self._sizes:
            try:
                size = int((await self._link.blobs.get_info(name)).size or 0)
            except (ObjectNotFoundError, NotFoundError):
                return None
            if len(self._sizes) >= KNOWN:
                self._sizes.clear()
            self._sizes[name] = size
        return self._sizes[name]

    async def put(self, tenant: str, data: bytes, sha256: str = "") -> str:
        """Keep bytes, unless they are there already; answers their name.

        Raises:
            DamagedBlob: They are not what `sha256` says.
        """
        name = hashlib.sha256(data).hexdigest()
        if sha256 and name != sha256:
            raise DamagedBlob(f"The bytes have sha256 {name}, not {sha256}.", asked=sha256)
        await self.keep(tenant, name, data)
        return name

    async def keep(self, tenant: str, name: str, data: bytes) -> None:
        """Keep bytes under their sha256, which the caller has seen to be theirs, unless they are there already."""
        async with self._writing.setdefault((tenant, name), asyncio.Lock()):  # two at once would be kept twice
            if await self.size(tenant, name) is None:
                await self._link.blobs.put(f"{tenant}/{name}", data)

    async def fetch(self, tenant: str, sha256: str) -> Fetched:
        """The bytes of a blob.

        Raises:
            NotFound: It is not there.
            DamagedBlob: What came is not what its name says.
        """
        return await self._received(await self.waiting(tenant, sha256), sha256, STORE)

    async def waiting(self, tenant: str, sha256: str, board: str = "") -> WaitingBlob:
        """Have a blob wait under a name that nobody can guess, for whoever is told it; forgotten after a minute.

        Args:
            tenant: Whose it is.
            sha256: Its name.
            board: Whom it waits for; "" for this head.

        Raises:
            NotFound: It is not there.
        """
        try:
            info = await self._link.blobs.get_info(f"{tenant}/{sha256}")
        except (ObjectNotFoundError, NotFoundError):
            raise NotFound("There is no such blob.", field="sha256", asked=sha256) from None
        return await self._waiting(STORE, f"$O.eddy_blobs.C.{info.nuid}", int(info.size or 0), board)

    async def forget(self, consumer: str, stream: str = STORE) -> None:
        """Let what waits under a name wait no longer."""
        with suppress(NotFoundError, *AWAY):  # the server forgets it after a minute
            await self._link.js.delete_consumer(stream, consumer)

    async def take(self, tenant: str, sha256: str, pieces: str, size_bytes: int) -> None:
        """Keep what a board wrote piece by piece (`sent`), once it is seen to be what its name says. The pieces go.

        Args:
            tenant: Whose it is.
            sha256: What it should be.
            pieces: The last words of the subject of its pieces.
            size_bytes: All of it.

        Raises:
            DamagedBlob: It is something else.
        """
        # Whether it is there already or not: a board that wrote something else would hear of it.
        waiting = await self._waiting(WRITTEN, f"eddy.written.{pieces}", size_bytes)
        await self.keep(tenant, sha256, (await self._received(waiting, sha256, WRITTEN)).data)
        await self._link.js.purge_stream(WRITTEN, subject=f"eddy.written.{pieces}")

    async def _received(self, waiting: WaitingBlob, sha256: str, stream: str) -> Fetched:
        """What waits; its consumer goes at once.

        A server keeps 1,000 consumers for a stream and refuses more: at 20 outputs a second, each kept for a minute, a
        pool would stand still for ten seconds after every 1,000.
        """
        try:
            return await received(self._link.js, waiting, sha256, stream=stream)
        finally:
            if waiting.consumer:
                await self.forget(waiting.consumer, stream)

    async def _waiting(self, stream: str, subject: str, size_bytes: int, board: str = "") -> WaitingBlob:
        if not size_bytes:
            return WaitingBlob("", 0)
        config = ConsumerConfig(
            name=f"{board}-{secrets.token_hex(16)}", ack_policy=AckPolicy.NONE, deliver_policy=DeliverPolicy.ALL,
            filter_subject=subject, inactive_threshold=60, mem_storage=True, num_replicas=1,
        )  # fmt: skip
        return WaitingBlob(str((await self._link.js.add_consumer(stream, config)).name), size_bytes)


async def received(
    js: JetStreamContext, waiting: WaitingBlob, sha256: str, bps: float = 0.0, stream: str = STORE
) -> Fetched:
    """Fetch a blob that waits, at most at `bps` bits per second (0 for no bound).

    The rate is kept by a token bucket: the store sends a piece only when it is asked for.

    Raises:
        DamagedBlob: What came is not what its name says.
    """
    began_s = time.monotonic()
    data, digest = io.BytesIO(), hashlib.sha256()
    if waiting.size_bytes:
        async with aclosing(_pieces(js, waiting, bps, stream)) as pieces:
            async for piece in pieces:
                data.write(piece)
                digest.update(piece)  # piece by piece: who does this does other things in between
    if digest.hexdigest() != sha256:
        raise DamagedBlob(f"The pool's copy of blob {sha256} is damaged; upload it again.", asked=sha256)
    return Fetched(data.getvalue(), time.monotonic() - began_s, waiting.consumer)


async def _pieces(js: JetStreamContext, waiting: WaitingBlob, bps: float, stream: str) -> AsyncGenerator[bytes, None]:
    bucket = TokenBucket(bps, PIECE_BITS, time.monotonic())
    bucket.level_bits = 0.0  # a transfer that began with a burst would be faster than its rate on the whole
    asked = await js.pull_subscribe_bind(waiting.consumer, stream=stream)
    left = waiting.size_bytes
    try:
        while left > 0:
            count = 1 if bps else min(PIECES, -(-left // PIECE_BYTES))  # for more than there is, the client would wait
            left_bits = 8 * left
            await asyncio.sleep(bucket.wait_s(min(PIECE_BITS * count, left_bits), time.monotonic()))
            for piece in await asked.fetch(count, timeout=PIECE_S):
                if len(piece.data) > left or (stream == WRITTEN and len(piece.data) < min(left, PIECE_BYTES)):
                    return  # it is not what it should be, whatever comes; byte by byte it would come for years
                left -= len(piece.data)
                yield piece.data
    finally:
        await asked.unsubscribe()


async def sent(js: JetStreamContext, board: str, data: bytes) -> str:
    """Write bytes under a board's own name; answers what they are called there."""
    pieces = f"{board}.{secrets.token_hex(16)}"
    for first in range(0, len(data), PIECE_BYTES):
        await js.publish(f"eddy.written.{pieces}", data[first : first + PIECE_BYTES])
    return pieces
