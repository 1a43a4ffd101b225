"""Server-sent events: parsing, and following a stream across broken connections."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from eddy.client.transport import Transport

_READ_TIMEOUT_S = 60.0
"""Longer than the server's heartbeat: a stream silent for this long is dead."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a job.

    Attributes:
        id: What `Last-Event-ID` takes; it names the event, and says nothing of the order. -1 for none.
        kind: What happened.
        data: The rest of it.
    """

    id: int
    kind: str
    data: dict[str, Any] = field(default_factory=dict)


def parse(lines: Iterable[str]) -> Iterator[Event]:
    """Events from the lines of a `text/event-stream`; comments (heartbeats) are dropped."""
    fields: dict[str, str] = {}
    for line in lines:
        if line == "":
            if "data" in fields:
                yield Event(int(fields.get("id", "-1")), fields.get("event", "message"), json.loads(fields["data"]))
            fields = {}
            continue
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name:
            fields[name] = f"{fields[name]}\n{value}" if name == "data" and name in fields else value


def follow(transport: Transport, path: str, after: int = -1) -> Iterator[Event]:
    """Every event after `after`, reconnecting where the connection breaks, until the server ends the stream.

    The server ends the stream of a job with an event of kind ``end``, which is not handed on.
    """
    failures = 0
    while True:
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": str(after)} if after >= 0 else {})
        cut: Exception = httpx.RemoteProtocolError("the stream ended without its last event")
        try:
            with transport.stream(path, headers, _READ_TIMEOUT_S) as answer:
                if answer.status_code == 204:  # it has ended, and every event of it is known
                    return
                if answer.status_code >= 400:
                    answer.read()
                    raise transport.problem(answer)
                for event in parse(answer.iter_lines()):
                    failures = 0
                    if event.kind == "end":
                        return
                    after = event.id if event.id >= 0 else after
                    yield event
        except httpx.TransportError as failure:
            cut = failure
        failures += 1
        if failures > transport.retries:
            raise transport.unreachable(cut) from cut
        transport.pause(transport.pause_s(failures))
