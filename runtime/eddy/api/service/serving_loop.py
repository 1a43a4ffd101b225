# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""uvicorn's loop, as a server of ours runs it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from typing import Any

import uvicorn

from eddy.api.service.listen_socket import QUEUE


class ServingLoop(uvicorn.Server):
    """uvicorn's loop, with the signals left to `eddy.host.signals`.

    Its own way raises a signal again as soon as the loop has ended: the process would be gone before anything is
    closed.

    Args:
        ending: Set before connections are waited for.
        wait_ready: Returns when jobs are taken.
        beside: What runs beside it, until it ends.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        ending: asyncio.Event,
        wait_ready: Callable[[], Awaitable[None]],
        beside: Sequence[Callable[[], Coroutine[Any, Any, None]]] = (),
    ) -> None:
        super().__init__(config)
        self._ending, self._wait_ready = ending, wait_ready
        self._beside = beside
        self._ready: Callable[[], None] = lambda: None
        self._failure: BaseException | None = None
        self._listener: socket.socket | None = None

    def serve_until_asked(self, listener: socket.socket, ready: Callable[[], None]) -> None:
        """Serve on a socket until `stop`; `ready` is called once jobs are taken, and may raise."""
        self._ready, self._listener = ready, listener
        self.run(sockets=[listener])
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """End; asked again, without waiting for open connections. Safe in a signal handler."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def main_loop(self) -> None:
        """uvicorn's, with somebody beside it who says when jobs are taken."""
        if self._listener is not None:
            self._listener.listen(QUEUE)  # uvicorn has one number for it and for how many are accepted at once
        tasks = [asyncio.create_task(each()) for each in (*self._beside, self._announce)]
        try:
            await super().main_loop()
        finally:
            for task in tasks:
                task.cancel()

    async def _announce(self) -> None:
        await self._wait_ready()
        try:
            self._ready()
        except BaseException as failure:
            self._failure = failure
            self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End connections, then the application; uvicorn leaves out the application where it must hurry."""
        self._ending.set()
        await super().shutdown(sockets)
        if self.force_exit:
            await self.lifespan.shutdown()
