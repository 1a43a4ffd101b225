"""Compiles kernels before their jobs are accepted: a few at a time, and one for each tenant."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from eddy.core.records import JobRequest
from eddy.hypervisor.intake.cancellable_work import run_abandonable
from eddy.hypervisor.intake.intake import Intake, name_array_job
from eddy.hypervisor.jobs.work import Work

AT_ONCE = 2
"""Kernels that are compiled at the same time; more submissions wait for their turn, the others do not."""


class Compilations:
    """The compilations of all tenants.

    Args:
        intake: Makes the work of a request, which compiles its kernel.
    """

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._all = anyio.CapacityLimiter(AT_ONCE)
        self._of: dict[str, anyio.CapacityLimiter] = {}
        """By tenant: each has one kernel compiled at a time, so that none keeps the others waiting."""

    async def prepare(self, request: JobRequest) -> Work:
        """Make the work of a request. Where this is cancelled, the compiler ends and its place is free.

        Raises:
            EddyError: As `Intake.prepare` raises it.
        """
        async with self._place(request):
            return await run_abandonable(self._intake.prepare, request, limiter=self._all)

    async def prepare_array(self, requests: Sequence[JobRequest]) -> list[Work]:
        """Make the work of the jobs of an array, one after the other; all are of one tenant.

        Raises:
            EddyError: As `Intake.prepare` raises it, with the place in the array of the job that is wrong.
        """
        works = []
        async with self._place(requests[0]):
            for place, request in enumerate(requests):
                with name_array_job(place):
                    works.append(await run_abandonable(self._intake.prepare, request, limiter=self._all))
        return works

    def _place(self, request: JobRequest) -> anyio.CapacityLimiter:
        return self._of.setdefault(request.tenant, anyio.CapacityLimiter(1))
