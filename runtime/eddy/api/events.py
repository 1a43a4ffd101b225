"""Server-sent events: a job's event log as a stream that survives proxies and broken connections."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from eddy.api.rendering import event_data
from eddy.core.records import JobEvent

HEARTBEAT = ": still here\n\n"
"""A comment line: proxies see traffic, clients see nothing."""


def encode(kind: str, data: dict[str, Any], number: int | None = None) -> str:
    """One event in `text/event-stream` form; `number` is what `Last-Event-ID` brings back."""
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {kind}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"


@functools.lru_cache(maxsize=256)
def encoded(event: JobEvent) -> str:
    """One entry of the log; the same for all who follow it."""
    return encode(event.what.value, event_data(event), event.seq)


async def server_sent(
    events: AsyncGenerator[JobEvent, None], heartbeat_s: float, ending: asyncio.Event
) -> AsyncIterator[str]:
    """The stream of a job's events: one each, a comment in every `heartbeat_s` of silence, and `end` at the end.

    Args:
        events: As `Hypervisor.follow` gives them; closed when the client goes away.
        heartbeat_s: Wall time.
        ending: Once set, the stream breaks off, for the client to come back with `Last-Event-ID`.
    """
    yield "retry: 1000\n\n"
    upcoming: asyncio.Task[JobEvent] | None = None
    over = asyncio.ensure_future(ending.wait())
    try:
        while not ending.is_set():
            if upcoming is None:
                upcoming = asyncio.ensure_future(_next(events))
            done, _ = await asyncio.wait({upcoming, over}, timeout=heartbeat_s, return_when=asyncio.FIRST_COMPLETED)
            if over in done:
                return
            if not done:
                yield HEARTBEAT
                continue
            try:
                event = upcoming.result()
            except StopAsyncIteration:
                break
            upcoming = None
            yield encoded(event)
        yield encode("end", {})
    finally:
        over.cancel()
        if upcoming is not None and not upcoming.done():
            upcoming.cancel()
            await asyncio.wait({upcoming})
        await events.aclose()


async def _next(events: AsyncIterator[JobEvent]) -> JobEvent:
    return await events.__anext__()
