# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Requests whose client may leave before they are answered, or whose key may end: their work ends then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import anyio
from starlette.requests import ClientDisconnect, Request

from eddy.api.access.open_streams import Credential
from eddy.api.dependencies.context import Context
from eddy.api.dependencies.events import EventStream, StreamSource
from eddy.core.records import JobRecord
from eddy.gpu.compilation.abandon import WorkAbandoned

T = TypeVar("T")


async def run_while_connected(
    request: Request, work: Callable[[], Awaitable[T]], over: asyncio.Future[None] | None = None
) -> T:
    """Do the work, unless the client leaves.

    Args:
        request: Its body has been read.
        work: Is cancelled where the client leaves.
        over: It is cancelled too once this is done; the caller sees to what is answered then.

    Raises:
        ClientDisconnect: It left; nobody is there to be answered.
        Exception: Whatever the work raises.
    """
    outcome: list[T | Exception] = []
    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_when_left, request, group.cancel_scope)
        if over is not None:
            group.start_soon(_cancel_when_over, over, group.cancel_scope)
        try:
            outcome.append(await work())
        except Exception as error:
            outcome.append(error)
        group.cancel_scope.cancel()
    if not outcome or isinstance(outcome[0], WorkAbandoned):  # it gave up before the cancellation came to it
        raise ClientDisconnect
    (found,) = outcome
    if isinstance(found, Exception):
        raise found
    return found


async def _cancel_when_left(request: Request, scope: anyio.CancelScope) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _cancel_when_over(over: asyncio.Future[None], scope: anyio.CancelScope) -> None:
    await asyncio.wait([over])
    scope.cancel()


def open_event_stream(context: Context, followed: StreamSource) -> EventStream:
    """The stream of what a request follows."""
    credential = Credential.in_use()
    return EventStream(
        followed, context.fanout, context.settings.heartbeat_s, context.ending, context.open_streams, credential
    )


async def wait_for_job(
    context: Context, request: Request, owner: str, job: int, good: Callable[[JobRecord], bool], wait_s: float
) -> JobRecord:
    """A job once it is good, or when the time is over.

    Raises:
        ClientDisconnect: Nobody waits any more.
        Unauthorized: The key or the session has ended meanwhile.
    """
    credential = Credential.in_use()
    call = partial(context.hypervisor.following.wait_until, owner, job, good, wait_s, context.ending)
    with context.open_streams.track_stream(credential) as over:
        try:
            return await run_while_connected(request, call, over)
        except ClientDisconnect:
            context.open_streams.check(credential)
            raise
