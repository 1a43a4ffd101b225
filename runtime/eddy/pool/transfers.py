"""How often a head tells a job's followers of its inputs: as often as a board may have to fetch them."""

from __future__ import annotations

from eddy.pool.records import PoolJob

KEPT = 10_000
"""Jobs of which it is kept."""
AGAIN = 2
"""Times that a transfer may be told of: an answer that was lost is asked for again."""


class Transfers:
    """Transfers that one head told of. What is told stays for a week, and a board may say what it likes."""

    def __init__(self) -> None:
        self._told: dict[int, tuple[int, int]] = {}

    def told(self, job: PoolJob) -> bool:
        """Count a transfer of a job; false where there were more than its inputs under this placement."""
        token, number = self._told.pop(job.id, (job.token, 0))
        number = 1 if token != job.token else number + 1
        self._told[job.id] = job.token, number
        if len(self._told) > KEPT:
            del self._told[next(iter(self._told))]
        return number <= AGAIN * len(job.blobs)
