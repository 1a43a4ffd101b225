# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who follows a job: woken when something happened to it, and by nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable

import anyio

ANY = 0
"""In place of a job: every one."""

Listener = Callable[[Collection[int] | None], None]
"""Told of the jobs to which something happened; None where it is not known to which."""


class JobSubscriptions:
    """What to wait for, by job; for one event loop."""

    def __init__(self) -> None:
        self._changed: dict[int, anyio.Event] = {}
        self._watched: Counter[int] = Counter()
        self._listeners: list[Listener] = []

    def next_change_of(self, job: int) -> anyio.Event:
        """What is set when something happens to a job from now on: take it before looking at the job."""
        return self._changed.setdefault(job, anyio.Event())

    def next(self) -> anyio.Event:
        """What is set when something happens to any job from now on."""
        return self.next_change_of(ANY)

    def listen(self, listener: Listener) -> None:
        """Have somebody called whenever something is told; what it is to be told soon, `watch` says."""
        self._listeners.append(listener)

    def watch(self, job: int) -> None:
        """A listener wants to know of this job (`ANY` for all) as soon as something happens."""
        self._watched[job] += 1

    def unwatch(self, job: int) -> None:
        """Take back one `watch`."""
        self._watched[job] -= 1
        if not self._watched[job]:
            del self._watched[job]

    def has_followers(self, jobs: Collection[int]) -> bool:
        """Whether somebody follows one of these jobs; from any thread."""
        waiting = (self._changed, self._watched)
        return bool(jobs) and any(ANY in known or any(job in known for job in jobs) for known in waiting)

    def publish(self, jobs: Iterable[int]) -> None:
        """Something happened to these jobs."""
        found = tuple(jobs)
        if found:
            self._wake((*found, ANY))
            for listener in self._listeners:
                listener(found)

    def publish_all(self) -> None:
        """Something may have happened to any."""
        self._wake(tuple(self._changed))
        for listener in self._listeners:
            listener(None)

    def _wake(self, jobs: Iterable[int]) -> None:
        for job in jobs:
            event = self._changed.pop(job, None)
            if event is not None:
                event.set()
