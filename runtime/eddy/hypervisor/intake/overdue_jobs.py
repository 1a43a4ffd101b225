"""Jobs that have waited too long by the wall clock: board time may stand still, or go on slowly, while people wait."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping

from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.job import Job

OVERDUE_S = 60.0
"""Wall seconds without a slot after which a job goes before all others of its tenant, whatever their priorities. One
of a tenant's jobs at a time does, the oldest first: where all of them wait so long, the policy still ranks the rest."""


class OverdueJobs:
    """Says which jobs have waited too long.

    Args:
        wall_s: A clock that only goes forward.
    """

    def __init__(self, wall_s: Callable[[], float] = time.monotonic) -> None:
        self._wall_s = wall_s
        self._watched: deque[tuple[float, int]] = deque()
        """When to look at a job, and which: in order, as all wait equally long."""

    def clear(self) -> None:
        """Forget all: store and board are recovered."""
        self._watched.clear()

    def watch(self, job: int) -> None:
        """A job can be given slots from now on."""
        self._watched.append((self._wall_s() + OVERDUE_S, job))

    def take_overdue(self, jobs: Mapping[int, Job]) -> list[m.Input]:
        """What the machine is told of jobs that have waited too long; who has a slot is looked at again later.

        Args:
            jobs: Those that have not ended.
        """
        found: list[m.Input] = []
        while self._watched and self._watched[0][0] <= self._wall_s():
            _, number = self._watched.popleft()
            job = jobs.get(number)
            if job is None or job.spec.spread is not None:
                continue
            if job.slots:
                self.watch(number)
            else:
                found.append(m.Overdue(number))
        return found
