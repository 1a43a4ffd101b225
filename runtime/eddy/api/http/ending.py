"""The end of a server, as those who are still connected see it: streams end, requests under way get an answer."""

from __future__ import annotations

import asyncio
import json

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eddy.api.http.problems import MEDIA_TYPE, document


class Ending:
    """Answer 503 where the server's end cancels a request, in place of a broken connection and a traceback.

    Args:
        app: The application behind it.
        ending: Set once the server ends.
    """

    def __init__(self, app: ASGIApp, ending: asyncio.Event) -> None:
        self._app, self._ending = app, ending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except asyncio.CancelledError:
            if scope["type"] != "http" or not self._ending.is_set():
                raise
            if not started:
                await _refuse(scope, send)


async def _refuse(scope: Scope, send: Send) -> None:
    detail = "The server was stopped before this was done; ask again once it is back."
    body = json.dumps(document("server-stopping", detail, scope["path"])).encode()
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 503, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": body})
