# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Events at a head: what happens to a job, and to all of a tenant's."""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any

import anyio
import structlog
from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError as NatsNotFound

from eddy.api.access.open_streams import Credential
from eddy.api.request_bodies.event_protocol import BEGIN, HEADERS, HEARTBEAT, GoOn, LastEventId, PastEvents, encode
from eddy.pool.connection.refusals import UNDONE, is_stream_missing
from eddy.pool.connection.streams import EVENTS
from eddy.pool.connection.tasks import ended
from eddy.pool.jetstream.bucket_reader import FORGET_S, confirm_stream
from eddy.pool.records.record_json import NO_SENSE, parse_json
from eddy.pool.records.records import FINAL, PoolJob
from eddy.pool.routes.context import Caller, HeadParts, Number, Parts
from eddy.pool.routes.submission import visible_job
from eddy.store.job_tables.events import unknown_event_error

_log = structlog.get_logger("eddy.pool")
router = APIRouter(prefix="/v1", tags=["jobs"])
LOOK_S = 0.5
"""Wall seconds without an event after which no more come, of a job that has ended or of those that are there."""
MADE_AGAIN_S = 10.0
"""Wall seconds in which a stream that somebody deleted should be there again."""
SILENT_S = 15.0
"""Wall seconds of silence after which a comment is sent."""


@router.get("/jobs/{number}/events")
async def events(number: Number, parts: Parts, caller: Caller, last_event_id: LastEventId = None) -> Response:
    """What happened to a job, as it happens."""
    job = await visible_job(parts, caller, number)
    subject = f"eddy.events.{job.tenant}.{job.id}"
    after = 0 if last_event_id is None else await _place(parts, subject, last_event_id)
    return _feed(parts, _told_of(parts, job, after))


@router.get("/events")
async def all_events(
    parts: Parts,
    caller: Caller,
    last: PastEvents = 0,
    follow: GoOn = True,
    last_event_id: LastEventId = None,
) -> Response:
    """What happens to all of your jobs, from now on, or after `Last-Event-ID`; to everyone's, for the operator."""
    subject = f"eddy.events.{'*' if caller.admin else caller.id}.*"
    if last_event_id is not None:
        after = await _place(parts, subject, last_event_id)
        if not caller.admin:
            behind = await _behind(parts, subject, after)
            (parts.looks.admit_resumed_stream if follow else parts.looks.admit_history)(caller, behind)
    else:
        parts.looks.admit_history(caller, last)
        after = await _before_last(parts, subject, last)
    return _feed(parts, _told(parts, subject, after, follow))


async def _place(parts: HeadParts, subject: str, asked: int) -> int:
    """The place in the stream of an event that was told as a number; 0 is the place before the first.

    Raises:
        UnknownCursor: There is none among those of the subject, or none any more.
    """
    place = parts.numbers.event.resolve_id(asked)
    if not place:
        return 0
    if place > 0:
        for certain in (False, True):
            if certain:
                await confirm_stream(parts.link.js, EVENTS)
            with contextlib.suppress(NatsNotFound):
                found = str((await parts.link.js.get_msg(EVENTS, place)).subject)
                if fnmatch.fnmatchcase(found, subject):
                    return place
    raise unknown_event_error(asked)


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
    """How many events of a subject come after a place in the stream; none while that is made again."""
    try:
        found = await parts.link.js.add_consumer(EVENTS, _from(after, filter_subject=subject))
    except NatsNotFound:
        return 0
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


def _feed(parts: HeadParts, told: AsyncGenerator[str, None]) -> Response:
    """What is told, for as long as a request with the same key or session would be taken."""
    credential = Credential.in_use()

    async def while_good() -> AsyncIterator[str]:
        ending = asyncio.ensure_future(parts.ending.wait())
        with parts.standing.track_stream(credential) as over:
            try:
                yield BEGIN
                while (text := await _unless((over, ending), told)) is not None:
                    yield text
            except UNDONE as failure:  # without the event that ends it: whoever follows asks again
                _log.warning("a stream of events is broken off", error=repr(failure))
            finally:
                ending.cancel()
                with anyio.CancelScope(shield=True):  # a client that leaves leaves nothing behind at the servers
                    await told.aclose()

    return StreamingResponse(while_good(), headers=dict(HEADERS), media_type="text/event-stream")


