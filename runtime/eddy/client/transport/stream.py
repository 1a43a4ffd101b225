# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Server-sent events: parsing, and following a stream across broken connections, in a thread or an event loop."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from eddy.client.transport.async_transport import AsyncTransport
from eddy.client.transport.exchange import Exchange
from eddy.client.transport.transport import Transport
from eddy.core.errors import UnknownCursor

RESTARTED = "restarted"
"""Kind of an event that says that the server does not know the last one any more: it was restored from a backup, say,
or has removed what was old. What followed from earlier events may not be so any more, and some were missed: look at the
jobs as they are now. Of one job, all its events follow; of all jobs, those from now on."""
_READ_TIMEOUT_S = 60.0
"""Longer than the server's heartbeat: a stream silent for this long is dead."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a job.

    Attributes:
        id: What `Last-Event-ID` takes; it names the event, and says nothing of the order. -1 for none.
        kind: What happened. `RESTARTED` comes from the client itself.
        data: The rest of it.
    """

    id: int
    kind: str
    data: dict[str, Any] = field(default_factory=dict)


class Parser:
    """The lines of a `text/event-stream`, one by one; comments (heartbeats) are dropped."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def line(self, line: str) -> Event | None:
        """Take a line; answers the event it ends, None for none."""
        if line == "":
            fields, self._fields = self._fields, {}
            if "data" not in fields:
                return None
            return Event(int(fields.get("id", "-1")), fields.get("event", "message"), json.loads(fields["data"]))
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name:
            before = self._fields.get(name)
            self._fields[name] = f"{before}\n{value}" if name == "data" and before is not None else value
        return None


def parse(lines: Iterable[str]) -> Iterator[Event]:
    """Events from the lines of a `text/event-stream`."""
    parser = Parser()
    for line in lines:
        if (event := parser.line(line)) is not None:
            yield event


class StreamFollower:
    """How far a stream was followed, and what is done where its connection breaks; opens nothing itself.

    The server ends the stream of a job with an event of kind ``end``, which is not handed on.

    Args:
        exchange: Of the server; says how often a broken stream is opened again.
        after: Id of the last event that is known; -1 for none.
    """

    def __init__(self, exchange: Exchange, after: int) -> None:
        self.ended = False
        self._exchange, self._after, self._failures = exchange, after, 0
        self._parser, self._received = Parser(), False

    def headers(self) -> dict[str, str]:
        """What the stream is asked for with; what came of an event before the connection broke is forgotten."""
        self._parser = Parser()
        return {"Accept": "text/event-stream"} | ({"Last-Event-ID": str(self._after)} if self._after >= 0 else {})

    def check_response(self, answer: httpx.Response) -> Event | None:
        """Look at how it was answered; the body of a refusal has been read. Answers an event to hand on, where the
        stream is to be asked for again without the last one.

        Raises:
            EddyError: The server refused it.
        """
        if answer.status_code >= 400:
            problem = self._exchange.problem(answer)
            if not (isinstance(problem, UnknownCursor) and self._received):
                raise problem
            self._after = -1
            return Event(-1, RESTARTED, {"detail": problem.message})
        self.ended = answer.status_code == 204  # it has ended, and every event of it is known
        return None

    def line(self, line: str) -> Event | None:
        """Take a line; answers the event to hand on, if it ends one."""
        event = self._parser.line(line)
        if event is None:
            return None
        self._failures = 0
        if event.kind == "end":
            self.ended = True
            return None
        if event.id >= 0:
            self._after, self._received = event.id, True
        return event

    def reconnect_delay_s(self, failure: Exception | None) -> float:
        """The connection broke; answers the wall seconds to wait before it is opened again.

        Raises:
            ServerUnreachable: That was too often without an event between.
        """
        cut = failure or httpx.RemoteProtocolError("the stream ended without its last event")
        self._failures += 1
        if self._failures > self._exchange.retries:
            raise self._exchange.unreachable(cut) from cut
        self._exchange.use_next_address()
        return self._exchange.pause_s(self._failures)


def follow(transport: Transport, path: str, after: int = -1) -> Iterator[Event]:
    """Every event after `after`, reconnecting where the connection breaks, until the server ends the stream.

    Where the server does not know the last event any more, one of kind `RESTARTED` comes, and the stream begins again.

    Raises:
        UnknownCursor: It does not know `after`.
        EddyError: The server refused it.
        ServerUnreachable: Nothing answers any more.
    """
    following = StreamFollower(transport, after)
    while True:
        cut: Exception | None = None
        try:
            with transport.stream(path, following.headers(), _READ_TIMEOUT_S) as answer:
                if answer.status_code >= 400:
                    answer.read()
                if (restarted := following.check_response(answer)) is not None:
                    yield restarted
                    continue
                for line in answer.iter_lines():
                    event = following.line(line)
                    if following.ended:
                        break
                    if event is not None:
                        yield event
        except httpx.TransportError as failure:
            cut = failure
        if following.ended:
            return
        transport.pause(following.reconnect_delay_s(cut))


async def follow_awaiting(transport: AsyncTransport, path: str, after: int = -1) -> AsyncIterator[Event]:
    """`follow` for event loops."""
    following = StreamFollower(transport, after)
    while True:
        cut: Exception | None = None
        try:
            async with transport.stream(path, following.headers(), _READ_TIMEOUT_S) as answer:
                if answer.status_code >= 400:
                    await answer.aread()
                if (restarted := following.check_response(answer)) is not None:
                    yield restarted
                    continue
                async for line in answer.aiter_lines():
                    event = following.line(line)
                    if following.ended:
                        break
                    if event is not None:
                        yield event
        except httpx.TransportError as failure:
            cut = failure
        if following.ended:
            return
        await transport.pause(following.reconnect_delay_s(cut))
