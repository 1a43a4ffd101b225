"""`/v1/jobs`: submit, list, show, cancel, follow, fetch outputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import anyio.to_thread
from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from eddy.api import examples
from eddy.api.bodies import JsonRoute
from eddy.api.context import Caller, Context, Ctx
from eddy.api.events import server_sent
from eddy.api.kinds import KindView
from eddy.api.leaving import while_connected
from eddy.api.numbers import Decimal
from eddy.api.openapi import LOCATION, content, refusals, stream
from eddy.api.rendering import job_answer
from eddy.api.schemas import Job, JobPage
from eddy.api.submissions import IDEMPOTENCY_KEY, JobSubmission, submission_model
from eddy.core.errors import Conflict, InvalidRequest, NotFound
from eddy.core.jobs import PRIORITIES, JobState
from eddy.core.records import JobRecord, TenantRecord
from eddy.store.outputs import OutputFile

T = TypeVar("T")
router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=JsonRoute)

_LARGEST_ID = (1 << 63) - 1
Output = Annotated[str, Path(max_length=256, description="Name of the output.")]
JobId = Annotated[Decimal, Path(ge=1, le=_LARGEST_ID, description="Job id.")]


class Listing(BaseModel):
    """Which jobs to list."""

    model_config = ConfigDict(extra="forbid")

    state: JobState | None = Field(default=None, description="Only jobs in this state.")
    tenant: str | None = Field(default=None, max_length=64, description="Only this tenant's (operators).")
    limit: Decimal | None = Field(default=None, ge=1, le=500, description="Jobs in a page.")
    cursor: str | None = Field(default=None, pattern=r"^[0-9]{1,18}$", description="`next` of the page before.")


def owner_of(context: Context, viewer: TenantRecord, job: int) -> str:
    """Whose job it is: the viewer's, or for the operator anybody's.

    Raises:
        NotFound: There is none of that id that the viewer may see.
    """
    if not viewer.admin:
        context.store.job(viewer.id, job)
        return viewer.id
    found = context.store.jobs(None, limit=1, after=min(job + 1, _LARGEST_ID))
    if not found or found[0].id != job:
        raise NotFound(f"There is no job {job}.", field="job", asked=job)
    return found[0].tenant


async def read(context: Context, call: Callable[[], T]) -> T:
    """Read the store: at once where nothing is on its way to the disk, else in a thread that can wait for it."""
    return await anyio.to_thread.run_sync(call) if context.store.settling else call()


def answer(context: Context, record: JobRecord) -> Job:
    """The job object, with its output links."""
    return job_answer(record, context.catalogue.applications, context.hypervisor.doing(record.id), context.kinds)


async def submit(
    body: JobSubmission,
    http: Request,
    response: Response,
    context: Ctx,
    tenant: Caller,
    idempotency_key: Annotated[
        str | None, Header(pattern=IDEMPOTENCY_KEY, description="Names this submission.", examples=["order-17"])
    ] = None,
) -> Job:
    """Accept a job, durably; the same `Idempotency-Key` with the same body names the same job.

    A kernel is compiled before the answer: 422 `compilation-failed` has the compiler's message, its line and column.
    That takes seconds, and others may come first; a connection that is closed gives it up.
    """
    view = body.check_kind(context.kinds)
    context.require_running()
    most = tenant.quota.max_priority
    if body.priority > most:
        allowed = [priority for priority in PRIORITIES if priority <= most]
        message = f"Your jobs may have a priority of at most {most}; ask the operator for more."
        raise InvalidRequest(message, field="priority", allowed=allowed)
    work = partial(context.hypervisor.submit, body.request(tenant.id, idempotency_key or "", view))
    record = await (while_connected(http, work) if view.lingers else work())
    response.headers["Location"] = f"/v1/jobs/{record.id}"
    return answer(context, record)


def routes(kinds: Mapping[str, KindView]) -> APIRouter:
    """Every route, where a submission has a field for each of `kinds`."""
    every = APIRouter(route_class=JsonRoute)

    async def submit_job(**values: Any) -> Job:
        return await submit(**values)

    # FastAPI reads the body's model from the signature, and it depends on the kinds.
    signature, model = inspect.signature(submit, eval_str=True), submission_model(kinds)
    parameters = [p.replace(annotation=model) if name == "body" else p for name, p in signature.parameters.items()]
    submit_job.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    submit_job.__doc__ = submit.__doc__
    every.add_api_route(
        router.prefix,
        submit_job,
        methods=["POST"],
        tags=list(router.tags),
        operation_id="submit_job",
        status_code=202,
        response_model=Job,
        summary="Submit a job",
        responses={202: {"headers": LOCATION}, **refusals(409, 429, 502)},
    )
    every.include_router(router)
    return every


@router.get("", operation_id="list_jobs", response_model=JobPage, summary="List jobs, newest first")
async def list_jobs(query: Annotated[Listing, Query()], context: Ctx, viewer: Caller) -> JobPage:
    """One page of your jobs; `next` is the cursor of the page after it."""
    if query.tenant is not None and not viewer.admin and query.tenant != viewer.id:
        raise InvalidRequest("You can list your own jobs only.", field="tenant", allowed=[viewer.id])
    limit = query.limit or context.settings.page_size
    whose = query.tenant if viewer.admin else viewer.id
    after = int(query.cursor) if query.cursor else None
    wanted = partial(context.store.jobs, whose, state=query.state, limit=limit + 1, after=after)
    found = await read(context, wanted)
    page = found[:limit]
    following = str(page[-1].id) if len(found) > limit else None
    return JobPage(jobs=[answer(context, record) for record in page], next=following)


@router.get("/{job}", operation_id="show_job", response_model=Job, summary="Show a job", responses=refusals(404))
async def show(job: JobId, context: Ctx, viewer: Caller) -> Job:
    """One job: its state, its times by cause, its outputs."""
    record = await read(context, lambda: context.store.job(owner_of(context, viewer, job), job))
    return answer(context, record)


@router.delete(
    "/{job}",
    operation_id="cancel_job",
    status_code=202,
    response_model=Job,
    summary="Cancel a job",
    responses=refusals(404, 409),
)
async def cancel(job: JobId, context: Ctx, viewer: Caller) -> Job:
    """Ask for a job's end. Cancelling twice is cancelling; a job that has ended otherwise answers 409."""
    owner = await anyio.to_thread.run_sync(owner_of, context, viewer, job)
    context.require_running()
    return answer(context, await context.hypervisor.cancel(owner, job))


