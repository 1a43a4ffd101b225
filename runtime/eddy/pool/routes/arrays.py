# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/arrays` at a head: jobs that are submitted, shown and cancelled together."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from typing import Annotated

from fastapi import APIRouter, Header, Path, Response

from eddy.api.answers.arrays import Array, array_answer
from eddy.api.request_bodies.arrays import ArraySubmission, jobs_of
from eddy.api.request_bodies.base import IDEMPOTENCY_KEY
from eddy.api.request_bodies.kinds import VIEWS
from eddy.api.request_bodies.numbers import Decimal
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.core.errors import Conflict, NotFound
from eddy.core.jobs import JobState
from eddy.pool.jetstream.jobs import AT_ONCE
from eddy.pool.jetstream.tenants import PoolTenant
from eddy.pool.routes.context import Caller, HeadParts, Parts
from eddy.pool.routes.submission import requests_of, submit_within_bounds

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
    jobs, key, tenant = jobs_of(body, VIEWS), idempotency_key or "", await parts.tenants.get(caller.id)
    requests = await requests_of(parts, caller, tenant, jobs, key, of_array=True, max_running=body.max_running)
    first = await submit_within_bounds(
        parts, tenant, requests, key, lambda: parts.table.submit_array(caller.id, requests, key)
    )  # fmt: skip
    assert first.array is not None
    shown = await _answer(parts, caller.id, first.array.id)
    response.headers["Location"] = shown.links["self"]
    return shown


@router.get("/{array}", response_model=Array)
async def show_array(number: Number, parts: Parts, caller: Caller) -> Array:
    """How many of its jobs are in which state."""
    return await _answer(parts, *await _found(parts, caller, number))


@router.delete("/{array}", status_code=202, response_model=Array)
async def cancel_array(number: Number, parts: Parts, caller: Caller) -> Array:
    """End all jobs of it that have not ended; 409 where all have, and none as cancelled."""
    tenant, array = await _found(parts, caller, number)
    states = {JobState(job.state) for job in parts.lead.mirror.projection.members(array)}
    if all(state.is_final for state in states) and JobState.CANCELLED not in states:
        raise Conflict(f"All jobs of array {number} have ended: there is nothing to cancel.", field="array")
    turns, now_s = asyncio.Semaphore(AT_ONCE), time.time()

    async def end(job: int) -> None:
        async with turns:
            with contextlib.suppress(Conflict):  # it has ended meanwhile
                await parts.table.change(job, lambda it: it.cancelled(now_s))

    members = parts.lead.mirror.projection.members(array)
    await asyncio.gather(*(end(job.id) for job in members if not job.is_ended))
    return await _answer(parts, tenant, array)


async def _found(parts: HeadParts, caller: PoolTenant, number: int) -> tuple[str, int]:
    """An array that the caller may see: whose it is, and what it is called inside.

    Raises:
        NotFound: There is none.
    """
    await parts.lead.mirror.wait_caught_up()
    array = parts.numbers.job.resolve_id(number)
    owner = parts.lead.mirror.projection.array_owner(array)
    if owner is None or not (owner == caller.id or caller.admin):
        raise NotFound(f"There is no array {number}; a job is shown by `eddy job`.", field="array", asked=number)
    return owner, array


async def _answer(parts: HeadParts, tenant: str, array: int) -> Array:
    await parts.lead.mirror.wait_caught_up()
    members = parts.lead.mirror.projection.members(array)
    states = Counter(JobState(job.state) for job in members)
    return array_answer(tenant, parts.numbers.job.public_id(array), states, members[0].max_running)
