# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bounds on request bodies, kept while they stream in: nothing beyond the bound is ever held in memory."""

from __future__ import annotations

import json

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eddy.api.http.problems import MEDIA_TYPE, BodyTooLarge, document

DRAIN_BYTES = 64 << 20
"""Most of a refused body that is waited for before the connection is closed on the rest."""


class BodyLimitMiddleware:
    """Answer 413 to a body over the bound, by its declared length or, where that is missing or a lie, as it arrives.

    Args:
        app: The application behind it.
        limit_bytes: The bound for everything but blobs.
        blob_limit_bytes: The bound for `PUT /v1/blobs/...`, for what is sent to a session, and for what boards
            send to a pool.
    """

    def __init__(self, app: ASGIApp, limit_bytes: int, blob_limit_bytes: int) -> None:
        self._app = app
        self._limit_bytes = limit_bytes
        self._blob_limit_bytes = blob_limit_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body counted."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        large = scope["path"].startswith(("/v1/blobs/", "/v1/sessions/", "/v1/transfers/"))
        limit = self._blob_limit_bytes if large else self._limit_bytes
        declared = _declared_length(scope)
        if declared is not None and declared > limit:
            await drain(scope, receive)
            await _refuse(scope, send, BodyTooLarge(limit, declared))
        else:
            await self._app(scope, _counted(scope, receive, limit), send)


def _declared_length(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else None
    return None


async def drain(scope: Scope, receive: Receive) -> None:
    """Take what a client is about to send anyway, and throw it away: closing on it would reset the connection, and the
    client would see that instead of the answer. One that waits to be told to go on (`Expect`) sends nothing yet."""
    if any(name == b"expect" for name, _ in scope["headers"]):
        return
    taken, more = 0, True
    while more and taken < DRAIN_BYTES:
        message = await receive()
        taken += len(message.get("body", b""))
        more = message.get("more_body", False)


async def drain_rest(request: Request) -> None:
    """The same of what has not come yet of a request that was being read. Where all has, nothing more comes, and who
    waited for it would do so until the client goes away."""
    if not request._stream_consumed:
        await drain(request.scope, request.receive)


def _counted(scope: Scope, receive: Receive, limit: int) -> Receive:
    seen = 0

    async def counting() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            if message.get("more_body", False):
                await drain(scope, receive)
            raise BodyTooLarge(limit)
        return message

    return counting


async def _refuse(scope: Scope, send: Send, failure: BodyTooLarge) -> None:
    body = json.dumps(document("payload-too-large", failure.detail, scope["path"], **failure.extra)).encode()
    headers = [
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
