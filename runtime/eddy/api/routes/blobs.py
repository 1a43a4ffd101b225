"""`/v1/blobs`: inputs, named by their hash, each tenant in a namespace of its own."""

from __future__ import annotations

import hashlib
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Path, Request, Response

from eddy.api.context import Caller, Ctx
from eddy.api.openapi import refusals
from eddy.api.problems import BodyTooLarge
from eddy.api.schemas import SHA256, Blob
from eddy.core.errors import InvalidRequest, NotFound

router = APIRouter(prefix="/v1/blobs", tags=["blobs"])
BYTES = {
    "description": "The bytes themselves.",
    "required": True,
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}, "example": "abc"}},
}
Sha256 = Annotated[str, Path(pattern=SHA256, description="sha256 of the bytes, in lower-case hex.")]


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
    data = bytearray()
    digest = hashlib.sha256()
    async for chunk in request.stream():
        if len(data) + len(chunk) > context.settings.max_blob_bytes:
            raise BodyTooLarge(context.settings.max_blob_bytes)
        data += chunk
        digest.update(chunk)
    if digest.hexdigest() != sha256:
        message = f"The {len(data)} bytes received have the sha256 {digest.hexdigest()}, not the one in the address."
        raise InvalidRequest(message, field="sha256", asked=sha256, allowed=digest.hexdigest())
    new = await anyio.to_thread.run_sync(context.store.put_blob, tenant.id, sha256, bytes(data))
    response.status_code = 201 if new else 200
    return Blob(sha256=sha256, bytes=len(data))


@router.head(
    "/{sha256}",
    operation_id="has_blob",
    status_code=200,
    summary="Ask whether you have stored a blob",
    response_class=Response,
    responses={200: {"description": "It is there."}, **refusals(404)},
)
def head(sha256: Sha256, context: Ctx, tenant: Caller) -> Response:
    """200 where it is there, 404 where it is not; saves sending it again."""
    if not context.store.has_blob(tenant.id, sha256):
        raise NotFound("You have not stored this blob.", field="sha256", asked=sha256)
    return Response(status_code=200)


@router.delete(
    "/{sha256}",
    operation_id="delete_blob",
    status_code=204,
    summary="Forget a blob",
    responses={204: {"description": "It is forgotten."}, **refusals(404, 409)},
)
def delete(sha256: Sha256, context: Ctx, tenant: Caller) -> Response:
    """Forget a blob; refused while a job that has not ended needs it."""
    context.store.drop_blob(tenant.id, sha256)
    return Response(status_code=204)
