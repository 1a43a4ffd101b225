"""The end of the log of events, read once for all who follow it, however many they are."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

import anyio.to_thread

from eddy.core.records import JobEvent

MOST = 4096
"""Events that are kept; who is further behind reads the log for himself."""
READ = 500
"""Events that are read at once."""


class RecentEvents:
    """For one event loop.

    Args:
        read: Events of everyone after a sequence number, so many at most; it may wait for the disk.
        version: Grows whenever followers are told that something happened.
    """

    def __init__(self, read: Callable[[int, int], Sequence[JobEvent]], version: Callable[[], int]) -> None:
        self._read, self._version = read, version
        self._events: deque[JobEvent] = deque(maxlen=MOST)
        self._since: int | None = None
        """All events after this one are kept, up to the last that was read."""
        self._known = -1
        self._reading: asyncio.Task[None] | None = None

    async def after(self, seq: int) -> list[JobEvent] | None:
        """Events after a sequence number, as of now; None where they go further back than what is kept."""
        while self._known != self._version():
            if self._reading is None:
                self._reading = asyncio.create_task(self._catch_up(seq))
            await asyncio.shield(self._reading)
        if self._since is None or seq < self._since:
            return None
        found = []
        for event in reversed(self._events):
            if event.seq <= seq:
                break
            found.append(event)
        return found[::-1]

    async def _catch_up(self, seq: int) -> None:
        try:
            version = self._version()
            if self._since is None:
                self._since = seq
            last = self._events[-1].seq if self._events else self._since
            while True:
                events = await anyio.to_thread.run_sync(self._read, last, READ)
                for event in events:
                    if len(self._events) == MOST:
                        self._since = self._events[0].seq
                    self._events.append(event)
                    last = event.seq
                if len(events) < READ:
                    break
            self._known = version
        finally:
            self._reading = None
