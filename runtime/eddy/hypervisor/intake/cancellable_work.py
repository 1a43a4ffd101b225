"""Long work in a thread for a caller who may leave: it ends with them, and its place is free then."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from eddy.gpu.compilation.abandon import abandon_scope

T = TypeVar("T")


async def run_abandonable(call: Callable[..., T], *arguments: object, limiter: anyio.CapacityLimiter) -> T:
    """Make a call in a thread; where the caller is cancelled, what the call started is ended first.

    Args:
        call: Work that heeds `eddy.gpu.compilation.abandon`.
        arguments: Its arguments.
        limiter: Places for such work; this one's is free once the call has ended.

    Raises:
        Exception: Whatever the call raises.
    """
    stop = threading.Event()
    outcome: list[T | Exception] = []

    def work() -> None:
        try:
            outcome.append(call(*arguments))
        except Exception as error:
            outcome.append(error)

    async with anyio.create_task_group() as group:
        group.start_soon(_set_when_cancelled, stop)
        with abandon_scope(stop):
            await anyio.to_thread.run_sync(work, limiter=limiter)
        group.cancel_scope.cancel()
    (found,) = outcome
    if isinstance(found, Exception):
        raise found
    return found


async def _set_when_cancelled(stop: threading.Event) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        stop.set()