@router.get(
    "/{job}/events",
    operation_id="follow_job",
    summary="Follow a job",
    response_class=StreamingResponse,
    responses={
        200: stream("Events, until the job has ended.", examples.EVENTS),
        204: {"description": "Ended; there are no more events."},
        **refusals(404),
    },
)
async def events(
    job: JobId,
    context: Ctx,
    viewer: Caller,
    last_event_id: Annotated[Decimal | None, Header(ge=0, le=_LARGEST_ID, description="The last event seen.")] = None,
) -> Response:
    """Server-sent events from the first, or after `Last-Event-ID`, until the job has ended; then one of kind `end`."""
    owner = await anyio.to_thread.run_sync(owner_of, context, viewer, job)
    after = last_event_id or 0
    record = await read(context, lambda: context.store.job(owner, job))
    if record.state.is_final and not await read(context, lambda: context.store.events(owner, job, after, 1)):
        return Response(status_code=204)
    stream = server_sent(context.hypervisor.follow(owner, job, after), context.settings.heartbeat_s, context.ending)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


@router.get(
    "/{job}/outputs/{name}",
    operation_id="fetch_output",
    summary="Fetch an output",
    response_class=Response,
    responses={200: content("application/octet-stream", "The bytes, item after item."), **refusals(404, 409)},
)
async def output(job: JobId, name: Output, context: Ctx, viewer: Caller) -> Response:
    """The bytes of an output buffer of all items, end to end, in item order; 409 until the job has succeeded."""
    file = await context.uploads.on_disk(_output, context, viewer, job, name)
    headers = {
        "X-Content-Type-Options": "nosniff",
        "Content-Disposition": f'attachment; filename="{job}-{quote(name)}.bin"',
        "Content-Length": str(file.size_bytes),
    }
    return StreamingResponse(file.pieces(), media_type="application/octet-stream", headers=headers)


def _output(context: Context, viewer: TenantRecord, job: int, name: str) -> OutputFile:
    """The output's file, verified: what is wrong with it is told before the first byte is sent."""
    owner = owner_of(context, viewer, job)
    record = context.store.job(owner, job)
    if record.state is not JobState.SUCCEEDED:
        message = f"Job {job} is {record.state.value}; outputs can be fetched once it has succeeded."
        raise Conflict(message, field="job", state=record.state.value)
    return context.store.output_file(owner, job, name).verify()


@router.get(
    "/{job}/log",
    operation_id="fetch_log",
    summary="Read what a kernel printed",
    response_class=PlainTextResponse,
    responses={200: content("text/plain", "What it printed."), **refusals(404)},
)
def log(job: JobId, context: Ctx, viewer: Caller) -> PlainTextResponse:
    """What a kernel job printed, in the order of work-items, also of one that failed; empty until it has ended, and for
    application jobs, which print nothing."""
    owner = owner_of(context, viewer, job)
    return PlainTextResponse(context.store.log(owner, job), headers={"X-Content-Type-Options": "nosniff"})
