# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/jobs`: submit, list, show, cancel, follow, fetch outputs."""

from __future__ import annotations

import functools
from functools import partial
from typing import Annotated
from urllib.parse import quote

import anyio.to_thread
from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from eddy.api.answers import job_pages
from eddy.api.answers.estimates import DryRun, dry_run_answer
from eddy.api.answers.rendering import render_job
from eddy.api.answers.schemas import Job, JobPage
from eddy.api.dependencies.callers import Caller, Ctx, require_running
from eddy.api.dependencies.context import Context
from eddy.api.dependencies.disconnects import open_event_stream, wait_for_job
from eddy.api.dependencies.events import EventStream, StreamSource
from eddy.api.dependencies.job_access import JobId, admit, answer, estimates_of, for_client, owner_of, read
from eddy.api.dependencies.progress import measure_slowdown
from eddy.api.http.byte_ranges import IfMatch, IfNoneMatch, IfRange, Range, RangeRequest, answers, respond_bytes
from eddy.api.http.openapi import LOCATION, content, refusals, stream
from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import IDEMPOTENCY_KEY
from eddy.api.request_bodies.event_protocol import LastEventId
from eddy.api.request_bodies.job_filters import ListQuery, cursor_of
from eddy.api.request_bodies.jobs import JobSubmission
from eddy.api.request_bodies.strict_json import JsonRoute, with_body
from eddy.core.errors import Conflict, InvalidRequest
from eddy.core.jobs import JobState
from eddy.core.records import JobRecord
from eddy.core.tenants import TenantRecord
from eddy.hypervisor.forecast.estimator import JobEstimate
from eddy.store.job_tables.outputs import OutputFile

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=JsonRoute)

Output = Annotated[str, Path(max_length=256, description="Name of the output.")]
WaitS = Annotated[float, Query(ge=0, le=60, description="Wall seconds to wait for the job to end; 0 for not at all.")]
WhileState = Annotated[
    JobState | None, Query(description="With `wait`: only as long as it is in this state.", alias="while")
]


async def submit(
    body: JobSubmission,
    http: Request,
    context: Ctx,
    tenant: Caller,
    idempotency_key: Annotated[
        str | None, Header(pattern=IDEMPOTENCY_KEY, description="Names this submission.", examples=["order-17"])
    ] = None,
    dry_run: Annotated[
        bool, Query(description="Check it as any other, answer what it would cost and when it would run; keep nothing.")
    ] = False,
) -> Response:
    """Accept a job, durably; the same `Idempotency-Key` with the same body names the same job.

    With `dry_run` nothing is kept, and the answer is 200 with a `DryRun`; what would be refused is refused just so.

    A kernel is compiled before the answer: 422 `compilation-failed` has the compiler's message, its line and column.
    That takes seconds, and others may come first; a connection that is closed gives it up.
    """
    request = admit(context, tenant, body, idempotency_key)
    if dry_run:
        context.rate_limits.admit_forecast(tenant)
        found = await for_client(context, http, request, partial(context.hypervisor.try_out, request))
        application = context.catalogue.applications.get(request.application)
        return JSONResponse(
            dry_run_answer(request, found, application, tenant.admin).model_dump(mode="json"),
            headers={"Cache-Control": "no-store"},
        )
    record = await for_client(context, http, request, partial(context.hypervisor.submit, request))
    headers = {"Location": f"/v1/jobs/{context.store.numbers.job.public_id(record.id)}", "Cache-Control": "no-store"}
    text = render_job(answer(context, record))
    return Response(text, 202, headers, media_type="application/json")


@functools.lru_cache(maxsize=4)
def router_for(model: type[JobSubmission]) -> APIRouter:
    """The routes, where a submission is as `model` says."""
    every = APIRouter(route_class=JsonRoute)
    every.add_api_route(
        router.prefix,
        with_body(submit, model),
        methods=["POST"],
        tags=list(router.tags),
        operation_id="submit_job",
        status_code=202,
        response_model=Job,
        summary="Submit a job",
        responses={
            200: {"model": DryRun, "description": "What it would be; only with `dry_run`."},
            202: {"headers": LOCATION},
            **refusals(409, 429, 502),
        },
    )
    every.routes.extend(router.routes)
    return every


@router.get(
    "",
    operation_id="list_jobs",
    response_model=JobPage,
    summary="List jobs, newest first",
    responses=refusals(410),
)
async def list_jobs(query: Annotated[ListQuery, Query()], context: Ctx, viewer: Caller) -> Response:
    """One page of your jobs; `next` is the cursor of the page after it, for the same filters and order. Jobs whose
    records are damaged are passed over, and named in `damaged`."""
    if query.tenant is not None and not viewer.admin and query.tenant != viewer.id:
        raise InvalidRequest("You can list your own jobs only.", field="tenant", allowed=[viewer.id])
    limit = query.limit or context.settings.page_size
    context.rate_limits.admit_page(viewer, limit)
    numbers = context.store.numbers
    wanted = query.to_filter(query.tenant if viewer.admin else viewer.id, numbers)
    after = query.after(numbers)
    if after is not None:
        await read(context, partial(context.store.lists.check_place, wanted, after))
    found = await read(context, partial(context.store.lists.find_page, wanted, limit, after))
    following = None if found.following is None else cursor_of(found.following, numbers)
    offer = context.catalogue.now
    known = [context.rendered.find(record, offer) for record in found.records]
    waiting = [record for record, text in zip(found.records, known, strict=True) if not text]
    estimates = await estimates_of(context, waiting)
    texts = [
        text or _text(context, record, estimates.get(record.id), viewer.admin)
        for record, text in zip(found.records, known, strict=True)
    ]
    page = job_pages.page(texts, following, [numbers.job.public_id(job) for job in found.damaged])
    return Response(page, media_type="application/json", headers={"Cache-Control": "no-store"})


