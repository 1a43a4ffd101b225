"""Jobs that are ended though no board says so: those that are too late, and those that come after one that failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy.hypervisor.intake.deadlines import CAUSE as DEADLINE_PASSED
from eddy.hypervisor.intake.dependencies import CAUSE as DEPENDENCY_FAILED
from eddy.hypervisor.intake.dependencies import NEVER as DEPENDENCY_NEVER
from eddy.pool.records import PoolJob


def late_from_s(job: PoolJob, deadline_s: float) -> float:
    """Wall time after which a job with this deadline is late, seconds since 1970."""
    return job.submitted_unix_s + deadline_s


def is_late(job: PoolJob, now_unix_s: float) -> bool:
    """Whether a job is to be ended because its deadline has passed."""
    return job.late_end and job.deadline_s is not None and now_unix_s > late_from_s(job, job.deadline_s)


def too_late(job: PoolJob) -> Mapping[str, Any]:
    """The error of one that is."""
    return _error(DEADLINE_PASSED, f"Its deadline of {job.deadline_s:g} s has passed.")


def dependency_failed() -> Mapping[str, Any]:
    """The error of a job that wants the success of one that did not succeed."""
    return _error(DEPENDENCY_FAILED, "A job that it comes after did not succeed.")


def never_needed() -> Mapping[str, Any]:
    """The error of a job that wants the failure of one that succeeded; it ends as cancelled."""
    message = "What was to fail first succeeded."
    return {**_error(DEPENDENCY_NEVER, message), "code": "job-cancelled"}


def _error(cause: str, message: str) -> Mapping[str, Any]:
    return {"code": "job-failed", "cause": cause, "message": message}
