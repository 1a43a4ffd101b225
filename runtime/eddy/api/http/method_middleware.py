# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What HTTP asks of every resource, in one place: HEAD where there is GET, OPTIONS, `Allow`, the type of a body."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eddy.api.http import problems
from eddy.api.http.paths import allowed_methods, fixed_path_ends, is_routed

_ONCE = (b"authorization", b"idempotency-key", b"content-type", b"content-encoding", b"last-event-id", b"host")
"""Headers of one value."""
_READ = frozenset((*_ONCE, b"transfer-encoding", b"content-length"))
_JSON = ("POST", "PATCH")
"""Methods whose bodies are JSON; what is put may be a blob."""
_BODIES = (*_JSON, "PUT")
"""Methods whose bodies are taken as they are: a coding would be kept with the bytes."""


class MethodMiddleware:
    """Answers OPTIONS, makes a HEAD of every GET, and refuses heads that can be read in two ways, addresses with a line
    feed behind them, and bodies that do not say they are JSON.

    Args:
        app: The application behind it, of which `scope["app"]` knows the routes.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        head = _Head(scope)
        if head.ambiguous:
            # Whoever stands before us may have read it the other way, and what follows as another's request.
            answer = problems.respond(Request(scope), "bad-request", head.ambiguous, {"Connection": "close"})
            await answer(scope, receive, send)
            return
        app, path, method = scope["app"], scope["path"], scope["method"]
        if path.endswith("\n") and path.rpartition("/")[2][:-1] in fixed_path_ends(app):
            # The pattern of a route lets a line feed at the end pass.
            await problems.respond(Request(scope), "not-found", "There is nothing at this address.")(
                scope, receive, send
            )
            return
        methods = allowed_methods(app, path) if method in ("OPTIONS", "HEAD") else []
        if methods and method == "OPTIONS":
            await Response(status_code=204, headers={"Allow": ", ".join(methods)})(scope, receive, send)
        elif method == "HEAD" and "HEAD" in methods and not is_routed(app, "HEAD", path):
            # A range is of GET alone (RFC 9110, 14.2).
            headers = [(name, value) for name, value in scope["headers"] if name != b"range"]
            await self._app({**scope, "method": "GET", "headers": headers}, receive, _without_body(send))
        elif _takes_json(method, path) and not head.is_json and is_routed(app, method, path):
            request = Request(scope)
            detail = f"A body of type {request.headers.get('content-type') or '(none)'} is not understood."
            answer = problems.respond(
                request, "unsupported-media-type", detail, field="Content-Type", allowed=["application/json"]
            )
            await answer(scope, receive, send)
        elif method in _BODIES and head.content_coding != "identity" and is_routed(app, method, path):
            detail = f"A body in the coding {head.content_coding} is not understood: send it as it is."
            answer = problems.respond(
                Request(scope), "unsupported-media-type", detail, field="Content-Encoding", allowed=["identity"]
            )
            await answer(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _takes_json(method: str, path: str) -> bool:
    """Whether a body is JSON; a blob's part is bytes, and so is a session's batch."""
    part = path.startswith("/v1/blobs/") and path.endswith("/upload")
    return method in _JSON and not (part or (path.startswith("/v1/sessions/") and path.endswith("/commands")))


class _Head:
    """What the headers of a request say of its body, read in one pass: every request comes through here.

    Args:
        scope: The request's.

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
