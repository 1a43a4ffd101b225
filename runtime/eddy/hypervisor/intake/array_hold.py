# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Arrays of which so many jobs may be ready or run at once, and no more (`max_running`).

The others wait outside the machine, in the order in which they became ready. When one of the array ends, however, the
next one is let in; its arrival is that moment, as of a job that waited for others.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import MutableMapping

from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.job_spec import JobSpec
from eddy.store.db.numbers import Numbers

SAID = "waiting for its turn"
"""What is said of a job that waits begins so."""


class ArrayHold:
    """Jobs that are held back for others of their array.

    Args:
        doing: Where it is said what a job waits for, by job.

    Attributes:
        ready: Arrivals of jobs that wait no longer.
        released: Arrivals of jobs that are to end.
    """

    def __init__(self, numbers: Numbers, doing: MutableMapping[int, str]) -> None:
        self._numbers, self._doing = numbers, doing
        self._in: dict[int, set[int]] = {}
        """By array: those of its jobs that were let in and have not ended."""
        self._waiting: dict[int, dict[int, m.Arrive]] = {}
        """By array: those that wait, in order."""
        self._array_of: dict[int, int] = {}
        self.ready: deque[m.Arrive] = deque()
        self.released: deque[m.Arrive] = deque()

    def clear(self) -> None:
        """Forget everything: store and board are recovered."""
        for job in self._array_of:
            self._doing.pop(job, None)
        for known in (self._in, self._waiting, self._array_of, self.ready, self.released):
            known.clear()

    def resume(self, job: JobSpec) -> None:
        """A job was recovered into the machine."""
        if job.asked.array is not None and job.asked.max_running is not None:
            self._let_in(job.id, job.asked.array.id)

    def hold_job(self, arrival: m.Arrive) -> bool:
        """Keep a job that is ready, where as many of its array are in as may be; answers whether."""
        job, array, most = arrival.job, arrival.job.asked.array, arrival.job.asked.max_running
        if array is None or most is None:
            return False
        inside = self._in.get(array.id, set())
        if job.id in inside or len(inside) < most:
            self._let_in(job.id, array.id)
            return False
        self._waiting.setdefault(array.id, {})[job.id] = arrival
        self._array_of[job.id] = array.id
        of = self._numbers.job.public_id(array.id)
        self._doing[job.id] = f"{SAID}: at most {most} job{'' if most == 1 else 's'} of array {of} at once"
        return True

    def release_next(self, job: int, now_s: float) -> None:
        """A job has ended: the next one of its array is let in."""
        array = self._array_of.pop(job, None)
        if array is None or job not in self._in.get(array, ()):
            return
        self._in[array].discard(job)
        waiting = self._waiting.get(array)
        if waiting:
            following, arrival = next(iter(waiting.items()))
            self._leave(following, array)
            self._let_in(following, array)
            self.ready.append(dataclasses.replace(arrival, ready_s=max(now_s, arrival.job.arrival_s)))
        elif not self._in[array]:
            del self._in[array]

    def release(self, job: int, now_s: float) -> None:
        """Let a job go that is to end; nothing where it does not wait."""
        array = self._array_of.get(job)
        if array is not None and job in self._waiting.get(array, ()):
            arrival = self._leave(job, array)
            self.released.append(dataclasses.replace(arrival, ready_s=max(now_s, arrival.job.arrival_s)))

    @property
    def pending(self) -> bool:
        """Whether there is something in `ready` or `released`."""
        return bool(self.ready or self.released)

    def _let_in(self, job: int, array: int) -> None:
        self._in.setdefault(array, set()).add(job)
        self._array_of[job] = array

    def _leave(self, job: int, array: int) -> m.Arrive:
        arrival = self._waiting[array].pop(job)
        if not self._waiting[array]:
            del self._waiting[array]
        del self._array_of[job]
        self._doing.pop(job, None)
        return arrival
