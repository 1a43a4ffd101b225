# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is refused before any route sees a request, whatever it asks for: bodies beyond the bound, heads that can be
read in two ways, bodies of another type than JSON, and parameters that a route does not have. OPTIONS is answered here
too, and so is HEAD where there is GET."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eddy.api.http import problems
from eddy.api.http.problems import MEDIA_TYPE, BodyTooLarge, allowed_methods, document, fixed_path_ends, is_routed
from eddy.api.http.query_parameters import QueryParameters

DRAIN_BYTES = 64 << 20
"""Most of a refused body that is waited for before the connection is closed on the rest."""

_ONCE = (b"authorization", b"idempotency-key", b"content-type", b"content-encoding", b"last-event-id", b"host")
"""Headers of one value."""
_READ = frozenset((*_ONCE, b"transfer-encoding", b"content-length"))
_JSON = ("POST", "PATCH")
"""Methods whose bodies are JSON; what is put may be a blob."""
_BODIES = (*_JSON, "PUT")
"""Methods whose bodies are taken as they are: a coding would be kept with the bytes."""


class RequestChecks:
    """Answers 413 to a body over the bound, by its declared length or, where that is missing or a lie, as it arrives:
    nothing beyond the bound is ever held in memory. Answers OPTIONS, makes a HEAD of every GET, and refuses what no
    route should see.

    Args:
        app: The application behind it, of which `scope["app"]` knows the routes.
        routes: All it has, in their order.
        caller: What its routes depend on that ask who is there.
        limit_bytes: The bound on bodies for everything but blobs.
        blob_limit_bytes: The bound for `PUT /v1/blobs/...`, and for what is sent to a session.
    """

    def __init__(
        self,
        app: ASGIApp,
        routes: Iterable[APIRoute],
        caller: Callable[..., Any],
        limit_bytes: int,
        blob_limit_bytes: int,
    ) -> None:
        self._app = app
        self._parameters = QueryParameters(routes, caller)
        self._limit_bytes = limit_bytes
        self._blob_limit_bytes = blob_limit_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on with its body counted."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        large = scope["path"].startswith(("/v1/blobs/", "/v1/sessions/", "/v1/transfers/"))
        limit = self._blob_limit_bytes if large else self._limit_bytes
        head = _Head(scope)
        declared = head.declared_bytes
        if declared is not None and declared > limit:
            await drain(scope, receive)
            await _refuse(scope, send, BodyTooLarge(limit, declared))
            return
        receive = _counted(scope, receive, limit)
        answer = _refusal(scope, head)
        if answer is not None:
            await answer(scope, receive, send)
            return
        app, path, method = scope["app"], scope["path"], scope["method"]
        methods = allowed_methods(app, path) if method in ("OPTIONS", "HEAD") else []
        if methods and method == "OPTIONS":
            await Response(status_code=204, headers={"Allow": ", ".join(methods)})(scope, receive, send)
            return
        if method == "HEAD" and "HEAD" in methods and not is_routed(app, "HEAD", path):
            # A range is of GET alone (RFC 9110, 14.2).
            headers = [(name, value) for name, value in scope["headers"] if name != b"range"]
            scope, send = {**scope, "method": "GET", "headers": headers}, _without_body(send)
        wrong = self._parameters.find_wrong(scope) if scope["query_string"] else None
        if wrong is not None:
            detail = f"{wrong.field}: {wrong.message}"
            errors = [{"field": wrong.field, "message": wrong.message}]
            extra: dict[str, Any] = {"field": wrong.field, "allowed": wrong.allowed, "errors": errors}
            await problems.respond(Request(scope), "invalid-request", detail, **extra)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _refusal(scope: Scope, head: _Head) -> Response | None:
    """How a request is refused for its head or its address; None where it is fit."""
    path, method = scope["path"], scope["method"]
    if head.ambiguous:
        # Whoever stands before us may have read it the other way, and what follows as another's request.
        return problems.respond(Request(scope), "bad-request", head.ambiguous, {"Connection": "close"})
    if path.endswith("\n") and path.rpartition("/")[2][:-1] in fixed_path_ends(scope["app"]):
        # The pattern of a route lets a line feed at the end pass.
        return problems.respond(Request(scope), "not-found", "There is nothing at this address.")
    if _takes_json(method, path) and not head.is_json and is_routed(scope["app"], method, path):
        kind, field, allowed = "unsupported-media-type", "Content-Type", ["application/json"]
        detail = f"A body of type {Request(scope).headers.get('content-type') or '(none)'} is not understood."
        return problems.respond(Request(scope), kind, detail, field=field, allowed=allowed)
    if method in _BODIES and head.content_coding != "identity" and is_routed(scope["app"], method, path):
        kind, field, allowed = "unsupported-media-type", "Content-Encoding", ["identity"]
        detail = f"A body in the coding {head.content_coding} is not understood: send it as it is."
        return problems.respond(Request(scope), kind, detail, field=field, allowed=allowed)
    return None


def _takes_json(method: str, path: str) -> bool:
    """Whether a body is JSON; a blob's part is bytes, and so is a session's batch."""
    part = path.startswith("/v1/blobs/") and path.endswith("/upload")
    return method in _JSON and not (part or (path.startswith("/v1/sessions/") and path.endswith("/commands")))


class _Head:
    """What the headers of a request say of its body, read in one pass: every request comes through here.

    Attributes:
        ambiguous: Why the head can be read in two ways; "" where it cannot.
    """

    __slots__ = ("_found", "ambiguous")

    def __init__(self, scope: Scope) -> None:
        found: dict[bytes, bytes] = {}
        twice = b""
        for name, value in scope["headers"]:
            if name not in _READ:
                continue
            if name in found and name in _ONCE:
                twice = twice or name
            found.setdefault(name, value)
        self._found = found
        self.ambiguous = ""
        if b"transfer-encoding" in found and b"content-length" in found:
            self.ambiguous = "A request has a Content-Length or a Transfer-Encoding, not both."
        elif twice:
            self.ambiguous = f"The header {twice.decode('latin-1')} stands there twice."

    @property
    def declared_bytes(self) -> int | None:
        """How long the body is said to be."""
        declared = self._found.get(b"content-length", b"")
        return int(declared) if declared.isdigit() else None

    @property
    def content_coding(self) -> str:
        """How the body is coded."""
        return self._found.get(b"content-encoding", b"").decode("latin-1").strip().lower() or "identity"

    @property
    def is_json(self) -> bool:
        """Whether there is no body, or one that says it is JSON."""
        found = self._found
        if found.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in found:
            return True
        kind = found.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
        return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def _without_body(send: Send) -> Send:
    async def sending(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return sending


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
