# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/blobs` at a head: bytes that jobs take, kept by the pool's store under their sha256. They come and go through a
head a piece at a time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from eddy.api.access.open_streams import Credential
from eddy.api.access.uploads import TooManyUploads
from eddy.api.answers.schemas import Blob, BlobPage
from eddy.api.http.byte_ranges import IfMatch, IfNoneMatch, IfRange, Range, RangeRequest, respond_bytes
from eddy.api.http.request_checks import drain_rest
from eddy.api.request_bodies.base import SHA256
from eddy.api.request_bodies.numbers import Decimal
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.api.routes.blobs import declared_bytes
from eddy.core.errors import Conflict, InvalidRequest, NotFound, StorageFull, StorageQuotaExceeded
from eddy.pool.connection.transfer import DamagedBlob
from eddy.pool.jetstream.blobs import IncomingBlob
from eddy.pool.jetstream.byte_accounts import OWNER
from eddy.pool.routes.context import Caller, HeadParts, Parts
from eddy.pool.routes.downloads import StoredBytes, open_range

router = APIRouter(prefix="/v1", route_class=JsonRoute)
Sha256 = Annotated[str, Path(pattern=SHA256, description="sha256 of the bytes, in lower-case hex.")]
_Cursor = Annotated[str, Query(pattern=r"^([0-9a-f]{64})?$", description="`next` of the page before.")]
_Limit = Annotated[Decimal, Query(ge=1, le=1000, description="Blobs in a page.")]


@router.put("/blobs/{sha256}", status_code=201)
async def put_blob(sha256: Sha256, request: Request, response: Response, parts: Parts, caller: Caller) -> Blob:
    """Keep bytes under their sha256; refused before anything is kept where the hash differs. Safe to repeat."""
    most_bytes = await parts.room(caller.id)
    credential = Credential.in_use()

    async def body() -> AsyncGenerator[bytes, None]:
        async for chunk in request.stream():
            parts.open_streams.check(credential)
            yield chunk

    declared = declared_bytes(request)
    try:
        async with parts.uploads.place(caller.id, parts.max_blob_bytes if declared is None else declared):
            size, new = await parts.blobs.store(IncomingBlob(caller.id, sha256, OWNER, declared, most_bytes), body())
    except DamagedBlob as wrong:
        message = f"The bytes have sha256 {wrong.details['allowed']}; send them under their own hash."
        raise InvalidRequest(message, field="sha256", asked=sha256, allowed=wrong.details["allowed"]) from None
    except (StorageQuotaExceeded, StorageFull, TooManyUploads):
        await drain_rest(request)
        raise
    response.status_code = 201 if new else 200
    return Blob(sha256=sha256, bytes=size)


@router.get("/blobs")
async def list_blobs(parts: Parts, caller: Caller, cursor: _Cursor = "", limit: _Limit = 500) -> BlobPage:
    """Blobs that you stored, in order of their hashes; `next` is the cursor of the page after it."""
    account = await parts.link.accounts.of(caller.id)
    await account.wait_caught_up()
    names = sorted(sha for sha in account.blobs if sha > cursor and account.is_referenced(sha, OWNER))[:limit]
    blobs = [Blob(sha256=sha, bytes=account.blobs[sha][OWNER].size_bytes) for sha in names]
    return BlobPage(blobs=blobs, next=names[-1] if len(names) == limit else None)


@router.head("/blobs/{sha256}")
async def has_blob(
    sha256: Sha256, parts: Parts, caller: Caller, if_match: IfMatch = None, if_none_match: IfNoneMatch = None
) -> Response:
    """200 where it is there."""
    if (size := await parts.blobs.size(caller.id, sha256, look=True)) is None:  # one that is damaged is to be put again
        raise NotFound("You have not stored this blob.", field="sha256", asked=sha256)
    asked, etag = RangeRequest(if_match, if_none_match), f'"{sha256}"'
    asked.check(etag)
    if asked.has_bytes_already(etag):
        return Response(status_code=304, headers={"ETag": etag})
    return Response(headers={"ETag": etag, "Accept-Ranges": "bytes", **({"Content-Length": str(size)} if size else {})})


@router.get("/blobs/{sha256}")
async def fetch_blob(
    sha256: Sha256,
    parts: Parts,
    caller: Caller,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
    range: Range = None,
    if_range: IfRange = None,
) -> Response:
    """The bytes."""
    stored = StoredBytes(caller.id, [sha256], [await parts.blobs.size_of(caller.id, sha256)])
    return await answered(parts, stored, RangeRequest(if_match, if_none_match, range, if_range), {})


@router.delete("/blobs/{sha256}", status_code=204, response_class=Response)
async def delete_blob(sha256: Sha256, parts: Parts, caller: Caller, if_match: IfMatch = None) -> Response:
    """Forget a blob; refused while a job that has not ended needs it."""
    RangeRequest(if_match).check(f'"{sha256}"')
    await parts.lead.mirror.wait_caught_up()
    if parts.lead.mirror.inputs.is_needed(caller.id, sha256):
        raise Conflict(f"A job of yours that has not ended needs blob {sha256}.", field="sha256", asked=sha256)
    if not await parts.blobs.release(caller.id, sha256, OWNER):
        raise NotFound("You have not stored this blob.", field="sha256", asked=sha256)
    return Response(status_code=204)


async def answered(parts: HeadParts, stored: StoredBytes, asked: RangeRequest, headers: Mapping[str, str]) -> Response:
    """Bytes of the pool's store as a board answers its own, for as long as what the request came with is good.

    Raises:
        NotFound, DamagedBlob: They are not there, or something else.
    """
    check = partial(parts.open_streams.check, Credential.in_use())

    async def read(begin: int, stop: int) -> AsyncIterable[bytes]:
        return await open_range(parts.blobs, stored, begin, stop, check)

    return await respond_bytes(read, asked, f'"{stored.tag}"', stored.size_bytes, headers)
