"""Bounds of tenants over the whole pool, checked where a job is submitted."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping

from eddy.core.errors import InvalidRequest, QuotaExceeded
from eddy.core.jobs import PRIORITIES
from eddy.pool.records import PoolJob
from eddy.pool.tenants import PoolTenant


class Bounds:
    """One head's checks. It counts the jobs it has heard of and those it is about to accept; of two heads each may
    accept what the other has not heard of yet.

    Args:
        jobs: Those that have not ended, as this head knows them.
    """

    def __init__(self, jobs: Mapping[int, PoolJob]) -> None:
        self._jobs = jobs
        self._accepting: Counter[str] = Counter()

    @contextlib.contextmanager
    def within(self, tenant: PoolTenant, priority: int, jobs: int = 1) -> Iterator[None]:
        """Accept jobs inside the block.

        Raises:
            InvalidRequest: The tenant may not ask for this priority.
            QuotaExceeded: It would have more jobs than it may.
        """
        if priority > tenant.max_priority:
            message = f"Your jobs have a priority of at most {tenant.max_priority}."
            allowed = [each for each in PRIORITIES if each <= tenant.max_priority]
            raise InvalidRequest(message, field="priority", asked=priority, allowed=allowed)
        if tenant.max_jobs is not None:
            has = sum(job.tenant == tenant.id for job in self._jobs.values()) + self._accepting[tenant.id]
            if has + jobs > tenant.max_jobs:
                message = f"You have {has} jobs that have not ended, over all boards; the bound is {tenant.max_jobs}."
                raise QuotaExceeded(message, limit=tenant.max_jobs, asked=has + jobs)
        self._accepting[tenant.id] += jobs
        try:
            yield
        finally:
            self._accepting[tenant.id] -= jobs
