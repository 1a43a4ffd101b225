# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/arrays`: jobs that are submitted, shown and cancelled together."""

from __future__ import annotations

import functools
from functools import partial
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends, Header, Path, Request, Response

from eddy.api.answers.arrays import Array, array_answer
from eddy.api.dependencies.callers import Caller, Ctx, require_running
from eddy.api.dependencies.context import Context
from eddy.api.dependencies.job_access import admit, for_client, read
from eddy.api.http.openapi import LOCATION, refusals
from eddy.api.request_bodies.arrays import ArraySubmission, array_model, jobs_of
from eddy.api.request_bodies.base import IDEMPOTENCY_KEY
from eddy.api.request_bodies.jobs import JobSubmission
from eddy.api.request_bodies.numbers import Decimal
from eddy.api.request_bodies.strict_json import JsonRoute, with_body
from eddy.core.jobs import JobState
from eddy.core.tenants import TenantRecord

router = APIRouter(prefix="/v1/arrays", tags=["jobs"], route_class=JsonRoute)


async def resolve_array_id(
    array: Annotated[Decimal, Path(ge=1, le=(1 << 63) - 1, description="Id of an array.")], context: Ctx
) -> int:
    """Which array an id names; none where it names none."""
    return context.store.numbers.job.resolve_id(array)


ArrayId = Annotated[int, Depends(resolve_array_id)]


async def submit(
    body: ArraySubmission,
    http: Request,
    response: Response,
    context: Ctx,
    tenant: Caller,
    idempotency_key: Annotated[
        str | None, Header(pattern=IDEMPOTENCY_KEY, description="Names this submission.", examples=["order-17"])
    ] = None,
) -> Array:
    """Accept jobs together, durably: all, or none where one is refused or they are too many for you.

    The same `Idempotency-Key` with the same body names the same array. Kernels are compiled one after the other.
    """
    jobs = jobs_of(body, context.kinds)
    requests = [admit(context, tenant, job, idempotency_key, body.max_running) for job in jobs]
    work = partial(context.hypervisor.submit_array, requests)
    records = await for_client(context, http, requests[0], work)
    place = records[0].asked.array
    assert place is not None
    response.headers["Location"] = f"/v1/arrays/{context.store.numbers.job.public_id(place.id)}"
    return await _answer(context, tenant.id, place.id)


@functools.lru_cache(maxsize=4)
def router_for(job: type[JobSubmission]) -> APIRouter:
    """The routes, where a job is submitted as `job` says."""
    every = APIRouter(route_class=JsonRoute)
    every.add_api_route(
        router.prefix,
        with_body(submit, array_model(job)),
        methods=["POST"],
        tags=list(router.tags),
        operation_id="submit_array",
        status_code=202,
        response_model=Array,
        summary="Submit an array of jobs",
        responses={202: {"headers": LOCATION}, **refusals(409, 429, 502)},
    )
    every.routes.extend(router.routes)
    return every


@router.get(
    "/{array}", operation_id="show_array", response_model=Array, summary="Show an array", responses=refusals(404)
)
async def show(array: ArrayId, context: Ctx, viewer: Caller) -> Array:
    """How many of its jobs are in which state."""
    return await _answer(context, await _owner(context, viewer, array), array)


@router.delete(
    "/{array}",
    operation_id="cancel_array",
    status_code=202,
    response_model=Array,
    summary="Cancel an array",
    responses=refusals(404, 409),
)
async def cancel(array: ArrayId, context: Ctx, viewer: Caller) -> Array:
    """Ask for the end of all jobs of it that have not ended; 409 where all have, and none as cancelled."""
    owner = await _owner(context, viewer, array)
    require_running(context)
    await context.hypervisor.cancel_array(owner, array)
    return await _answer(context, owner, array)


async def _answer(context: Context, owner: str, array: int) -> Array:
    states, most, damaged = await read(context, partial(_read, context, owner, array))
    return array_answer(owner, context.store.numbers.job.public_id(array), states, most, damaged)


def _read(context: Context, owner: str, array: int) -> tuple[dict[JobState, int], int | None, int]:
    arrays = context.store.arrays
    states = arrays.states(owner, array)
    return states, arrays.max_running(array), arrays.size(owner, array) - sum(states.values())


async def _owner(context: Context, viewer: TenantRecord, array: int) -> str:
    """Whose array it is, of those the viewer may see.

    Raises:
        NotFound: There is none.
    """
    if not viewer.admin:
        return viewer.id
    owner = await anyio.to_thread.run_sync(context.store.arrays.owner, array)
    if owner is None:
        raise context.store.arrays.not_found(array)
    return owner
