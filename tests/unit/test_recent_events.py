"""Followers share one reading of the log, and each gets what came after what it has."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from eddy.core.records import JobEvent, JobEventKind
from eddy.hypervisor import recent
from eddy.hypervisor.recent import RecentEvents


class Log:
    """A log of events, and how often it was read."""

    def __init__(self) -> None:
        self.events: list[JobEvent] = []
        self.version = self.read_count = 0

    def add(self, count: int) -> None:
        for _ in range(count):
            self.events.append(JobEvent(len(self.events) + 1, 1, "ada", 0.0, JobEventKind.SUBMITTED))
        self.version += 1

    def read(self, after: int, limit: int) -> Sequence[JobEvent]:
        self.read_count += 1
        return self.events[after : after + limit]


def test_a_hundred_followers_read_the_log_once() -> None:
    async def main() -> None:
        log = Log()
        log.add(3)
        shared = RecentEvents(log.read, lambda: log.version)
        await shared.after(3)
        log.read_count = 0
        log.add(2)
        found = await asyncio.gather(*(shared.after(3 + number % 2) for number in range(100)))
        assert log.read_count == 1
        for number, events in enumerate(found):
            assert events is not None
            assert [event.seq for event in events] == [4, 5][number % 2 :]

    asyncio.run(main())


def test_who_is_further_behind_than_what_is_kept_reads_for_himself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "MOST", 10)
    monkeypatch.setattr(recent, "READ", 4)

    async def main() -> None:
        log = Log()
        log.add(1)
        shared = RecentEvents(log.read, lambda: log.version)
        await shared.after(1)
        log.add(30)
        assert await shared.after(1) is None
        late = await shared.after(28)
        assert late is not None
        assert [event.seq for event in late] == [29, 30, 31]
        assert await shared.after(31) == []

    asyncio.run(main())
