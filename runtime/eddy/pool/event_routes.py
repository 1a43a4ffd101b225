"""Events at a head: what happens to a job, and to all of a tenant's."""

from __future__ import annotations

import contextlib
import fnmatch
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from nats.errors import TimeoutError as NatsTimeout
from nats.js.api import ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError as NatsNotFound

from eddy.api.event_protocol import BEGIN, HEADERS, HEARTBEAT, GoOn, LastEventId, PastEvents, encode
from eddy.pool.feeds import HeadCredential
from eddy.pool.head_parts import LOOKS_PER_S, Caller, HeadParts, Number, Parts
from eddy.pool.records import FINAL
from eddy.pool.streams import EVENTS
from eddy.pool.submitting import visible
from eddy.store.events import unknown_event

router = APIRouter(prefix="/v1", tags=["jobs"])
LOOK_S = 0.5
"""Wall seconds without an event after which it is looked whether more can come."""
SILENT_S = 15.0
"""Wall seconds of silence after which a comment is sent."""


@router.get("/jobs/{number}/events")
async def events(
    number: Number, parts: Parts, caller: Caller, request: Request, last_event_id: LastEventId = None
) -> Response:
    """What happened to a job, as it happens."""
    job = await visible(parts, caller, number)
    subject = f"eddy.events.{job.tenant}.{job.id}"
    after = 0 if last_event_id is None else await _place(parts, subject, last_event_id)

    async def ended() -> bool:
        return (await parts.table.job(job.id)).ended

    told = _told(parts, subject, after, ended, one=True)
    return _feed(parts, request, told)


@router.get("/events")
async def all_events(
    parts: Parts,
    caller: Caller,
    request: Request,
    last: PastEvents = 0,
    follow: GoOn = True,
    last_event_id: LastEventId = None,
) -> Response:
    """What happens to all of your jobs, from now on, or after `Last-Event-ID`; to everyone's, for the operator."""
    subject = f"eddy.events.{'*' if caller.admin else caller.id}.*"
    if last_event_id is not None:
        after = await _place(parts, subject, last_event_id)
    else:
        if last:
            parts.looks.take(caller.id, None if caller.admin else LOOKS_PER_S)
        after = await _before_last(parts, subject, last)

    async def ended() -> bool:
        return not follow

    return _feed(parts, request, _told(parts, subject, after, ended))


async def _place(parts: HeadParts, subject: str, asked: int) -> int:
    """The place in the stream of an event that was told as a number; 0 is the place before the first.

    Raises:
        UnknownCursor: There is none among those of the subject, or none any more.
    """
    place = parts.numbers.event.meant(asked)
    if not place:
        return 0
    if place > 0:
        with contextlib.suppress(NatsNotFound):
            found = str((await parts.link.js.get_msg(EVENTS, place)).subject)
            if fnmatch.fnmatchcase(found, subject):
                return place
    raise unknown_event(asked)


async def _before_last(parts: HeadParts, subject: str, last: int) -> int:
    """The place in the stream behind which there are so many events of a subject; found by halving."""
    state = (await parts.link.js.stream_info(EVENTS)).state
    low, high = int(state.first_seq) - 1, int(state.last_seq)
    while last and low < high:
        middle = (low + high) // 2
        if await _behind(parts, subject, middle) > last:
            low = middle + 1
        else:
            high = middle
    return high


async def _behind(parts: HeadParts, subject: str, after: int) -> int:
    """How many events of a subject come after a place in the stream."""
    found = await parts.link.js.add_consumer(EVENTS, _from(after, filter_subject=subject))
    try:
        return int(found.num_pending or 0)
    finally:
        await parts.link.js.delete_consumer(EVENTS, found.name)


def _from(after: int, filter_subject: str | None = None) -> ConsumerConfig:
    return ConsumerConfig(
        deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
        opt_start_seq=max(after, 0) + 1,
        filter_subject=filter_subject,
        inactive_threshold=60,
        mem_storage=True,
    )


def _feed(parts: HeadParts, request: Request, told: AsyncGenerator[str, None]) -> Response:
    """What is told, for as long as a request with the same key or session would be taken."""
    credential = HeadCredential.of(request, parts.sessions)

    async def while_good() -> AsyncIterator[str]:
        parts.feeds.opened(credential)
        try:
            yield BEGIN
            async with contextlib.aclosing(told):
                async for text in told:
                    if not await parts.feeds.good(credential):
                        return
                    if text:
                        yield text
        finally:
            parts.feeds.closed(credential)

    return StreamingResponse(while_good(), headers=dict(HEADERS), media_type="text/event-stream")


async def _told(
    parts: HeadParts, subject: str, after: int, ended: Callable[[], Awaitable[bool]], one: bool = False
) -> AsyncGenerator[str, None]:
    """Events of a subject from a place in the stream on, until no more can come and all was told; "" where nothing
    has come for `LOOK_S`.

    Args:
        parts: The head's.
        subject: Of which jobs.
        after: The place.
        ended: Whether no more can come; asked where none has come for `LOOK_S`.
        one: Whether it is one job's, of which the last event says so.
    """
    following = await parts.link.js.subscribe(subject, stream=EVENTS, ordered_consumer=True, config=_from(after))
    silent_s = 0.0
    try:
        while True:
            try:
                message = await following.next_msg(timeout=LOOK_S)
            except NatsTimeout:
                if await ended():
                    break
                silent_s += LOOK_S
                if silent_s >= SILENT_S:
                    silent_s = 0.0
                    yield HEARTBEAT
                yield ""
                continue
            data = json.loads(message.data)
            number = parts.numbers.job.told(int(message.subject.rsplit(".", 1)[-1]))
            event = parts.numbers.event.told(message.metadata.sequence.stream)
            yield encode(data.pop("kind"), {"job": number, **data}, event)
            if one and data.get("state") in FINAL:
                break
    finally:
        await following.unsubscribe()
    yield encode("end", {})
