# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/jobs` at a head: submit jobs, look at them, end them, fetch their outputs, and why a job is where it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect

from eddy.api.access.open_streams import Credential
from eddy.api.answers.estimates import DryRun
from eddy.api.answers.job_explanation import Explained
from eddy.api.answers.schemas import Job
from eddy.api.dependencies.disconnects import run_while_connected
from eddy.api.http.byte_ranges import IfMatch, IfNoneMatch, IfRange, Range, RangeRequest
from eddy.api.request_bodies.base import IDEMPOTENCY_KEY
from eddy.api.request_bodies.job_filters import ListQuery, cursor_of
from eddy.api.request_bodies.jobs import JobSubmission
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.core.errors import Conflict, InvalidRequest, NotFound, OutputsCollected
from eddy.pool.jetstream.tenants import PoolTenant
from eddy.pool.records.records import CANCELLED, SUCCEEDED, PoolJob
from eddy.pool.routes.blobs import answered
from eddy.pool.routes.context import Caller, HeadParts, Number, Parts
from eddy.pool.routes.downloads import StoredBytes
from eddy.pool.routes.rendering import explain_placement, render_explanation, render_job, render_trial
from eddy.pool.routes.submission import requests_of, submit_within_bounds, visible_job
from eddy.pool.routes.waiting import obstacles_of, render_obstacles, unmet_options

NOT_SUBMITTED = (1 << 63) - 1
"""Number of a job that is tried out: behind all others of its tenant."""
router = APIRouter(prefix="/v1", route_class=JsonRoute)
Wait = Annotated[float, Query(ge=0, le=60)]


def _shown(parts: HeadParts, job: PoolJob, caller: PoolTenant | None = None) -> Job:
    """The job object; with what is expected of it, for a caller."""
    estimate = None if caller is None else parts.forecasts.expect_job(job, caller.admin)
    return render_job(job, parts.numbers.job.public_id, estimate)


@router.post("/jobs", status_code=202)
async def submit(
    body: JobSubmission,
    response: Response,
    parts: Parts,
    caller: Caller,
    idempotency_key: Annotated[str | None, Header(pattern=IDEMPOTENCY_KEY)] = None,
    dry_run: bool = False,
) -> Any:
    """Accept a job, durably; the same `Idempotency-Key` with the same body names the same job."""
    key, tenant = idempotency_key or "", await parts.tenants.get(caller.id)
    (request,) = await requests_of(parts, caller, tenant, [body], key)
    if dry_run:
        parts.rate_limits.admit_forecast(caller)
        return JSONResponse((await _tried(parts, caller, tenant, request)).model_dump(mode="json"))
    kept = await submit_within_bounds(
        parts, tenant, [request], key, lambda: parts.table.submit(caller.id, request, key)
    )
    shown = _shown(parts, kept)
    response.headers["Location"] = shown.links["self"]
    return shown


async def _tried(parts: HeadParts, caller: PoolTenant, tenant: PoolTenant, request: dict[str, Any]) -> DryRun:
    """What a submission would be; nothing of it is kept.

    Raises:
        QuotaExceeded: The tenant would have more jobs than it may.
    """
    await parts.bounds.check(tenant)
    job = PoolJob(NOT_SUBMITTED, caller.id, request, time.time())
    return render_trial(job, *parts.forecasts.trial(job, caller.admin))


@router.get("/jobs")
async def list_jobs(query: Annotated[ListQuery, Query()], parts: Parts, caller: Caller) -> Any:
    """One page of your jobs; `next` is the cursor of the page after it, for the same filters and order."""
    if query.tenant is not None and not caller.admin and query.tenant != caller.id:
        raise InvalidRequest("You can list your own jobs only.", field="tenant", allowed=[caller.id])
    limit, numbers, mirror = query.limit or parts.page_size, parts.numbers, parts.lead.mirror
    parts.rate_limits.admit_page(caller, limit)
    await mirror.wait_caught_up()
    wanted = query.to_filter(query.tenant if caller.admin else caller.id, numbers)
    after = query.after(numbers)
    if after is not None:
        mirror.projection.check_place(wanted, after)
    found = mirror.projection.page(wanted, after, limit + 1)
    following = cursor_of(found[limit - 1][0], numbers) if len(found) > limit else None
    return {"jobs": [_shown(parts, job, caller) for _, job in found[:limit]], "next": following}


