# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What becomes of jobs, for whoever follows them: the events of one job or of all, and a job as soon as it is good."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from functools import partial

import anyio
import anyio.to_thread

from eddy.core.records import JobEvent, JobRecord
from eddy.hypervisor.engine.job_subscriptions import JobSubscriptions
from eddy.store import Store

LOOK_S = 1.0
"""Wall seconds between two looks whether the server ends."""
FEED = 500
"""Events of all jobs that are read at once."""


class JobEventReader:
    """Reads the log and the records of jobs again whenever something happened to them.

    Args:
        followers: Told when something happens.
        store: Has the log and the records.
    """

    def __init__(self, followers: JobSubscriptions, store: Store) -> None:
        self._followers, self._store = followers, store

    async def all_events(self, after: int) -> AsyncGenerator[JobEvent, None]:
        """Events of all jobs with a sequence number above `after`, and each as it happens; does not end."""
        while True:
            changed = self._followers.next()
            events = await anyio.to_thread.run_sync(self._store.events.list_events, None, None, after, FEED)
            for event in events:
                after = event.seq
                yield event
            if not events:
                await changed.wait()

    async def events(self, tenant: str, job: int, after: int = 0) -> AsyncGenerator[JobEvent, None]:
        """The events of a job with a sequence number above `after`, as they happen, until it has ended.

        Raises:
            NotFound: No such job of this tenant.
        """
        while True:
            changed = self._followers.next_change_of(job)
            final = (await anyio.to_thread.run_sync(self._store.jobs.get, tenant, job)).state.is_final
            events = await anyio.to_thread.run_sync(self._store.events.list_events, tenant, job, after)
            for event in events:
                after = event.seq
                yield event
            if final and not events:
                return
            if not final:
                await changed.wait()

    async def wait_until(
        self, tenant: str, job: int, good: Callable[[JobRecord], bool], timeout_s: float, ending: asyncio.Event
    ) -> JobRecord:
        """A job as it is once it is good, or when the time is over.

        Args:
            good: Whether it is what was waited for.
            timeout_s: Wall seconds.
            ending: Once set, nobody waits any longer.

        Raises:
            NotFound: No such job of this tenant.
        """
        until_s = time.monotonic() + timeout_s
        read = partial(self._store.jobs.get, tenant, job)
        record = await anyio.to_thread.run_sync(read)
        while not good(record) and not ending.is_set():
            changed = self._followers.next_change_of(job)  # before it is read: what happens in between is not missed
            record = await anyio.to_thread.run_sync(read)
            if good(record):
                break
            while not changed.is_set() and not ending.is_set():
                left_s = until_s - time.monotonic()
                if left_s <= 0:
                    return record
                with anyio.move_on_after(min(left_s, LOOK_S)):
                    await changed.wait()
        return record
