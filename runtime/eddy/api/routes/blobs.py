# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/blobs`: inputs, named by their hash, each tenant in a namespace of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect

from eddy.api.access.open_streams import Credential
from eddy.api.access.uploads import TooManyUploads
from eddy.api.answers.schemas import Blob, BlobPage
from eddy.api.dependencies.callers import Caller, Ctx
from eddy.api.dependencies.context import Context
from eddy.api.dependencies.job_access import read
from eddy.api.http.byte_ranges import IfMatch, IfNoneMatch, IfRange, Range, RangeRequest, answers, respond_bytes
from eddy.api.http.openapi import refusals
from eddy.api.http.problems import BodyTooLarge
from eddy.api.http.request_checks import drain
from eddy.api.request_bodies.base import SHA256
from eddy.api.request_bodies.numbers import Decimal
from eddy.core.errors import NotFound, QuotaExceeded
from eddy.core.faults import Fault
from eddy.store.disk.files import PIECE_BYTES

router = APIRouter(prefix="/v1/blobs", tags=["blobs"])
BYTES = {
    "description": "The bytes themselves.",
    "required": True,
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}, "example": "abc"}},
}
Sha256 = Annotated[str, Path(pattern=SHA256, description="sha256 of the bytes, in lower-case hex.")]
_Cursor = Annotated[str, Query(pattern=r"^([0-9a-f]{64})?$", description="`next` of the page before.")]
_Limit = Annotated[Decimal, Query(ge=1, le=1000, description="Blobs in a page.")]


@router.put(
    "/{sha256}",
    status_code=201,
    response_model=Blob,
    operation_id="put_blob",
    summary="Store a blob",
    responses={200: {"model": Blob, "description": "You had stored it already."}, **refusals(429)},
    openapi_extra={"requestBody": BYTES},
)
async def put(sha256: Sha256, request: Request, response: Response, context: Ctx, tenant: Caller) -> Blob:
    """Store bytes under their sha256; refused before anything is kept where the hash differs. Safe to repeat."""
    limit, declared = context.settings.max_blob_bytes, declared_bytes(request)
    body = UploadBody(request, limit, context)
    try:
        async with context.uploads.place(tenant.id, limit if declared is None else declared):
            with context.store.blobs.upload(tenant.id, sha256, declared) as upload:
                async for piece in body.pieces():
                    await context.uploads.on_disk(upload.write, piece)
                new = await context.uploads.on_disk(upload.finish)
    except (QuotaExceeded, TooManyUploads):
        if not body.whole:
            await drain(request.scope, request.receive)
        raise
    except ClientDisconnect:
        context.store.happened.fault(Fault.BROKEN_UPLOAD)
        raise
    response.status_code = 201 if new else 200
    return Blob(sha256=sha256, bytes=upload.size_bytes)


def declared_bytes(request: Request) -> int | None:
    """What `Content-Length` says; None where it says nothing."""
    text = request.headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() else None


class UploadBody:
    """A body as it comes, for as long as the key is good that it came with.

    Args:
        limit: Most bytes it may have.

    Attributes:
        whole: Whether all of it has come.
    """

    def __init__(self, request: Request, limit: int, context: Context) -> None:
        self._request, self._limit, self._standing = request, limit, context.open_streams
        self._credential = Credential.in_use()
        self.whole = False

    async def pieces(self) -> AsyncIterator[bytes]:
        """Its bytes, in pieces that are worth a thread's turn.

        Raises:
            BodyTooLarge: There are more.
            Unauthorized: The key or the session has ended meanwhile.
        """
        waiting, taken = bytearray(), 0
        async for chunk in self._request.stream():
            self._standing.check(self._credential)
            taken += len(chunk)
            if taken > self._limit:
                raise BodyTooLarge(self._limit)
            waiting += chunk
            if len(waiting) >= PIECE_BYTES:
                yield bytes(waiting)
                waiting.clear()
        self.whole = True
        if waiting:
            yield bytes(waiting)


@router.get("", operation_id="list_blobs", response_model=BlobPage, summary="List blobs")
async def list_blobs(context: Ctx, tenant: Caller, cursor: _Cursor = "", limit: _Limit = 500) -> BlobPage:
    """Your blobs, in order of their hashes; `next` is the cursor of the page after it."""
    found = await read(context, partial(context.store.blobs.page, tenant.id, cursor, limit))
    blobs = [Blob(sha256=sha256, bytes=size) for sha256, size in found.blobs]
    return BlobPage(blobs=blobs, next=found.following, damaged=list(found.damaged))


@router.get(
    "/{sha256}",
    operation_id="fetch_blob",
    summary="Fetch a blob",
    response_class=StreamingResponse,
    responses=answers("The bytes.", 404),
)
async def fetch(
    sha256: Sha256,
    context: Ctx,
    tenant: Caller,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
    range: Range = None,
    if_range: IfRange = None,
) -> Response:
    """The bytes you stored under this hash."""
    file = await context.uploads.on_disk(context.store.blobs.file, tenant.id, sha256)
    asked = RangeRequest(if_match, if_none_match, range, if_range)
    read = partial(context.uploads.on_disk, context.store.blobs.read, tenant.id, file)
    return await respond_bytes(read, asked, f'"{sha256}"', file.size_bytes, {})


@router.head(
    "/{sha256}",
    operation_id="has_blob",
    status_code=200,
    summary="Ask whether you have stored a blob",
    response_class=Response,
    responses={200: {"description": "It is there."}, 304: {"description": "You know."}, **refusals(404, 412)},
)
async def head(
    sha256: Sha256, context: Ctx, tenant: Caller, if_match: IfMatch = None, if_none_match: IfNoneMatch = None
) -> Response:
    """200 where it is there, 404 where it is not; saves sending it again."""
    size = await stored_bytes(context, tenant.id, sha256)
    if size is None:
        raise NotFound("You have not stored this blob.", field="sha256", asked=sha256)
    asked, etag = RangeRequest(if_match, if_none_match), f'"{sha256}"'
    asked.check(etag)
    if asked.has_bytes_already(etag):
        return Response(status_code=304, headers={"ETag": etag})
    headers = {"ETag": etag, "Accept-Ranges": "bytes", **({"Content-Length": str(size)} if size else {})}
    return Response(headers=headers)


async def stored_bytes(context: Context, tenant: str, sha256: str) -> int | None:
    """Size of a blob that is there, also after a loss of power: whoever hears of it may forget the bytes. Or None."""
    store = context.store
    if not store.blobs.has(tenant, sha256):
        return None
    if store.database.settling:
        await context.uploads.on_disk(context.store.database.settle)
    return store.blobs.size_bytes(tenant, sha256)


@router.delete(
    "/{sha256}",
    operation_id="delete_blob",
    status_code=204,
    summary="Forget a blob",
    responses={204: {"description": "It is forgotten."}, **refusals(404, 409, 412)},
)
def delete(sha256: Sha256, context: Ctx, tenant: Caller, if_match: IfMatch = None) -> Response:
    """Forget a blob; refused while a job that has not ended needs it."""
    RangeRequest(if_match).check(f'"{sha256}"')
    context.store.blobs.drop(tenant.id, sha256)
    return Response(status_code=204)
