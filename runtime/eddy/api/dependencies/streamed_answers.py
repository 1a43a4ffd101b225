# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What somebody follows, or waits for, as the answer to a request: for as long as what it came with is good."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fastapi import Request
from starlette.requests import ClientDisconnect

from eddy.api.access.open_streams import Credential
from eddy.api.dependencies.context import Context
from eddy.api.dependencies.disconnects import run_while_connected
from eddy.api.dependencies.events import EventStream, StreamSource
from eddy.core.records import JobRecord


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