async def _unless(over: Sequence[asyncio.Future[Any]], told: AsyncGenerator[str, None]) -> str | None:
    """What is told next; None where nothing is, or once one of `over` is done."""
    following: asyncio.Future[Any] = asyncio.ensure_future(anext(told, None))
    until: list[asyncio.Future[Any]] = [following, *over]
    try:
        await asyncio.wait(until, return_when=asyncio.FIRST_COMPLETED)
        return following.result() if following.done() else None
    finally:
        # What it leaves it takes back by itself: cancelled again and again, as by a client that left, it would not.
        with anyio.CancelScope(shield=True):
            await ended([following])


async def _told(parts: HeadParts, subject: str, after: int, follow: bool) -> AsyncGenerator[str, None]:
    """Events of all jobs of a subject from a place in the stream on; those alone that are there, unless to follow."""
    async with _subscribed(parts, subject, after) as events:
        while True:
            if text := await events.next(SILENT_S if follow else LOOK_S):
                yield text
            elif follow:
                yield HEARTBEAT
            else:
                break
    yield encode("end", {})


async def _told_of(parts: HeadParts, job: PoolJob, after: int) -> AsyncGenerator[str, None]:
    """Events of a job from a place in the stream on, until the last is told, or it has ended and no more come."""
    with parts.lead.mirror.followers.following(job.id) as followed:
        has_ended = (await parts.table.job(job.id)).is_ended
        async with _subscribed(parts, f"eddy.events.{job.tenant}.{job.id}", after) as events:
            while not events.final:
                changed = followed.changed
                has_ended = has_ended or (followed.latest is not None and followed.latest[0].is_ended)
                if text := await events.next(LOOK_S if has_ended else SILENT_S, None if has_ended else changed):
                    yield text
                elif has_ended:
                    break
                elif not changed.is_set():
                    yield HEARTBEAT
    yield encode("end", {})


class _Events:
    """Events of a subject as they come.

    Attributes:
        final: Whether the last one says that its job has ended.
    """

    def __init__(self, parts: HeadParts, subscription: JetStreamContext.PushSubscription) -> None:
        self._js, self._numbers, self._subscription = parts.link.js, parts.numbers, subscription
        self._coming: asyncio.Future[Msg] | None = None
        self.final = False

    async def next(self, wait_s: float, or_else: asyncio.Event | None = None) -> str:
        """The next event, encoded; "" where none has come in time, or something else happened before."""
        self._coming = coming = self._coming or asyncio.ensure_future(self._subscription.next_msg(timeout=None))
        happens = asyncio.ensure_future((or_else or asyncio.Event()).wait())
        try:
            either: list[asyncio.Future[Any]] = [coming, happens]
            await asyncio.wait(either, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await ended([happens])
        if not coming.done():
            return ""
        message, self._coming = coming.result(), None
        event = self._numbers.event.public_id(message.metadata.sequence.stream)
        try:
            data = parse_json(message.data)
            number = self._numbers.job.public_id(int(message.subject.rsplit(".", 1)[-1]))
            self.final = data.get("state") in FINAL
            return encode(data.pop("kind"), {"job": number, **data}, event)
        except NO_SENSE as wrong:  # those behind it are told
            _log.error("an event cannot be read, and is passed over", subject=message.subject, error=repr(wrong))
            return HEARTBEAT

    async def close(self) -> None:
        """No more are wanted; nothing is left of it at the servers, which bound the consumers of a stream."""
        if self._coming is not None:
            await ended([self._coming])
        consumer = self._subscription._consumer  # another than at first, where the client had to begin again
        with contextlib.suppress(*UNDONE):
            await self._subscription.unsubscribe()
        with contextlib.suppress(*UNDONE):
            await asyncio.wait_for(self._js.delete_consumer(EVENTS, consumer), FORGET_S)


@contextlib.asynccontextmanager
async def _subscribed(parts: HeadParts, subject: str, after: int) -> AsyncIterator[_Events]:
    js, deadline_s = parts.link.js, time.monotonic() + MADE_AGAIN_S
    while True:
        try:
            subscription = await js.subscribe(subject, stream=EVENTS, ordered_consumer=True, config=_from(after))
            break
        except NatsNotFound as said:
            if not is_stream_missing(said) or time.monotonic() > deadline_s:
                raise
        await asyncio.sleep(LOOK_S)
    events = _Events(parts, subscription)
    try:
        yield events
    finally:
        await events.close()
