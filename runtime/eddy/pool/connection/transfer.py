# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bytes of a blob on their way between a board, or a head, and the servers, a piece at a time."""

from __future__ import annotations

import asyncio
import hashlib
import io
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from nats.js import JetStreamContext

from eddy.core.errors import EddyError
from eddy.pool.connection.streams import STORE, WRITTEN
from eddy.pool.connection.token_bucket import TokenBucket

PIECES = 4
"""Pieces that a fetch asks for at once."""
PIECE_BYTES = 128 * 1024
PIECE_BITS = 8 * PIECE_BYTES
PIECE_S = 5.0
"""Wall seconds that the next piece may take."""


class DamagedBlob(EddyError):
    """What came is not what its name says."""

    code = "file-damaged"


@dataclass(frozen=True, slots=True)
class FetchedBlob:
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


def damaged(sha256: str) -> DamagedBlob:
    """Say that a blob is."""
    return DamagedBlob(f"The pool's copy of blob {sha256} is damaged; upload it again.", asked=sha256)


async def verified(js: JetStreamContext, waiting: WaitingBlob, sha256: str, stream: str) -> AsyncGenerator[bytes, None]:
    """The pieces of what waits, each once the next has come, and the last once all are what the name says: what is
    damaged never ends as if it were whole.

    Raises:
        DamagedBlob: It is.
    """
    digest, last = hashlib.sha256(), b""
    if waiting.size_bytes:
        async with aclosing(pieces_of(js, waiting, 0.0, stream)) as pieces:
            async for piece in pieces:
                digest.update(piece)
                if last:
                    yield last
                last = piece
    if digest.hexdigest() != sha256:
        raise damaged(sha256)
    if last:
        yield last


async def received(
    js: JetStreamContext, waiting: WaitingBlob, sha256: str, bps: float = 0.0, stream: str = STORE
) -> FetchedBlob:
    """Fetch a blob that waits, at most at `bps` bits per second (0 for no bound).

    The rate is kept by a token bucket: the store sends a piece only when it is asked for.

    Raises:
        DamagedBlob: What came is not what its name says.
    """
    began_s = time.monotonic()
    data, digest = io.BytesIO(), hashlib.sha256()
    if waiting.size_bytes:
        async with aclosing(pieces_of(js, waiting, bps, stream)) as pieces:
            async for piece in pieces:
                data.write(piece)
                digest.update(piece)  # piece by piece: who does this does other things in between
    if digest.hexdigest() != sha256:
        raise damaged(sha256)
    return FetchedBlob(data.getvalue(), time.monotonic() - began_s, waiting.consumer)


async def pieces_of(js: JetStreamContext, waiting: WaitingBlob, bps: float, stream: str) -> AsyncGenerator[bytes, None]:
    """What waits, a piece at a time, at most at `bps` bits per second; it may be something else than it should be."""
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