@router.get("/jobs/{number}")
async def show_job(
    number: Number,
    request: Request,
    parts: Parts,
    caller: Caller,
    wait: Wait = 0.0,
    while_state: Annotated[str | None, Query(alias="while")] = None,
) -> Any:
    """The job object; with `wait` once it has ended, or is not in that state any more."""
    job = await visible_job(parts, caller, number)

    def good(job: PoolJob) -> bool:
        return job.is_ended or while_state not in (None, job.state)

    if wait and not good(job):
        job = await _waited_for(parts, request, job.id, good, wait)
    return _shown(parts, job, caller)


async def _waited_for(
    parts: HeadParts, request: Request, number: int, good: Callable[[PoolJob], bool], wait_s: float
) -> PoolJob:
    """A job once it is good, or when the time is over; for as long as the client stays, and its key is good.

    Raises:
        ClientDisconnect: Nobody waits any more.
        Unauthorized: The key or the session has ended meanwhile.
    """
    credential = Credential.in_use()
    read = partial(parts.table.read, number)
    until = partial(parts.lead.mirror.followers.wait_until, number, read, good, wait_s, parts.ending)
    with parts.open_streams.track_stream(credential) as over:
        try:
            return await run_while_connected(request, until, over)
        except ClientDisconnect:
            parts.open_streams.check(credential)
            raise


@router.delete("/jobs/{number}", status_code=202)
async def cancel(number: Number, parts: Parts, caller: Caller, wait: Wait = 0.0) -> Any:
    """End a job; its board drops it within a second."""

    def cancelled(job: PoolJob) -> PoolJob:
        if job.state == CANCELLED:
            return job  # to cancel twice is to cancel, as on a board: the first answer may have been lost
        if job.is_ended:
            raise Conflict(f"Job {number} has ended already: {job.state}.", job=number)
        return job.cancelled(time.time())

    job_id = (await visible_job(parts, caller, number)).id
    return _shown(parts, await parts.table.change(job_id, cancelled))


@router.get("/jobs/{number}/outputs/{name}")
async def output(
    number: Number,
    name: str,
    parts: Parts,
    caller: Caller,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
    range: Range = None,
    if_range: IfRange = None,
) -> Response:
    """An output of all items, end to end."""
    job = await visible_job(parts, caller, number)
    if job.collected_unix_s is not None:
        message = f"The outputs of job {number} were removed; submit it again."
        raise OutputsCollected(message, collected_unix_s=job.collected_unix_s)
    if job.state != SUCCEEDED or name not in job.parts[0].outputs:
        raise NotFound(f"Job {number} is {job.state} and has no output {name!r}.", field="name", asked=name)
    names = [part.outputs[name] for part in job.parts]
    sizes = await asyncio.gather(*(parts.blobs.size_of(job.tenant, sha) for sha in names))
    asked = RangeRequest(if_match, if_none_match, range, if_range)
    headers = {"Content-Disposition": f'attachment; filename="{number}-{quote(name)}.bin"'}
    return await answered(parts, StoredBytes(job.tenant, names, sizes), asked, headers)


@router.delete("/jobs/{number}/outputs", status_code=204, response_class=Response)
async def remove_outputs(number: Number, parts: Parts, caller: Caller) -> Response:
    """Remove the outputs of a job that has ended, for good; what they took of your bytes is free again."""
    job_id = (await visible_job(parts, caller, number)).id
    job = await parts.table.change(job_id, lambda it: it.discard_outputs(time.time()))
    account = await parts.link.accounts.of(job.tenant)
    await account.wait_caught_up()
    outputs = account.of_jobs.get(str(job.id), ())
    await parts.blobs.let_go(job.tenant, str(job.id), outputs, parts.lead.mirror.inputs.is_needed)
    return Response(status_code=204)


@router.get("/jobs/{number}/explain")
async def explain_job(number: Number, parts: Parts, caller: Caller) -> Explained:
    """Where a job's time went and what it waits for, as a board tells it."""
    job = await visible_job(parts, caller, number)
    keeps = unmet_options(obstacles_of(parts.lead.mirror, job))
    return render_explanation(job, number, time.time(), parts.forecasts.expect_job(job, caller.admin), keeps)


@router.get("/pool/jobs/{number}/explain")
async def explain(number: Number, parts: Parts, caller: Caller) -> Any:
    """Why a job is where it is, and where it has been."""
    job = await visible_job(parts, caller, number)
    keeps = render_obstacles(obstacles_of(parts.lead.mirror, job), caller.admin)
    return explain_placement(job, number, caller.admin, keeps)
