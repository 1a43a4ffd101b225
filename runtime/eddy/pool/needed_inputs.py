"""Blobs that jobs need which have not ended: they are not taken away."""

from __future__ import annotations

from collections import Counter

from eddy.pool.records import PoolJob


class NeededInputs:
    """Counts jobs that have not ended by the blobs they name, as records change."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[str, tuple[str, ...]]] = {}
        self._jobs: Counter[tuple[str, str]] = Counter()

    def take(self, job: PoolJob) -> None:
        """A job is new, or changed."""
        if not job.ended and job.id not in self._of:
            self._of[job.id] = job.tenant, job.blobs
            self._jobs.update((job.tenant, sha) for sha in job.blobs)
        elif job.ended:
            self.gone(job.id)

    def gone(self, number: int) -> None:
        """A job needs nothing any more."""
        if (known := self._of.pop(number, None)) is not None:
            for sha in known[1]:
                self._jobs[known[0], sha] -= 1
                if not self._jobs[known[0], sha]:
                    del self._jobs[known[0], sha]

    def needs(self, tenant: str, sha256: str) -> bool:
        """Whether a job of a tenant's that has not ended names a blob."""
        return (tenant, sha256) in self._jobs
