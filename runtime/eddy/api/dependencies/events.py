# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Server-sent events: a job's event log as a stream that survives proxies and broken connections.

A stream first sends what is in the log, at the pace its client reads. Once that is all, it goes live: the same bytes
are written to the connections of all who follow the same (`eddy.hypervisor.engine.event_fanout`), without waking a task
for each.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio.to_thread
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from eddy.api.access.open_streams import Credential, OpenStreams
from eddy.api.answers.rendering import event_data
from eddy.api.http.connections import DIRECT
from eddy.api.request_bodies.event_protocol import BEGIN, HEADERS, HEARTBEAT, encode
from eddy.core.records import JobEvent
from eddy.hypervisor.engine.event_fanout import EventFanout, Follower
from eddy.store.db.numbers import Numbers

PAGE = 500
"""Events that are read and sent at once."""

ReadEvents = Callable[[int, int], Sequence[JobEvent]]
"""Reads so many events after a sequence number."""


@functools.lru_cache(maxsize=256)
def encode_event(event: JobEvent, numbers: Numbers) -> str:
    """One entry of the log; the same for all who follow it."""
    return encode(event.what.value, event_data(event, numbers), numbers.event.public_id(event.seq))


def words(events: Sequence[JobEvent], numbers: Numbers) -> bytes:
    """Entries of the log, as they are sent."""
    return "".join(encode_event(event, numbers) for event in events).encode()


@dataclass(frozen=True, slots=True)
class StreamSource:
    """What a stream follows.

    Attributes:
        tenant: Whose jobs; None for everyone's (operators).
        job: Which one; None for all.
        after: Sequence number of the last event that is known already.
        read: Reads the log; it may wait for the disk.
        ended: Whether nothing will follow what is in the log; asked before that is read. May wait for the disk.
    """

    tenant: str | None
    job: int | None
    after: int
    read: ReadEvents
    ended: Callable[[], bool]


class EventStream(Response):
    """The stream of what somebody follows: its events, a comment in long silence, and `end` at the end.

    Where the server ends it breaks off, for the client to come back with `Last-Event-ID`; so it does where the key or
    the session ends that it was asked with, and whoever comes back is not known any more.

    Args:
        heartbeat_s: Wall time of silence after which a comment is sent.
        ending: Set once the server ends.
        standing: Says when whoever asked may not follow any more.
        credential: What was asked with.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        followed: StreamSource,
        fanout: EventFanout,
        heartbeat_s: float,
        ending: asyncio.Event,
        standing: OpenStreams,
        credential: Credential,
    ) -> None:
        self.status_code, self.background = 200, None
        self.init_headers(HEADERS)
        self._followed, self._fanout = followed, fanout
        self._heartbeat_s, self._ending = heartbeat_s, ending
        self._standing, self._credential = standing, credential

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until it ends, or the client leaves, or the server ends."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        direct = scope.get("extensions", {}).get(DIRECT, {}).get("write")
        follower = Follower(self._followed.tenant, self._followed.job, direct or _no_room)
        follower.after = self._followed.after
        left, ending = asyncio.ensure_future(_left(receive)), asyncio.ensure_future(self._ending.wait())
        until: list[asyncio.Future[Any]] = [left, ending]
        streaming = asyncio.ensure_future(self._stream(follower, send, None if direct else self._heartbeat_s))
        try:
            with self._fanout.subscribe(follower), self._standing.track_stream(self._credential) as over:
                await asyncio.wait([*until, over, streaming], return_when=asyncio.FIRST_COMPLETED)
                gone = left.done()
                if streaming.done():
                    await streaming
        finally:
            for task in (streaming, *until):
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait([streaming])
        if not gone:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _stream(self, follower: Follower, send: Send, heartbeat_s: float | None) -> None:
        await _send(send, BEGIN.encode())
        while True:
            follower.begin_read()
            ended, events = await anyio.to_thread.run_sync(self._read, follower.after)
            if events:
                follower.after = events[-1].seq
                await _send(send, self._fanout.words(events))
            elif ended:
                await _send(send, encode("end", {}).encode())
                return
            if not ended and len(events) < PAGE:
                while not await _wait_for_news(heartbeat_s, follower):
                    await _send(send, HEARTBEAT.encode())

    def _read(self, after: int) -> tuple[bool, Sequence[JobEvent]]:
        return self._followed.ended(), self._followed.read(after, PAGE)


async def _wait_for_news(heartbeat_s: float | None, follower: Follower) -> bool:
    """Have a follower handed what is new; False where so much time has passed."""
    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(follower.receive_new(), heartbeat_s)
        return True
    return False


async def _send(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _left(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _no_room(_: bytes) -> bool:
    """In place of a connection that cannot be written to at once."""
    return False
