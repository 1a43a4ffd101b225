"""What a head makes of submissions: requests as the pool keeps them, checked against what the tenant has and may."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from eddy.api.kinds import VIEWS
from eddy.api.submissions import JobSubmission
from eddy.core.errors import InvalidRequest, NotFound, QuotaExceeded
from eddy.pool.head_parts import HeadParts
from eddy.pool.records import PoolJob
from eddy.pool.table import AT_ONCE
from eddy.pool.tenants import PoolTenant

Requests = Sequence[dict[str, Any]]


async def visible(parts: HeadParts, caller: PoolTenant, number: int) -> PoolJob:
    """The job that was told as a number, which the caller may see.

    Raises:
        NotFound: There is none.
    """
    with contextlib.suppress(NotFound):
        job = await parts.table.job(parts.numbers.job.meant(number))
        if job.tenant == caller.id or caller.admin:
            if not parts.lead.mirror.arrays.accepted(job) and job.array is not None:
                await parts.table.job(job.array.id)  # the whole array is there once its first job is
            return job
    raise NotFound(f"There is no job {number}.", field="job", asked=number)


async def requests_of(parts: HeadParts, caller: PoolTenant, jobs: Sequence[JobSubmission]) -> Requests:
    """Submissions as boards take them; they differ in nothing but inputs, labels and a kernel's arguments.

    Raises:
        InvalidRequest: One asks for what a job cannot have, or for what the tenant has not.
        NotFound: There is no such application.
    """
    shared = jobs[0]
    shared.check_kind(VIEWS)
    if shared.application is not None:
        parts.catalogue.application(shared.application)
    after = [await _own(parts, caller, number) for number in dict.fromkeys(shared.after)]
    found = []
    for job in jobs:
        request = job.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        if after:
            request["after"] = after
        found.append(request | {"priority": job.priority, "batch": job.batch})
    await _have(parts, caller, {sha for each in found for sha in PoolJob(0, caller.id, each, 0.0).blobs})
    return found


async def _own(parts: HeadParts, caller: PoolTenant, number: int) -> int:
    """What a caller's job that was told as a number is called inside.

    Raises:
        InvalidRequest: It has none such.
    """
    with contextlib.suppress(NotFound):
        job = await visible(parts, caller, number)
        if job.tenant == caller.id:
            return job.id
    raise InvalidRequest(f"after: you have no job {number}.", field="after", asked=number)


async def _have(parts: HeadParts, caller: PoolTenant, blobs: Iterable[str]) -> None:
    """See that a tenant has stored blobs.

    Raises:
        InvalidRequest: One is missing.
    """
    turns = asyncio.Semaphore(AT_ONCE)

    async def check(sha: str) -> None:
        async with turns:
            if await parts.blobs.size(caller.id, sha) is None:
                raise InvalidRequest("A blob is missing; upload it first.", field="inputs", asked=sha)

    await asyncio.gather(*map(check, blobs))


async def admitted(
    parts: HeadParts, caller: PoolTenant, requests: Requests, key: str, submit: Callable[[], Awaitable[PoolJob]]
) -> PoolJob:
    """Submit within the tenant's bounds; they refuse nothing that was accepted before under the same key.

    Raises:
        InvalidRequest: The tenant may not ask for this priority.
        QuotaExceeded: It would have more jobs than it may.
        Conflict: The key was used for another request.
    """
    tenant = await parts.tenants.get(caller.id)
    try:
        async with parts.bounds.within(tenant, int(requests[0]["priority"]), len(requests)):
            return await submit()
    except (InvalidRequest, QuotaExceeded):
        if not (key and await parts.table.known(caller.id, key)):
            raise
        return await submit()
