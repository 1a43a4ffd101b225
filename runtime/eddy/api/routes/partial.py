# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/blobs/{sha256}/upload`: a blob in several requests, as the IETF's draft on resumable uploads has them."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Request, Response

from eddy.api.access.uploads import TooManyUploads
from eddy.api.answers.schemas import Blob
from eddy.api.dependencies.callers import Caller, Ctx
from eddy.api.http.openapi import refusals
from eddy.api.http.problems import BodyTooLarge
from eddy.api.http.request_checks import drain
from eddy.api.request_bodies.numbers import Decimal
from eddy.api.routes.blobs import BYTES, Sha256, UploadBody, declared_bytes, stored_bytes
from eddy.core.errors import Conflict, NotFound, QuotaExceeded

router = APIRouter(prefix="/v1/blobs", tags=["blobs"])
_Offset = Annotated[
    Decimal, Header(ge=0, le=(1 << 63) - 1, description="Bytes that are there already, which these follow.")
]
_Complete = Annotated[Literal["?0", "?1"], Header(description="`?1`: these are the last bytes; `?0`: more will come.")]
_HEADERS = {
    "Upload-Offset": {"description": "Bytes that are there now.", "required": True, "schema": {"type": "integer"}},
    "Upload-Complete": {"description": "`?1` where that is all of it.", "required": True, "schema": {"type": "string"}},
}


@router.patch(
    "/{sha256}/upload",
    status_code=201,
    response_model=Blob,
    operation_id="append_blob",
    summary="Store a blob in parts",
    responses={
        200: {"model": Blob, "description": "You had stored it already."},
        204: {"description": "It is kept until the rest comes.", "headers": _HEADERS},
        **refusals(409, 429),
    },
    openapi_extra={"requestBody": {**BYTES, "required": False}},  # what ends an upload, or asks about one, adds none
)
async def append(
    sha256: Sha256,
    request: Request,
    response: Response,
    context: Ctx,
    tenant: Caller,
    upload_offset: _Offset,
    upload_complete: _Complete = "?1",
) -> Blob | Response:
    """Add bytes to what has come of a blob, from `Upload-Offset` on. What comes before a connection breaks is kept.

    409 has the right `offset`. What is not completed is forgotten a day after the last byte.
    """
    partials, disk = context.store.partials, context.uploads.on_disk
    size = await stored_bytes(context, tenant.id, sha256)
    if size is not None:
        await drain(request.scope, request.receive)
        response.status_code = 200
        return Blob(sha256=sha256, bytes=size)
    limit = context.settings.max_blob_bytes
    declared = declared_bytes(request)
    if upload_offset + (declared or 0) > limit:
        await drain(request.scope, request.receive)
        raise BodyTooLarge(limit)
    body = UploadBody(request, max(limit - upload_offset, 0), context)
    try:
        async with context.uploads.place(tenant.id, limit if declared is None else declared):
            with ExitStack() as stack:
                held = await disk(stack.enter_context, partials.adding(tenant.id, sha256, upload_offset))
                async for piece in body.pieces():
                    await disk(partials.add, tenant.id, held, piece)
                if upload_complete == "?1":
                    new = await disk(partial(partials.complete, tenant.id, sha256, held))
                    response.status_code = 201 if new else 200
                    return Blob(sha256=sha256, bytes=held.size_bytes)
                there = held.size_bytes
    except (QuotaExceeded, TooManyUploads, Conflict):
        if not body.whole:
            await drain(request.scope, request.receive)
        raise
    return Response(status_code=204, headers={"Upload-Offset": str(there), "Upload-Complete": "?0"})


@router.head(
    "/{sha256}/upload",
    operation_id="upload_offset",
    status_code=204,
    summary="Ask how much of a blob is there",
    response_class=Response,
    responses={204: {"description": "So much is there.", "headers": _HEADERS}, **refusals(404)},
)
async def offset(sha256: Sha256, context: Ctx, tenant: Caller) -> Response:
    """Where to go on with a blob, in `Upload-Offset`; 404 where nothing of it has come."""
    size = await stored_bytes(context, tenant.id, sha256)
    whole = size is not None
    there = size if whole else context.store.partials.size_bytes(tenant.id, sha256)
    if there is None:
        raise NotFound("Nothing of this blob is being uploaded.", field="sha256", asked=sha256)
    headers = {"Upload-Offset": str(there), "Upload-Complete": "?1" if whole else "?0", "Cache-Control": "no-store"}
    return Response(status_code=204, headers=headers)


@router.delete(
    "/{sha256}/upload",
    operation_id="drop_upload",
    status_code=204,
    summary="Give an upload up",
    responses={204: {"description": "It is forgotten."}, **refusals(404, 409)},
)
def drop(sha256: Sha256, context: Ctx, tenant: Caller) -> Response:
    """Forget what has come of a blob that is not whole."""
    context.store.partials.drop(tenant.id, sha256)
    return Response(status_code=204)
