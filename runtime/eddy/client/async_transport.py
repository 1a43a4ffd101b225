"""The transport of `eddy.client.transport` for event loops: the same retries and errors, awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

import anyio
import httpx

from eddy.client.errors import ServerUnreachable
from eddy.client.sendable import address, bearer_key, json_body
from eddy.client.stream import Event, parse
from eddy.client.transport import T, Transport

_READ_TIMEOUT_S = 60.0
"""Longer than the server's heartbeat: a stream that is silent for this long is dead."""


class AsyncTransport:
    """HTTP with a key, retries and typed errors, for one event loop.

    Args:
        url: Where the hypervisor answers; `http://` may be left out.
        key: Bearer token, or "" for the open routes only.
        timeout_s: Wall time one try may take.
        retries: Tries beyond the first.
        http: An httpx transport to use instead of sockets (tests).
        pause: Awaited with the seconds to wait between tries.

    Raises:
        InvalidRequest: The URL is none, or the key cannot be sent.
    """

    def __init__(
        self,
        url: str,
        key: str = "",
        *,
        timeout_s: float = 30.0,
        retries: int = 4,
        http: httpx.AsyncBaseTransport | None = None,
        pause: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self.url, self.retries, self.pause = address(url), retries, pause
        headers = {"Authorization": f"Bearer {bearer_key(key)}"} if key else {}
        encrypted = self.url.startswith("https:")
        self._http = httpx.AsyncClient(
            base_url=self.url, headers=headers, timeout=timeout_s, transport=http, verify=encrypted
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        answer_s: float | None = None,
    ) -> httpx.Response:
        """Send until answered; see `Transport.request`.

        Raises:
            EddyError: The server refused it; the class is that of the problem's code.
            ServerUnreachable: Nothing answered.
        """
        waits = (
            httpx.USE_CLIENT_DEFAULT if answer_s is None else httpx.Timeout(self._http.timeout.connect, read=answer_s)
        )
        sent = dict(headers or {})
        if body is not None:
            content = json_body(body)
            sent["Content-Type"] = "application/json"
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            try:
                answer = await self._http.request(
                    method, path, params=params, content=content, headers=sent, timeout=waits
                )
            except httpx.TransportError as failure:
                if last:
                    raise self._unreachable(failure) from failure
            else:
                if answer.status_code < 400:
                    return answer
                if answer.status_code != 503 or last:
                    raise Transport.problem(answer)
            await self.pause(Transport.pause_s(attempt))
        raise AssertionError("the loop above returns or raises")

    async def json(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        """Ask for a JSON object; see `request`."""
        answer: dict[str, Any] = (await self.request(method, path, **arguments)).json()
        return answer

    async def answer(self, kind: type[T], method: str, path: str, **arguments: Any) -> T:
        """Ask for what the page says is answered: `kind` is a type of `eddy.client.answers`; see `request`."""
        return cast(T, await self.json(method, path, **arguments))

    async def follow(self, path: str, after: int = -1) -> AsyncIterator[Event]:
        """Every event after `after`, reconnecting where the connection breaks, until the server ends the stream.

        Raises:
            EddyError: The server refused it.
            ServerUnreachable: Nothing answers any more.
        """
        failures = 0
        while True:
            cut: Exception = httpx.RemoteProtocolError("the stream ended without its last event")
            try:
                async with self._stream(path, after) as answer:
                    if answer.status_code == 204:  # it has ended, and every event of it is known
                        return
                    if answer.status_code >= 400:
                        await answer.aread()
                        raise Transport.problem(answer)
                    async for event in _events(answer):
                        failures = 0
                        if event.kind == "end":
                            return
                        after = event.id if event.id >= 0 else after
                        yield event
            except httpx.TransportError as failure:
                cut = failure
            failures += 1
            if failures > self.retries:
                raise self._unreachable(cut) from cut
            await self.pause(Transport.pause_s(failures))

    def _stream(self, path: str, after: int) -> AbstractAsyncContextManager[httpx.Response]:
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": str(after)} if after >= 0 else {})
        timeout = httpx.Timeout(self._http.timeout.connect, read=_READ_TIMEOUT_S)
        return self._http.stream("GET", path, headers=headers, timeout=timeout)

    def _unreachable(self, failure: Exception) -> ServerUnreachable:
        return ServerUnreachable(
            f"Nothing answers at {self.url} ({type(failure).__name__}). Start it with `eddy serve`, or set EDDY_URL.",
            url=self.url,
        )


async def _events(answer: httpx.Response) -> AsyncIterator[Event]:
    """Events of a stream as they come: a block of lines ends with an empty one."""
    block: list[str] = []
    async for line in answer.aiter_lines():
        block.append(line)
        if line == "":
            for event in parse(block):
                yield event
            block.clear()
