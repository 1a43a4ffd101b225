# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/events`: what happens to all of a tenant's jobs."""

from __future__ import annotations

from functools import partial

import anyio.to_thread
from fastapi import APIRouter

from eddy.api.access.request_limits import FEW
from eddy.api.dependencies.callers import Caller, Ctx, visible_tenant
from eddy.api.dependencies.disconnects import open_event_stream
from eddy.api.dependencies.events import EventStream, StreamSource
from eddy.api.dependencies.job_access import read
from eddy.api.http.openapi import refusals, stream
from eddy.api.request_bodies import examples
from eddy.api.request_bodies.event_protocol import GoOn, LastEventId, PastEvents

router = APIRouter(prefix="/v1/events", tags=["jobs"])


@router.get(
    "",
    operation_id="follow_jobs",
    summary="Follow all your jobs",
    status_code=200,
    response_class=EventStream,
    responses={200: stream("Events of your jobs; of everyone's, for the operator.", examples.EVENTS), **refusals(410)},
)
async def events(
    context: Ctx,
    viewer: Caller,
    last: PastEvents = 0,
    follow: GoOn = True,
    last_event_id: LastEventId = None,
) -> EventStream:
    """Server-sent events of all jobs, from now on, or after `Last-Event-ID`; one of kind `end` where it ends.

    A `Last-Event-ID` that names none of them is refused (`unknown-cursor`); 0 begins with the first.
    """
    whose = visible_tenant(viewer)
    if last_event_id is not None:
        after = context.store.numbers.event.resolve_id(last_event_id)
        await read(context, partial(context.store.events.check_known, whose, None, after, last_event_id))
        if not viewer.admin and after < await read(context, partial(context.store.events.before_last, whose, FEW)):
            (context.rate_limits.admit_resumed_stream if follow else context.rate_limits.admit_history)(viewer, FEW + 1)
    else:
        context.rate_limits.admit_history(viewer, last)
        after = await anyio.to_thread.run_sync(context.store.events.before_last, whose, last)
    store = context.store
    followed = StreamSource(
        whose, None, after, lambda seq, limit: store.events.list_events(whose, None, seq, limit), lambda: not follow
    )
    return open_event_stream(context, followed)
