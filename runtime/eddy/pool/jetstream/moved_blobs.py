# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bytes that an earlier release kept at the servers, moved to the pool's place for bytes by the first head that starts.

What was moved has the same name whoever moves it, and entries of that release are of that name. So a head that is
killed meanwhile has lost nothing, and two that begin at once do the same. The stream goes once all of it was moved.
Heads of that release are to be stopped before.
"""

from __future__ import annotations

import asyncio
import contextlib

import structlog
from nats.js import JetStreamContext
from nats.js.api import ObjectInfo
from nats.js.errors import NotFoundError
from nats.js.object_store import ObjectStore

from eddy.pool.bytes.byte_store import MOVED, BlobName, ByteStore
from eddy.pool.jetstream.byte_accounts import OWNER, ByteAccounts
from eddy.store.disk.names import is_blob

OBJECTS, STREAM, WRITTEN = "eddy_blobs", "OBJ_eddy_blobs", "EDDY_WRITTEN"
"""What that release called its store of objects, and the streams of it and of what boards had written."""
MAX_S, MIN_BPS = 60.0, 1e6
"""Wall seconds that an object may take, beside its bytes at this rate: where pieces are lost, none comes any more."""
_log = structlog.get_logger("eddy.pool")


async def move_blobs(js: JetStreamContext, accounts: ByteAccounts, place: ByteStore) -> int:
    """Move them; answers how many.

    Raises:
        EddyError, OSError: The place does not take them. Nothing is lost.
        APIError, TimeoutError: The servers do not give them.
    """
    moved = 0
    try:
        await js.stream_info(STREAM)
        kept = await js.object_store(OBJECTS)
        with contextlib.suppress(NotFoundError):  # there are none
            for info in await kept.list(ignore_deletes=True):
                moved += await _move(kept, info, accounts, place)
    except NotFoundError:
        return moved  # another head has moved them
    for stream in (STREAM, WRITTEN):
        with contextlib.suppress(NotFoundError):
            await js.delete_stream(stream)
    _log.info("bytes were moved from the servers", blobs=moved, place=place.place)
    return moved


async def _move(kept: ObjectStore, info: ObjectInfo, accounts: ByteAccounts, place: ByteStore) -> bool:
    """Move one; false where it is none of a tenant's, lost, or there already."""
    tenant, _, sha = str(info.name).partition("/")
    size, name = int(info.size or 0), BlobName(tenant, sha, MOVED)
    if not tenant or not is_blob(sha):
        return False
    account = await accounts.of(tenant)
    if sha not in account.blobs:  # of a release that counted nothing: it is its tenant's
        await account.announce(sha, OWNER, size, MOVED)
    found = await place.look(name)
    if found is not None and found.size_bytes == size:
        return False
    draft = await asyncio.to_thread(place.draft)
    try:
        await asyncio.wait_for(kept.get(str(info.name), writeinto=draft), MAX_S + size / MIN_BPS)  # type: ignore[arg-type]
        if draft.sha256 == sha:
            await place.keep(draft, name)
            return True
        _log.error("a blob of an earlier release is damaged, and was not moved", tenant=tenant, sha256=sha)
    except asyncio.TimeoutError:
        _log.error("a blob of an earlier release is lost in part, and was not moved", tenant=tenant, sha256=sha)
    finally:
        await asyncio.to_thread(draft.drop)
    return False
