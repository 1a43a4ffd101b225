"""Jobs that are to end when their deadline has passed (`late`: `end`)."""

from __future__ import annotations

import heapq

from eddy.hypervisor.job_spec import JobSpec

CAUSE = "deadline-passed"
"""Why a job failed that was late and not to go on then."""


class Deadlines:
    """Deadlines at which jobs end, the next one first. A job that has ended before stands here until its deadline."""

    def __init__(self) -> None:
        self._line: list[tuple[float, int]] = []

    def clear(self) -> None:
        """Forget all: store and board are recovered."""
        self._line.clear()

    def watch(self, job: JobSpec) -> None:
        """Take note of a job that has arrived."""
        if job.deadline_s is not None and job.asked.ends_late:
            heapq.heappush(self._line, (job.deadline_s, job.id))

    @property
    def next_s(self) -> float:
        """Board time of the next one; infinity where there is none."""
        return self._line[0][0] if self._line else float("inf")

    def due(self, now_s: float) -> list[tuple[int, float]]:
        """Jobs whose deadline has passed, with the deadline; each once."""
        found = list[tuple[int, float]]()
        while self._line and self._line[0][0] <= now_s:
            deadline_s, job = heapq.heappop(self._line)
            found.append((job, deadline_s))
        return found
