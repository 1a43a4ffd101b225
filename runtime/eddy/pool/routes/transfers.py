# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/transfers` at a head: inputs to boards and outputs from them, at addresses that it gave to one board, for once.

No tenant may ask for one."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from eddy.api.access.uploads import TooManyUploads
from eddy.api.http.request_checks import drain_rest
from eddy.core.errors import NotFound, StorageFull, StorageQuotaExceeded
from eddy.pool.connection.token_bucket import TokenBucket
from eddy.pool.connection.transfer import DamagedBlob
from eddy.pool.jetstream.blobs import IncomingBlob
from eddy.pool.records.records import JobFenced, PoolJob
from eddy.pool.routes.context import HeadParts, Parts
from eddy.pool.routes.downloads import StoredBytes, open_range
from eddy.pool.routes.open_transfers import Transfer

router = APIRouter(prefix="/v1", include_in_schema=False)
PACED_BYTES = 128 << 10
"""What a paced transfer is given at once."""
Name = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]
_bearer = HTTPBearer(auto_error=False)
Secret = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


@router.get("/transfers/{name}")
async def give_input(name: Name, parts: Parts, secret: Secret) -> Response:
    """The bytes of an input, at the rate that its job was given, for as long as the job is placed there."""
    transfer, _ = await _begun(name, parts, secret, sends=False)
    stored = StoredBytes(transfer.tenant, [transfer.sha256], [transfer.size_bytes])
    pieces = await open_range(parts.blobs, stored, 0, transfer.size_bytes, lambda: None)
    headers = {"Content-Length": str(transfer.size_bytes), "Cache-Control": "no-store"}
    return StreamingResponse(paced(pieces, transfer.bps), headers=headers, media_type="application/octet-stream")


@router.put("/transfers/{name}", status_code=204, response_class=Response)
async def take_output(name: Name, request: Request, parts: Parts, secret: Secret) -> Response:
    """Keep the bytes of an output, which the job refers to then, once they are what their name says."""
    transfer, job = await _begun(name, parts, secret, sends=True)

    async def body() -> AsyncGenerator[bytes, None]:
        came = 0
        async for chunk in request.stream():
            came += len(chunk)
            if came > transfer.size_bytes:
                raise DamagedBlob("More comes than was said.")
            yield chunk

    incoming = IncomingBlob(job.tenant, transfer.sha256, str(job.id), transfer.size_bytes, await parts.room(job.tenant))
    try:
        async with parts.outputs.place(job.tenant, transfer.size_bytes):
            await parts.blobs.store(incoming, body())
    except (StorageQuotaExceeded, StorageFull, TooManyUploads) as refused:
        await drain_rest(request)
        if isinstance(refused, StorageQuotaExceeded):  # wherever the job is computed, its tenant has no room for this
            error, now_s = {"code": "job-failed", "cause": refused.code, "message": refused.message}, parts.table.now()
            with contextlib.suppress(JobFenced):
                await parts.table.change(job.id, lambda now: now.failed(transfer.token, error, now_s))
        raise
    return Response(status_code=204)


async def _begun(name: str, parts: HeadParts, secret: Secret, sends: bool) -> tuple[Transfer, PoolJob]:
    """A transfer that begins now, and its job.

    Raises:
        NotFound: There is none for whoever asks, or its job is not placed on that board any more.
    """
    transfer = parts.transfers.take(name, secret.credentials if secret else "", sends)
    job = await parts.table.job(transfer.job)
    if (job.board, job.token) != (transfer.board, transfer.token) or job.is_ended:
        raise NotFound("The job of this transfer is not placed there any more.")
    return transfer, job


async def paced(pieces: AsyncIterator[bytes], bps: float) -> AsyncGenerator[bytes, None]:
    """The same bytes, at most so many bits per second; 0 for any rate."""
    bucket = TokenBucket(bps, 8 * PACED_BYTES, time.monotonic())
    bucket.level_bits = 0.0  # a transfer that began with a burst would be faster than its rate on the whole
    async for piece in pieces:
        for at in range(0, len(piece), PACED_BYTES):
            part = piece[at : at + PACED_BYTES]
            await asyncio.sleep(bucket.wait_s(8 * len(part), time.monotonic()))
            yield part
