# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bytes of the pool's store as the answer to a request, a piece at a time: a head holds none of them."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import anyio
import structlog
from starlette.requests import ClientDisconnect

from eddy.core.errors import EddyError
from eddy.pool.connection.refusals import AWAY, UNDONE
from eddy.pool.jetstream.blobs import PoolBlobs

PATIENCE_S = 20.0
"""Wall seconds that the next piece may take; clients wait 30 s for bytes."""
AGAIN_S = 0.1
"""Wall seconds until the servers are asked again."""
_log = structlog.get_logger("eddy.pool")


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """Blobs end to end.

    Attributes:
        names: Their sha256.
        sizes: Their bytes.
    """

    tenant: str
    names: Sequence[str]
    sizes: Sequence[int]

    @property
    def size_bytes(self) -> int:
        """All of them."""
        return sum(self.sizes)

    @property
    def tag(self) -> str:
        """Names these very bytes."""
        return self.names[0] if len(self.names) == 1 else hashlib.sha256(",".join(self.names).encode()).hexdigest()

    def within(self, begin: int, stop: int) -> list[tuple[str, int, int]]:
        """Of a part of them: the blobs it is in, each with the first byte and the one behind the last within it."""
        found, at = [], 0
        for name, size in zip(self.names, self.sizes, strict=True):
            first, behind = max(begin - at, 0), min(stop - at, size)
            if first < behind:
                found.append((name, first, behind))
            at += size
        return found


async def open_range(
    blobs: PoolBlobs, stored: StoredBytes, begin: int, stop: int, check: Callable[[], None]
) -> AsyncIterator[bytes]:
    """What is between two bytes, a piece at a time; the first is there when this returns.

    Args:
        stored: The bytes.
        begin: The first.
        stop: The one behind the last.
        check: Raises where nothing more may be given.

    Raises:
        NotFound, DamagedBlob: The first blob is not there, or something else.
    """
    pieces = _between(blobs, stored, begin, stop)
    try:
        first = await anext(pieces, b"")
    except BaseException:
        await pieces.aclose()
        raise

    async def given() -> AsyncGenerator[bytes, None]:
        try:
            yield first
            async for piece in pieces:
                check()
                yield piece
        except (EddyError, *UNDONE) as failure:
            # Nothing but the end of the connection, before all that was promised, can tell the client now.
            _log.error("an answer is broken off", tenant=stored.tenant, error=repr(failure))
            raise ClientDisconnect from failure
        finally:
            with anyio.CancelScope(shield=True):
                await pieces.aclose()

    return given()


async def _between(blobs: PoolBlobs, stored: StoredBytes, begin: int, stop: int) -> AsyncGenerator[bytes, None]:
    patient = False  # where nothing was answered yet, clients ask again
    for name, first, behind in stored.within(begin, stop):
        deadline = time.monotonic() + PATIENCE_S
        while first < behind:
            try:
                async with aclosing(blobs.pieces(stored.tenant, name, first, behind)) as pieces:
                    async for piece in pieces:
                        yield piece
                        first += len(piece)
                        patient, deadline = True, time.monotonic() + PATIENCE_S
            except AWAY:
                if not patient or time.monotonic() > deadline:
                    raise
                await asyncio.sleep(AGAIN_S)
