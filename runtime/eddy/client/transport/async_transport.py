# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Operations carried out over HTTP in an event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import httpx

from eddy.client.transport.exchange import Exchange
from eddy.client.transport.operations import Operation, SendOperation, T


class AsyncTransport(Exchange):
    """HTTP with a key, retries and typed errors, for one event loop.

    Args:
        url: Where the hypervisor answers, or several addresses; see `Exchange`.
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
        super().__init__(url, key, timeout_s, retries)
        self.pause = pause
        self._http = httpx.AsyncClient(transport=http, **self.settings())

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def run(self, operation: Operation[T]) -> T:
        """Carry an operation out; raises what it raises."""
        came: httpx.Response | httpx.TransportError | None = None
        while True:
            try:
                step = operation.send(came)
            except StopIteration as done:
                answer: T = done.value
                return answer
            came = None
            if isinstance(step, SendOperation):
                try:
                    came = await self._http.request(**self.arguments(step))
                except httpx.TransportError as failure:
                    came = failure
            else:
                await self.pause(step.seconds)

    async def request(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """Send until answered; see `Exchange.send_request`."""
        return await self.run(self.send_request(method, path, **arguments))

    async def json(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        """Ask for a JSON object; see `request`."""
        answer: dict[str, Any] = (await self.request(method, path, **arguments)).json()
        return answer

    def stream(
        self, path: str, headers: Mapping[str, str], read_s: float
    ) -> AbstractAsyncContextManager[httpx.Response]:
        """Open a stream of lines."""
        return self._http.stream("GET", self.url + path, headers=dict(headers), timeout=self.long_timeout(read_s))
