# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a head makes of submissions: requests as the pool keeps them, checked against what the tenant has and may."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from eddy.api.request_bodies.jobs import JobSubmission, admit
from eddy.api.request_bodies.kinds import VIEWS
from eddy.core.applications import Application, BufferRole, BufferSpec
from eddy.core.errors import InvalidRequest, NotFound, QuotaExceeded, StorageFull
from eddy.core.jobs import PRIORITIES
from eddy.core.records import JobRequest
from eddy.core.submission_options import Condition, Predecessor
from eddy.hypervisor.intake.intake import TenantMemory
from eddy.pool.jetstream.byte_accounts import quota_error
from eddy.pool.jetstream.jobs import AT_ONCE
from eddy.pool.jetstream.tenants import PoolTenant
from eddy.pool.records.records import PoolJob
from eddy.pool.routes.context import HeadParts
from eddy.pool.routes.waiting import check_boards

Requests = Sequence[dict[str, Any]]
_WAITS = frozenset(wanted.value for wanted in Condition)
"""Fields of a submission that say what it waits for."""
RECORD_BYTES = 1024
"""What a job's record has beside its submission, and its idempotency key's entry."""


async def visible_job(parts: HeadParts, caller: PoolTenant, number: int) -> PoolJob:
    """The job that was told as a number, which the caller may see.

    Raises:
        NotFound: There is none.
    """
    with contextlib.suppress(NotFound):
        job = await parts.table.job(parts.numbers.job.resolve_id(number))
        if job.tenant == caller.id or caller.admin:
            projection = parts.lead.mirror.projection
            if not projection.is_accepted(job):
                await parts.lead.mirror.wait_caught_up()  # the whole array is there once its first job is
            if projection.is_accepted(job):
                return job
    if await _array_of(parts, caller, number) is not None:
        message = f"There is no job {number}; it is an array: `eddy array show {number}` shows it."
        raise NotFound(message, field="job", asked=number)
    raise NotFound(f"There is no job {number}.", field="job", asked=number)


async def _array_of(parts: HeadParts, caller: PoolTenant, number: int) -> int | None:
    """What an array that was told as a number is called inside, where the caller may see it; None otherwise."""
    await parts.lead.mirror.wait_caught_up()
    array = parts.numbers.job.resolve_id(number)
    owner = parts.lead.mirror.projection.array_owner(array)
    return array if owner is not None and (owner == caller.id or caller.admin) else None


async def requests_of(
    parts: HeadParts,
    caller: PoolTenant,
    tenant: PoolTenant,
    jobs: Sequence[JobSubmission],
    key: str,
    of_array: bool = False,
    max_running: int | None = None,
) -> Requests:
    """Submissions as boards take them; they differ in nothing but inputs, labels and a kernel's arguments.

    Args:
        tenant: The caller with its bounds.
        jobs: One, or those of an array.
        key: Names them; what was accepted before under the same one is not refused for a bound.
        of_array: Whether they are an array's.
        max_running: Jobs of that array that boards may have at once; None for any number.

    Raises:
        InvalidRequest: One asks for what a job cannot have, for what the tenant has not, or for more than it may.
        NotFound: There is no such application.
    """
    shared, by = jobs[0], tenant
    if key and PRIORITIES[0] < by.max_priority < PRIORITIES[-1] and await parts.table.known(caller.id, key):
        by = replace(by, max_priority=PRIORITIES[-1])
    if shared.application is not None:
        parts.catalogue.application(shared.application)
    waits = await _waits(parts, caller, shared, len(jobs) if of_array else None)
    admitted = [admit(job, by, VIEWS, after, key, max_running) for job, after in zip(jobs, waits, strict=True)]
    found = list(map(_kept, jobs, admitted))
    if (other := admitted[0].asked.same_board_as) is not None:
        partner = await _partner(parts, caller, other)
        found = [{**each, "same_board_as": partner} for each in found]
    await _check_boards(parts, PoolJob(0, caller.id, found[0], 0.0), key)
    _check_memory(parts, caller, found)
    await _have(parts, caller, {sha for each in found for sha in PoolJob(0, caller.id, each, 0.0).blobs})
    return found


def _kept(job: JobSubmission, admitted: JobRequest) -> dict[str, Any]:
    """A submission as the pool keeps it: as it came, but for what it waits for, which is said by ids that jobs have
    inside. `after` has those that must succeed, as earlier releases read it, `waits` whatever else."""
    request = job.model_dump(mode="json", exclude_none=True, exclude_defaults=True, exclude=set(_WAITS))
    told = [each.to_json() for each in admitted.asked.after]
    kept: dict[str, list[Any]] = {"after": [each for each in told if isinstance(each, int)]}
    kept["waits"] = [each for each in told if not isinstance(each, int)]
    request |= {name: named for name, named in kept.items() if named}
    bound = {} if admitted.asked.max_running is None else {"max_running": admitted.asked.max_running}
    return request | {"priority": admitted.priority, "batch": job.batch} | bound


