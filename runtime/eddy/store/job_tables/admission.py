# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whether a tenant may have one more job, and whether what it is to wait for is there."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from eddy.core.errors import InvalidRequest, QuotaExceeded
from eddy.core.records import JobRequest
from eddy.core.submission_options import Condition, Predecessor
from eddy.core.tenants import Quota
from eddy.store.account_tables.usage import Usage
from eddy.store.db.numbers import Numbers
from eddy.store.job_tables.jobs import JobTable


class AdmissionChecks:
    """What is checked of every job before it is kept, whatever its kind.

    Args:
        numbers: How jobs are told.
        jobs: All jobs.
        quota: A tenant's bounds.
        usage: What tenants used today.
        leased_s: Slot-seconds that a tenant's leases have left.
    """

    def __init__(
        self,
        numbers: Numbers,
        jobs: JobTable,
        quota: Callable[[str], Quota],
        usage: Usage,
        leased_s: Callable[[str], float],
    ) -> None:
        self._numbers, self._jobs, self._quota, self._usage = numbers, jobs, quota, usage
        self._leased_s = leased_s

    def check(self, request: JobRequest, more: int, more_s: float = 0.0) -> tuple[Predecessor, ...]:
        """Check a request that comes after others of its tenant that are kept with it.

        Args:
            request: It.
            more: How many others.
            more_s: Slot-seconds expected of them.

        Returns:
            What it waits for.

        Raises:
            InvalidRequest: A job or array it is to wait for is not there.
            QuotaExceeded: The tenant may not have so many jobs.
        """
        self.check_quota(request.tenant, more, more_s)
        return self.predecessors(request)

    def check_quota(self, tenant: str, more: int, more_s: float = 0.0) -> None:
        """Check that a tenant may have one job more than so many that are added with it, of which so many slot-seconds
        are expected.

        Raises:
            QuotaExceeded: It may not.
        """
        quota = self._quota(tenant)
        limit, used = quota.max_jobs, self._jobs.tally.count_tenant(tenant) + more
        if used >= limit:
            raise QuotaExceeded(
                f"tenant {tenant} has {used} jobs that have not ended and may have {limit}: wait, or cancel one",
                limit=limit,
                asked=used + 1,
            )
        self.check_budget(tenant, more_s)

    def check_budget(self, tenant: str, more_s: float) -> None:
        """Check that what a tenant used today, and what is expected of its jobs under way and of others that are added
        with one more, leaves something of its budget.

        Raises:
            QuotaExceeded: It leaves nothing.
        """
        self._usage.check(tenant, self._quota(tenant), lambda: self._expected_s(tenant) + more_s)

    def check_lease(self, tenant: str, more_s: float) -> None:
        """Check that what a tenant used today, and what its jobs and leases are expected to use, leave room in its
        budget for a lease of that many slot-seconds, or for one that lasts so much longer.

        Raises:
            QuotaExceeded: They do not.
        """
        self._usage.check_lease(tenant, self._quota(tenant), more_s, lambda: self._expected_s(tenant))

    def _expected_s(self, tenant: str) -> float:
        return self._jobs.tally.expected_s(tenant) + self._leased_s(tenant)

    def predecessors(self, request: JobRequest) -> tuple[Predecessor, ...]:
        """What a job of its own waits for, jobs told from arrays. All of it is there, so there are no circles.

        Raises:
            InvalidRequest: Something of it is not there, or only the jobs of an array can wait for it.
        """
        shared, corresponding = self._resolved(request)
        if corresponding:
            message = "aftercorr[0]: only a job of an array has a place; name the jobs themselves in after."
            raise InvalidRequest(message, field="aftercorr[0]", allowed="leave it out")
        return shared

    def predecessors_of_each(self, request: JobRequest, size: int) -> list[tuple[Predecessor, ...]]:
        """What each job of an array of that size waits for.

        Args:
            request: Of any of them: they share this.
            size: Jobs of the array.

        Raises:
            InvalidRequest: Something of it is not there, or an array that is named in `aftercorr` has another size.
        """
        shared, corresponding = self._resolved(request)
        columns = []
        for place, array in enumerate(corresponding):
            elements = self._jobs.elements(request.tenant, array)
            if len(elements) != size:
                told = self._numbers.job.public_id(array)
                message = (
                    f"aftercorr[{place}]: array {told} has {len(elements)} jobs and this one has {size}: place by place"
                    " they must be as many; name it in after to wait for all of it"
                )
                raise InvalidRequest(message, field=f"aftercorr[{place}]", asked=told, allowed=f"arrays of {size} jobs")
            columns.append([Predecessor(job) for job in elements])
        return [tuple(dict.fromkeys((*shared, *row))) for row in zip(*columns, strict=True)] or [shared] * size

    def _resolved(self, request: JobRequest) -> tuple[tuple[Predecessor, ...], list[int]]:
        """What a request names, jobs told from arrays; and the arrays whose jobs are waited for place by place."""
        if not request.asked.after:
            return (), []
        ids = list(dict.fromkeys(each.id for each in request.asked.after))
        jobs, arrays = self._jobs.existing_ids(request.tenant, ids)
        found: list[Predecessor] = []
        for field in Condition:
            for place, each in enumerate(_named(request.asked.after, field)):
                is_array = each.id in arrays
                if not is_array and (field is Condition.ELEMENT or each.id not in jobs):
                    raise self._missing(field, place, each.id)
                found.append(dataclasses.replace(each, array=is_array))
        shared = [each for each in found if each.wanted is not Condition.ELEMENT]
        return tuple(shared), [each.id for each in found if each.wanted is Condition.ELEMENT]

    def _missing(self, field: Condition, place: int, number: int) -> InvalidRequest:
        told, name = self._numbers.job.public_id(number), f"{field.value}[{place}]"
        what = "array" if field is Condition.ELEMENT else "job or array"
        message = f"{name}: you have no {what} {told}, or it was removed after its end; name {_NAME[field]}"
        return InvalidRequest(message, field=name, asked=told)


_NAME = {
    Condition.SUCCESS: "jobs or arrays of yours that must succeed first",
    Condition.END: "jobs or arrays of yours that must end first",
    Condition.FAILURE: "jobs or arrays of yours that must fail or be cancelled first",
    Condition.ELEMENT: "arrays of yours whose jobs must succeed first, place by place",
}


def _named(after: Iterable[Predecessor], field: Condition) -> Sequence[Predecessor]:
    return [each for each in after if each.wanted is field]
