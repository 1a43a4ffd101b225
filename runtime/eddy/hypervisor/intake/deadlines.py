# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs that are to end when their deadline has passed (`late`: `end`)."""

from __future__ import annotations

import heapq

from eddy.hypervisor.jobs.job_spec import JobSpec

CAUSE = "deadline-passed"
"""Why a job failed that was late and not to go on then."""


class Deadlines:
    """Deadlines at which jobs end, the next one first."""

    def __init__(self) -> None:
        self._watched: set[int] = set()
        self._line: list[tuple[float, int]] = []
        """A heap; of jobs that are watched no more there are never more than of those that are."""

    def clear(self) -> None:
        """Forget all: store and board are recovered."""
        self._watched.clear()
        self._line.clear()

    def watch(self, job: JobSpec) -> None:
        """Take note of a job that has arrived."""
        if job.deadline_s is not None and job.asked.ends_late and job.id not in self._watched:
            self._watched.add(job.id)
            heapq.heappush(self._line, (job.deadline_s, job.id))

    def forget(self, job: int) -> None:
        """A job has ended."""
        if job not in self._watched:
            return
        self._watched.remove(job)
        if len(self._line) > 2 * len(self._watched):
            self._line = [each for each in self._line if each[1] in self._watched]
            heapq.heapify(self._line)
        while self._line and self._line[0][1] not in self._watched:
            heapq.heappop(self._line)

    @property
    def next_s(self) -> float:
        """Board time of the next one; infinity where there is none."""
        return self._line[0][0] if self._line else float("inf")

    def take_due(self, now_s: float) -> list[tuple[int, float]]:
        """Jobs whose deadline has passed, with the deadline; each once."""
        found = list[tuple[int, float]]()
        while self._line and self._line[0][0] <= now_s:
            deadline_s, job = self._line[0]
            self.forget(job)
            found.append((job, deadline_s))
        return found
