"""Jobs that wait for others, and jobs that are too late: what the leading head ends, and what it may place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from eddy.hypervisor.deadlines import CAUSE as DEADLINE_PASSED
from eddy.hypervisor.dependencies import CAUSE as DEPENDENCY_FAILED
from eddy.pool.records import QUEUED, PoolJob


@dataclass(frozen=True, slots=True)
class Standing:
    """What is to be done now.

    Attributes:
        ready: Jobs that may be placed.
        failing: Jobs to be ended, each with its error.
    """

    ready: tuple[PoolJob, ...]
    failing: tuple[tuple[PoolJob, Mapping[str, Any]], ...]


def standing(jobs: Iterable[PoolJob], failed: Collection[int], now_unix_s: float) -> Standing:
    """Sort jobs that have not ended.

    Args:
        jobs: All of them, by number.
        failed: Jobs that have ended without success.
        now_unix_s: Wall time.
    """
    jobs = tuple(jobs)
    unfinished = {job.id for job in jobs}
    ready, failing = [], []
    for job in jobs:
        lost = next((number for number in job.after if number in failed), None)
        if job.late_end and job.deadline_s is not None and now_unix_s > job.submitted_unix_s + job.deadline_s:
            failing.append((job, _error(DEADLINE_PASSED, f"Its deadline of {job.deadline_s:g} s has passed.")))
        elif job.state == QUEUED and lost is not None:
            failing.append((job, _error(DEPENDENCY_FAILED, "A job that it comes after did not succeed.")))
        elif job.state == QUEUED and unfinished.isdisjoint(job.after):
            ready.append(job)
    return Standing(tuple(ready), tuple(failing))


def _error(cause: str, message: str) -> Mapping[str, Any]:
    return {"code": "job-failed", "cause": cause, "message": message}