def _text(context: Context, record: JobRecord, estimate: JobEstimate | None, everyone: bool) -> bytes:
    """A job of a page; that of one that has ended is remembered."""
    text = render_job(answer(context, record, estimate, everyone))
    if record.state.is_final:
        context.rendered.keep(record, context.catalogue.now, text)
    return text


@router.get("/{job}", operation_id="show_job", response_model=Job, summary="Show a job", responses=refusals(404))
async def show(
    job: JobId, http: Request, context: Ctx, viewer: Caller, wait: WaitS = 0.0, while_state: WhileState = None
) -> Job:
    """One job: its state, its times by cause, its outputs; at once, or when it has ended (`wait`)."""
    if not wait:
        record = await read(context, lambda: context.store.jobs.get(owner_of(context, viewer, job), job))
    else:
        owner = await anyio.to_thread.run_sync(owner_of, context, viewer, job)

        def good(record: JobRecord) -> bool:
            return record.state.is_final or while_state not in (None, record.state)

        record = await wait_for_job(context, http, owner, job, good, wait)
    estimates = await estimates_of(context, [record], need=job)
    shown = answer(context, record, estimates.get(job), viewer.admin)
    shown.slowdown = measure_slowdown(context.store, context.hypervisor.price, record)
    return shown


@router.delete(
    "/{job}",
    operation_id="cancel_job",
    status_code=202,
    response_model=Job,
    summary="Cancel a job",
    responses=refusals(404, 409),
)
async def cancel(job: JobId, http: Request, context: Ctx, viewer: Caller, wait: WaitS = 0.0) -> Job:
    """Ask for a job's end. Cancelling twice is cancelling; a job that has ended otherwise answers 409.

    The answer comes at once, or when the job has ended (`wait`). A 202 is on record: `cancellation` says when it took
    effect, or that it came too late, because the job's last item had ended before it could be stopped.
    """
    owner = await anyio.to_thread.run_sync(owner_of, context, viewer, job)
    require_running(context)
    record = await context.hypervisor.cancel(owner, job)
    if wait:
        record = await wait_for_job(context, http, owner, job, _has_ended, wait)
    return answer(context, record)


def _has_ended(record: JobRecord) -> bool:
    return record.state.is_final


@router.get(
    "/{job}/events",
    operation_id="follow_job",
    summary="Follow a job",
    status_code=200,
    response_class=EventStream,
    responses={
        200: stream("Events, until the job has ended.", examples.EVENTS),
        204: {"description": "Ended; there are no more events."},
        **refusals(404, 410),
    },
)
async def events(
    job: JobId,
    context: Ctx,
    viewer: Caller,
    last_event_id: LastEventId = None,
) -> Response:
    """Server-sent events from the first, or after `Last-Event-ID`, until the job has ended; then one of kind `end`.

    A `Last-Event-ID` that names none of its events is refused (`unknown-cursor`); 0 begins with the first.
    """
    owner = await anyio.to_thread.run_sync(owner_of, context, viewer, job)
    after = context.store.numbers.event.resolve_id(last_event_id or 0)
    record = await read(context, lambda: context.store.jobs.get(owner, job))
    await read(context, lambda: context.store.events.check_known(owner, job, after, last_event_id or 0))
    if record.state.is_final and not await read(
        context, lambda: context.store.events.list_events(owner, job, after, 1)
    ):
        return Response(status_code=204)
    followed = StreamSource(
        owner,
        job,
        after,
        lambda seq, limit: context.store.events.list_events(owner, job, seq, limit),
        lambda: context.store.jobs.get(owner, job).state.is_final,
    )
    return open_event_stream(context, followed)


@router.get(
    "/{job}/outputs/{name}",
    operation_id="fetch_output",
    summary="Fetch an output",
    response_class=Response,
    responses=answers("The bytes, item after item.", 404, 409, 410),
)
async def output(
    job: JobId,
    name: Output,
    context: Ctx,
    viewer: Caller,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
    range: Range = None,
    if_range: IfRange = None,
) -> Response:
    """The bytes of an output buffer of all items, end to end, in item order; 409 until the job has succeeded."""
    file = await context.uploads.on_disk(_output, context, viewer, job, name)
    headers = {
        "Content-Disposition": f'attachment; filename="{context.store.numbers.job.public_id(job)}-{quote(name)}.bin"'
    }
    asked = RangeRequest(if_match, if_none_match, range, if_range)
    read = partial(context.uploads.on_disk, file.read)
    return await respond_bytes(read, asked, f'"{file.tag}"', file.size_bytes, headers)


def _output(context: Context, viewer: TenantRecord, job: int, name: str) -> OutputFile:
    """The output's file, not read yet."""
    owner = owner_of(context, viewer, job)
    record = context.store.jobs.get(owner, job)
    if record.state is not JobState.SUCCEEDED:
        told = context.store.numbers.job.public_id(job)
        message = f"Job {told} is {record.state.value}; outputs can be fetched once it has succeeded."
        raise Conflict(message, field="job", state=record.state.value)
    return context.store.outputs.file(owner, job, name)


@router.get(
    "/{job}/log",
    operation_id="fetch_log",
    summary="Read what a kernel printed",
    response_class=PlainTextResponse,
    responses={200: content("text/plain", "What it printed."), **refusals(404, 410)},
)
def log(job: JobId, context: Ctx, viewer: Caller) -> PlainTextResponse:
    """What a kernel job printed, in the order of work-items, also of one that failed; empty until it has ended, and for
    application jobs, which print nothing."""
    owner = owner_of(context, viewer, job)
    return PlainTextResponse(context.store.outputs.log(owner, job), headers={"X-Content-Type-Options": "nosniff"})
