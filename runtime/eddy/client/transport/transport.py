# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Operations carried out over HTTP by the thread that asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import httpx

from eddy.client.transport.exchange import Exchange
from eddy.client.transport.operations import Operation, SendOperation, T


class Transport(Exchange):
    """HTTP with a key, retries and typed errors.

    Args:
        url: Where the hypervisor answers, or several addresses; see `Exchange`.
        key: Bearer token, or "" for the open routes only.
        timeout_s: Wall time one try may take.
        retries: Tries beyond the first.
        http: An httpx transport to use instead of sockets (tests).
        pause: Called with the seconds to wait between tries.

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
        http: httpx.BaseTransport | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(url, key, timeout_s, retries)
        self.pause = pause
        self._http = httpx.Client(transport=http, **self.settings())

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def run(self, operation: Operation[T]) -> T:
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
                    came = self._http.request(**self.arguments(step))
                except httpx.TransportError as failure:
                    came = failure
            else:
                self.pause(step.seconds)

    def request(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """Send until answered; see `Exchange.send_request`."""
        return self.run(self.send_request(method, path, **arguments))

    def json(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        """Ask for a JSON object; see `request`."""
        answer: dict[str, Any] = self.request(method, path, **arguments).json()
        return answer

    def stream(self, path: str, headers: Mapping[str, str], read_s: float) -> AbstractContextManager[httpx.Response]:
        """Open a stream of lines."""
        return self._http.stream("GET", self.url + path, headers=dict(headers), timeout=self.long_timeout(read_s))
