"""Whether a tenant may have one more job, and whether what it is to wait for is there."""

from __future__ import annotations

from collections.abc import Callable

from eddy.core.errors import InvalidRequest, QuotaExceeded
from eddy.core.records import JobRequest
from eddy.core.tenants import Quota
from eddy.store.jobs import JobTable
from eddy.store.numbers import Numbers
from eddy.store.usage import Usage


class AdmissionChecks:
    """What is checked of every job before it is kept, whatever its kind.

    Args:
        numbers: How jobs are told.
        jobs: All jobs.
        quota: A tenant's bounds.
        usage: What tenants used today.
    """

    def __init__(self, numbers: Numbers, jobs: JobTable, quota: Callable[[str], Quota], usage: Usage) -> None:
        self._numbers, self._jobs, self._quota, self._usage = numbers, jobs, quota, usage

    def check(self, request: JobRequest, more: int) -> None:
        """Check a request that comes after so many others of its tenant that are kept with it.

        Raises:
            InvalidRequest: A job it is to wait for is not there.
            QuotaExceeded: The tenant may not have so many jobs.
        """
        self.check_quota(request.tenant, more)
        self.check_after(request)

    def check_quota(self, tenant: str, more: int) -> None:
        """Check that a tenant may have one job more than so many that are added with it.

        Raises:
            QuotaExceeded: It may not.
        """
        quota = self._quota(tenant)
        limit, used = quota.max_jobs, self._jobs.tally.of(tenant) + more
        if used >= limit:
            raise QuotaExceeded(
                f"tenant {tenant} has {used} jobs that have not ended and may have {limit}: wait, or cancel one",
                limit=limit,
                asked=used + 1,
            )
        self._usage.check(tenant, quota)

    def check_after(self, request: JobRequest) -> None:
        """Check that the jobs it is to wait for are there; so there are no circles."""
        gone = self._jobs.missing(request.tenant, request.asked.after) if request.asked.after else []
        if gone:
            place = request.asked.after.index(gone[0])
            told = self._numbers.job.told(gone[0])
            raise InvalidRequest(
                f"after[{place}]: you have no job {told}; name jobs of yours that must succeed first",
                field=f"after[{place}]",
                asked=told,
            )
