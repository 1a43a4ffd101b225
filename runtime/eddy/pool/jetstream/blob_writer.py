# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bytes on their way into the pool's store: pieces first, and what names them last, as NATS's object stores have it."""

from __future__ import annotations

import base64
import contextlib
import datetime
import json
import secrets
from collections.abc import AsyncGenerator, AsyncIterable

import anyio
from nats.js.api import ObjectInfo, ObjectMetaOptions
from nats.js.errors import APIError, NotFoundError
from nats.js.object_store import OBJ_DEFAULT_CHUNK_SIZE

from eddy.core.errors import StorageFull
from eddy.pool.connection.refusals import AWAY, UNDONE, code_of
from eddy.pool.connection.streams import STORE
from eddy.pool.jetstream.bucket_reader import confirm_stream
from eddy.pool.jetstream.byte_accounts import WRONG_LAST_SEQUENCE
from eddy.pool.jetstream.link import Link
from eddy.pool.records.record_json import NO_SENSE, parse_json

PIECE_BYTES = OBJ_DEFAULT_CHUNK_SIZE
PIECES_OF, META_OF = "$O.eddy_blobs.C.", "$O.eddy_blobs.M."
"""What subjects begin with of the pieces of an object, and of what is kept of it."""


async def split_pieces(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """The same bytes in pieces of `PIECE_BYTES`, but for the last."""
    waiting = bytearray()
    async for chunk in chunks:
        waiting += chunk
        while len(waiting) >= PIECE_BYTES:
            yield bytes(waiting[:PIECE_BYTES])
            del waiting[:PIECE_BYTES]
    if waiting:
        yield bytes(waiting)


class BlobWriter:
    """One blob. Whoever gives it up drops it; pieces that nothing names are nobody's.

    Args:
        link: The pool.
        name: Its tenant and its sha256, with a stroke between.
    """

    def __init__(self, link: Link, name: str) -> None:
        self._link, self._name, self._nuid = link, name, secrets.token_hex(11)
        self._chunks = self._size_bytes = 0
        self._may_be_named = False

    async def write(self, piece: bytes) -> None:
        """Append a piece of `PIECE_BYTES`, or the last.

        Raises:
            StorageFull: The store has no room.
        """
        await self._publish(f"{PIECES_OF}{self._nuid}", piece)
        self._chunks += 1
        self._size_bytes += len(piece)

    async def keep(self, sha256: bytes) -> None:
        """Name what was written, in place of what had the name before.

        Args:
            sha256: Its digest, as the caller has seen it to be.

        Raises:
            StorageFull: The store has no room.
        """
        info = ObjectInfo(
            name=self._name, bucket="eddy_blobs", nuid=self._nuid, size=self._size_bytes, chunks=self._chunks,
            digest=f"SHA-256={base64.urlsafe_b64encode(sha256).decode()}",
            mtime=datetime.datetime.now(datetime.timezone.utc).isoformat(),
            options=ObjectMetaOptions(max_chunk_size=PIECE_BYTES),
        )  # fmt: skip
        data, before = json.dumps(info.as_dict()).encode(), await _last(self._link, self._name)
        while not await self._published(data, before[1]):  # others write it at this moment
            before = await _last(self._link, self._name)
        if before[0] is not None:
            await self._link.js.purge_stream(STORE, subject=f"{PIECES_OF}{before[0].nuid}")

    async def _published(self, data: bytes, place: int) -> bool:
        """Name what was written, in place of what is there at a place in the stream; false where that is another."""
        headers = {"Nats-Rollup": "sub", "Nats-Expected-Last-Subject-Sequence": str(place)}
        self._may_be_named = True
        try:
            await self._publish(meta_of(self._name), data, headers)
        except StorageFull:
            self._may_be_named = False
            raise
        except APIError as refused:
            self._may_be_named = isinstance(refused, AWAY)
            if code_of(refused) in WRONG_LAST_SEQUENCE:
                return False
            raise
        return True

    async def drop(self) -> None:
        """Take away what was written, also where whoever wrote it is cancelled. What may be named, in place of a blob
        that others have, stays: nobody knows, where a call is cut short."""
        if self._chunks and not self._may_be_named:
            with anyio.CancelScope(shield=True), contextlib.suppress(*UNDONE):
                await self._link.js.purge_stream(STORE, subject=f"{PIECES_OF}{self._nuid}")

    async def _publish(self, subject: str, data: bytes, headers: dict[str, str] | None = None) -> None:
        await self._link.js.publish(subject, data, headers=headers)


def meta_of(name: str) -> str:
    """The subject of what is kept of an object."""
    return f"{META_OF}{base64.urlsafe_b64encode(name.encode()).decode()}"


async def find_object(link: Link, name: str) -> tuple[ObjectInfo, int] | None:
    """What is kept of an object, and where in the stream that is; None where there is none, for certain."""
    info, place = await _last(link, name)
    if info is None:
        await confirm_stream(link.js, STORE)
        info, place = await _last(link, name)
    return None if info is None else (info, place)


async def _last(link: Link, name: str) -> tuple[ObjectInfo | None, int]:
    """What is kept of an object, or of one that was deleted, and where in the stream that is; 0 for nowhere."""
    try:
        message = await link.js.get_last_msg(STORE, meta_of(name))
    except NotFoundError:
        return None, 0
    try:
        info = ObjectInfo.from_response(parse_json(message.data))
        if info.name != name or not isinstance(info.nuid, str) or int(info.size or 0) < 0:
            raise ValueError("it makes no sense")
    except NO_SENSE as wrong:  # it is not there, and written again by whoever stores it again
        link.troubles.record_unreadable("eddy_blobs", name, str(wrong))
        return None, int(message.seq or 0)
    link.troubles.forget("eddy_blobs", name)
    return None if info.deleted else info, int(message.seq or 0)


async def remove_object(link: Link, name: str, info: ObjectInfo, place: int) -> None:
    """Take an object away, unless it was written again since it was found at a place in the stream."""
    await link.js.purge_stream(STORE, seq=place + 1, subject=meta_of(name))
    await link.js.purge_stream(STORE, subject=f"{PIECES_OF}{info.nuid}")