async def _waits(
    parts: HeadParts, caller: PoolTenant, shared: JobSubmission, size: int | None
) -> list[tuple[Predecessor, ...]]:
    """What each job waits for.

    Args:
        shared: What they are told to wait for.
        size: Jobs of their array; None where it is one of its own.

    Raises:
        InvalidRequest: Something of it is not there, or only an array of that size can wait for it.
    """
    same, columns = list[Predecessor](), list[list[Predecessor]]()
    for wanted in Condition:
        for place, number in enumerate(dict.fromkeys(getattr(shared, wanted.value))):
            field = f"{wanted.value}[{place}]"
            each = await _predecessor(parts, caller, number, wanted, field)
            if wanted is Condition.ELEMENT:
                columns.append(await _elements(parts, number, each.id, size, field))
            else:
                same.append(each)
    rows = zip(*columns, strict=True)
    return [tuple(dict.fromkeys((*same, *row))) for row in rows] or [tuple(same)] * (size or 1)


async def _predecessor(parts: HeadParts, caller: PoolTenant, number: int, wanted: Condition, field: str) -> Predecessor:
    """A caller's job or array that was told as a number.

    Raises:
        InvalidRequest: It has none such.
    """
    with contextlib.suppress(NotFound):
        array = await _array_of(parts, caller, number)
        if array is not None and parts.lead.mirror.projection.array_owner(array) == caller.id:
            return Predecessor(array, wanted, array=True)
        if wanted is not Condition.ELEMENT and (job := await visible_job(parts, caller, number)).tenant == caller.id:
            return Predecessor(job.id, wanted)
    what = "array" if wanted is Condition.ELEMENT else "job or array"
    raise InvalidRequest(f"{field}: you have no {what} {number}.", field=field, asked=number)


async def _check_boards(parts: HeadParts, job: PoolJob, key: str) -> None:
    """See that some board may meet what a job asks of it, unless it was accepted before under its key.

    Raises:
        InvalidRequest: None ever could.
    """
    try:
        check_boards(job, [*parts.lead.mirror.boards.values()], parts.catalogue)
    except InvalidRequest:
        if not (key and await parts.table.known(job.tenant, key)):
            raise


async def _partner(parts: HeadParts, caller: PoolTenant, number: int) -> int:
    """A caller's job that was told as a number, to whose board another is to go.

    Raises:
        InvalidRequest: It has none such.
    """
    with contextlib.suppress(NotFound):
        if (job := await visible_job(parts, caller, number)).tenant == caller.id:
            return job.id
    message = f"same_board_as: you have no job {number}."
    raise InvalidRequest(message, field="same_board_as", asked=number)


async def _elements(parts: HeadParts, number: int, array: int, size: int | None, field: str) -> list[Predecessor]:
    """The jobs of an array, in their order in it, each of which is waited for by the one in its place.

    Raises:
        InvalidRequest: Who waits is no array of that size.
    """
    if size is None:
        message = f"{field}: only a job of an array has a place; name the jobs themselves in after."
        raise InvalidRequest(message, field=field, allowed="leave it out")
    jobs = parts.lead.mirror.projection.members(array)
    if len(jobs) != size:
        message = f"{field}: array {number} has {len(jobs)} jobs and this one has {size}: they must be as many."
        raise InvalidRequest(message, field=field, asked=number, allowed=f"arrays of {size} jobs")
    places = {job.array.index: job.id for job in jobs if job.array is not None}
    return [Predecessor(places[place]) for place in sorted(places)]


def _check_memory(parts: HeadParts, caller: PoolTenant, requests: Requests) -> None:
    """See that some board that ever joined may give a job its memory: an item of it, or a kernel's arrays.

    Raises:
        InvalidRequest: None may, as a board itself would say it.
    """
    most = [board.memory_bytes for board in parts.lead.mirror.boards.values()]
    if not most or not all(most):
        return  # boards of an earlier release do not say
    memory = TenantMemory(1.0, lambda: False, max(most))
    if (name := requests[0].get("application")) is not None:
        memory.check(parts.catalogue.application(name), 1)
        return
    for request in requests:
        job = PoolJob(0, caller.id, request, 0.0)
        arrays = BufferSpec("arrays", BufferRole.CONSTANT, job.array_bytes, "u1", (job.array_bytes,))
        memory.check(Application(job.work, (), (), (arrays,)), 1)


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


async def _check_room(parts: HeadParts, tenant: PoolTenant, requests: Requests) -> None:
    """See that records of these submissions have room.

    Raises:
        StorageQuotaExceeded: The tenant keeps as many bytes as it may.
        StorageFull: All tenants' records together have none.
    """
    more = sum(len(json.dumps(request)) + RECORD_BYTES for request in requests)
    projection, most_bytes = parts.lead.mirror.projection, parts.most_bytes(tenant)
    kept = (await parts.link.accounts.of(tenant.id)).total + projection.tenant_bytes(tenant.id)
    if kept + more > most_bytes:
        raise quota_error(most_bytes, kept, more)
    bound = parts.link.budget.records_bytes
    if bound and projection.total_bytes() + more > bound:
        raise StorageFull("The pool's store has no room for more jobs, but for the ends of those there are.")


async def submit_within_bounds(
    parts: HeadParts, tenant: PoolTenant, requests: Requests, key: str, submit: Callable[[], Awaitable[PoolJob]]
) -> PoolJob:
    """Submit within the tenant's bounds; they refuse nothing that was accepted before under the same key.

    Raises:
        StorageFull: The pool's store has no room for more jobs.
        QuotaExceeded: It would have more jobs than it may.
        Conflict: The key was used for another request.
    """
    try:
        await _check_room(parts, tenant, requests)
        async with parts.bounds.admit(tenant, len(requests)):
            return await submit()
    except (QuotaExceeded, StorageFull):
        if not (key and await parts.table.known(tenant.id, key)):
            raise
        return await submit()
