"""`/v1/arrays` at a head: jobs that are submitted, shown and cancelled together."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Annotated

from fastapi import APIRouter, Header, Path, Response

from eddy.api.array_bodies import Array, ArraySubmission, array_answer, check_differences, differing
from eddy.api.bodies import JsonRoute
from eddy.api.bodies_base import IDEMPOTENCY_KEY
from eddy.api.kinds import VIEWS
from eddy.api.numbers import Decimal
from eddy.core.errors import Conflict, NotFound
from eddy.core.jobs import JobState
from eddy.pool.head_parts import Caller, HeadParts, Parts
from eddy.pool.records import PoolJob
from eddy.pool.submitting import admitted, requests_of
from eddy.pool.table import AT_ONCE
from eddy.pool.tenants import PoolTenant

router = APIRouter(prefix="/v1/arrays", tags=["jobs"], route_class=JsonRoute)
Number = Annotated[Decimal, Path(ge=1, description="Of an array, as it was told.", alias="array")]


@router.post("", status_code=202, response_model=Array)
async def submit_array(
    body: ArraySubmission,
    response: Response,
    parts: Parts,
    caller: Caller,
    idempotency_key: Annotated[str | None, Header(pattern=IDEMPOTENCY_KEY)] = None,
) -> Array:
    """Accept jobs together, durably: all, or none where one is refused or they are too many for you."""
    jobs = differing(body.job, body.each)
    check_differences(body, body.job.check_kind(VIEWS))
    requests, key = await requests_of(parts, caller, jobs), idempotency_key or ""
    first = await admitted(
        parts, caller, requests, key, lambda: parts.table.submit_array(caller.id, requests, key)
    )  # fmt: skip
    shown = await _answer(parts, first)
    response.headers["Location"] = shown.links["self"]
    return shown


@router.get("/{array}", response_model=Array)
async def show_array(number: Number, parts: Parts, caller: Caller) -> Array:
    """How many of its jobs are in which state."""
    return await _answer(parts, await _first(parts, caller, number))


@router.delete("/{array}", status_code=202, response_model=Array)
async def cancel_array(number: Number, parts: Parts, caller: Caller) -> Array:
    """End all jobs of it that have not ended; 409 where all have, and none as cancelled."""
    first = await _first(parts, caller, number)
    states = await _states(parts, first)
    if all(state.is_final for state in states) and JobState.CANCELLED not in states:
        raise Conflict(f"All jobs of array {number} have ended: there is nothing to cancel.", field="array")
    turns, now_s = asyncio.Semaphore(AT_ONCE), time.time()

    async def end(job: int) -> None:
        async with turns:
            with contextlib.suppress(Conflict):  # it has ended meanwhile
                await parts.table.change(job, lambda it: it.cancelled(now_s))

    await asyncio.gather(*map(end, parts.lead.mirror.index.unfinished(first.tenant, first.id)))
    return await _answer(parts, first)


async def _first(parts: HeadParts, caller: PoolTenant, number: int) -> PoolJob:
    """The first job of an array that the caller may see.

    Raises:
        NotFound: There is none.
    """
    with contextlib.suppress(NotFound):
        job = await parts.table.job(parts.numbers.job.meant(number))
        if (job.tenant == caller.id or caller.admin) and job.array is not None and job.array.id == job.id:
            return job
    raise NotFound(f"There is no array {number}.", field="array", asked=number)


async def _states(parts: HeadParts, first: PoolJob) -> dict[JobState, int]:
    await parts.lead.mirror.caught_up()
    return parts.lead.mirror.index.states(first.tenant, first.id)


async def _answer(parts: HeadParts, first: PoolJob) -> Array:
    return array_answer(first.tenant, parts.numbers.job.told(first.id), await _states(parts, first))
