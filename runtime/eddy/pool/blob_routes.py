"""`/v1/blobs` at a head: bytes that jobs take, kept by the pool's store under their sha256."""

from __future__ import annotations

import hashlib
import io
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from eddy.api import problems
from eddy.api.bodies import JsonRoute
from eddy.api.bodies_base import SHA256
from eddy.core.errors import InvalidRequest, NotFound
from eddy.pool.head_parts import Caller, Parts

router = APIRouter(prefix="/v1", route_class=JsonRoute)
Sha256 = Annotated[str, Path(pattern=SHA256, description="sha256 of the bytes, in lower-case hex.")]


@router.put("/blobs/{sha256}", status_code=201)
async def put_blob(sha256: Sha256, request: Request, parts: Parts, caller: Caller) -> Any:
    """Keep bytes under their sha256."""
    data, digest = io.BytesIO(), hashlib.sha256()
    with parts.uploads.counting(caller.id) as more:
        async for piece in request.stream():
            more(len(piece))
            data.write(piece)
            digest.update(piece)
            if data.tell() > parts.max_blob_bytes:
                raise problems.BodyTooLarge(parts.max_blob_bytes)
        if (found := digest.hexdigest()) != sha256:
            message = f"The bytes have sha256 {found}; send them under their own hash."
            raise InvalidRequest(message, field="sha256", asked=sha256, allowed=found)
        await parts.blobs.keep(caller.id, found, data.getvalue())
    return {"sha256": found, "bytes": data.tell()}


@router.head("/blobs/{sha256}")
async def has_blob(sha256: Sha256, parts: Parts, caller: Caller) -> Response:
    """200 where it is there."""
    if await parts.blobs.size(caller.id, sha256) is None:
        raise NotFound("You have not stored this blob.", field="sha256", asked=sha256)
    return Response()


@router.get("/blobs/{sha256}")
async def fetch_blob(sha256: Sha256, parts: Parts, caller: Caller) -> Response:
    """The bytes."""
    return Response((await parts.blobs.fetch(caller.id, sha256)).data, media_type="application/octet-stream")
