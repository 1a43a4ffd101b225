"""Who follows a job: woken when something happened to it, and by nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import anyio

ANY = 0
"""In place of a job: every one."""


class Followers:
    """What to wait for, by job; for one event loop."""

    def __init__(self) -> None:
        self._changed: dict[int, anyio.Event] = {}
        self.version = 0
        """Grows whenever something is told."""

    def next_of(self, job: int) -> anyio.Event:
        """What is set when something happens to a job from now on: take it before looking at the job."""
        return self._changed.setdefault(job, anyio.Event())

    def next(self) -> anyio.Event:
        """What is set when something happens to any job from now on."""
        return self.next_of(ANY)

    def any_of(self, jobs: Collection[int]) -> bool:
        """Whether somebody follows one of these jobs; from any thread."""
        return bool(jobs) and (ANY in self._changed or any(job in self._changed for job in jobs))

    def tell(self, jobs: Iterable[int]) -> None:
        """Something happened to these jobs."""
        found = tuple(jobs)
        self.version += bool(found)
        for job in (*found, ANY) if found else ():
            event = self._changed.pop(job, None)
            if event is not None:
                event.set()

    def tell_all(self) -> None:
        """Something may have happened to any."""
        self.version += 1
        self.tell(tuple(self._changed))
