"""The head: the API of a board over the pool. It keeps nothing; any number of heads may answer at once, and one leads.

It answers what clients need to submit jobs, follow them and fetch outputs, and `/v1/pool` for operators. What it has
not (arrays of jobs, sessions, usage, the dashboard) answers 404 or says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from nats.errors import TimeoutError as NatsTimeout
from nats.js.api import ConsumerConfig, DeliverPolicy

from eddy.api import problems
from eddy.api.bodies import JsonRoute
from eddy.api.events import HEARTBEAT, encode
from eddy.api.metrics import Measured, Metrics
from eddy.api.numbers import Decimal
from eddy.api.rendering import app_answer
from eddy.api.schemas import Job
from eddy.api.submissions import JobSubmission
from eddy.core.errors import Conflict, InvalidRequest, NotFound, QuotaExceeded
from eddy.packages.catalogue import Catalogue
from eddy.pool import market_routes, operator_routes, overview_routes
from eddy.pool.blobs import PoolBlobs
from eddy.pool.bounds import Bounds
from eddy.pool.credentials import PoolUnreachable
from eddy.pool.figures import PoolFigures
from eddy.pool.gate import Gate
from eddy.pool.head_parts import Caller, HeadParts, Operator, Parts
from eddy.pool.lead import Lead
from eddy.pool.link import AWAY, EVENTS, Link, steadily
from eddy.pool.records import FINAL, SUCCEEDED, JobPart, PoolJob
from eddy.pool.rounds import WeightRounds
from eddy.pool.shown import explained, job_shown
from eddy.pool.table import PoolJobs
from eddy.pool.tenants import PoolTenant, PoolTenants
from eddy.store.numbers import Numbers

LOOK_S = 0.05
"""Between two looks at a record that somebody waits for."""
PATIENCE_S = 20.0
"""Wall seconds that the next part of an output may take; clients wait 30 s for bytes."""


router = APIRouter(prefix="/v1", route_class=JsonRoute)
Wait = Annotated[float, Query(ge=0, le=60)]
Number = Annotated[Decimal, Path(ge=1, description="Of a job, as it was told.")]


def create_head(
    link: Link,
    lead: Lead,
    catalogue: Catalogue,
    numbers: Numbers,
    max_blob_bytes: int = 256 << 20,
    page_size: int = 50,
    beside: Callable[[], Awaitable[None]] | None = None,
) -> FastAPI:
    """The application of one head; its lifespan runs `lead`.

    Args:
        link: The pool.
        lead: This head's part in deciding.
        catalogue: What can be run: the packages that boards have too.
        numbers: How jobs and events are told (`eddy.pool.naming`).
        max_blob_bytes: Largest blob.
        page_size: Jobs in a page where the request names no limit.
        beside: Awaited once it has started.
    """

    rounds = WeightRounds(lead.mirror)
    metrics = Metrics(PoolFigures(link, lead, rounds))

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        gate = Gate(link, lead.mirror.on_board, rounds.weights)
        running = [asyncio.ensure_future(each.run()) for each in (lead, gate)]
        if beside is not None:
            await beside()
        try:
            yield
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            with contextlib.suppress(*AWAY):
                await asyncio.wait_for(lead.lease.give_up(), 2.0)

    app = FastAPI(title="Eddy pool", version="1", lifespan=lifespan, redoc_url=None)
    app.state.parts = HeadParts(
        link,
        lead,
        catalogue,
        PoolJobs(link),
        PoolBlobs(link),
        PoolTenants(link),
        rounds,
        Bounds(lead.mirror.jobs),
        numbers,
        metrics,
        max_blob_bytes,
        page_size,
    )
    problems.install(app)
    for kind in AWAY:
        app.add_exception_handler(kind, _away)
    app.add_middleware(problems.Failures)
    app.add_middleware(Measured, metrics=metrics)
    app.include_router(router)
    app.include_router(operator_routes.router)
    app.include_router(market_routes.router)
    app.include_router(overview_routes.router)
    app.include_router(open_router)
    return app


async def _away(request: Request, failure: Exception) -> Response:
    return problems.respond(request, PoolUnreachable.code, f"The pool's servers do not answer: {failure!r}. Try again.")


open_router = APIRouter()


@open_router.get("/healthz")
async def healthz() -> Any:
    """Whether this process answers."""
    return {"status": "ok"}


@open_router.get("/readyz")
async def readyz(parts: Parts) -> Response:
    """Whether jobs are taken: a server of the pool answers."""
    ready = parts.link.connected
    return JSONResponse({"status": "ok" if ready else "the pool is away"}, 200 if ready else 503)


@open_router.get("/metrics")
async def show_metrics(parts: Parts, operator: Operator) -> Response:
    """The pool and this head, in the Prometheus text format; sums over tenants."""
    body, media_type = parts.metrics.render()
    return Response(body, headers={"Content-Type": media_type})


@router.api_route("/arrays", methods=["GET", "POST"], include_in_schema=False)
@router.api_route("/arrays/{rest:path}", methods=["GET", "POST", "DELETE"], include_in_schema=False)
async def arrays(caller: Caller, rest: str = "") -> Any:
    """A board has arrays of jobs."""
    message = "A pool has no arrays of jobs; submit each job on its own, or the array to a board."
    raise NotFound(message, field="array", allowed="POST /v1/jobs")


# -- applications -------------------------------------------------------------------------------------------------


@router.get("/apps")
async def list_apps(parts: Parts, caller: Caller) -> Any:
    """Every application that boards of the pool may have."""
    apps = sorted(parts.catalogue.applications.values(), key=lambda app: app.name)
    return {"apps": [app_answer(app, parts.catalogue.shipped(app.name)) for app in apps]}


@router.get("/apps/{name}")
async def show_app(name: str, parts: Parts, caller: Caller) -> Any:
    """One application."""
    return app_answer(parts.catalogue.application(name), parts.catalogue.shipped(name))


# -- blobs --------------------------------------------------------------------------------------------------------


@router.put("/blobs/{sha256}", status_code=201)
async def put_blob(sha256: str, request: Request, parts: Parts, caller: Caller) -> Any:
    """Keep bytes under their sha256."""
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > parts.max_blob_bytes:
            raise problems.BodyTooLarge(parts.max_blob_bytes)
    name = await parts.blobs.put(caller.id, bytes(data), sha256)
    return {"sha256": name, "bytes": len(data)}


@router.head("/blobs/{sha256}")
async def has_blob(sha256: str, parts: Parts, caller: Caller) -> Response:
    """200 where it is there."""
    if await parts.blobs.size(caller.id, sha256) is None:
        raise NotFound("You have not stored this blob.", field="sha256", asked=sha256)
    return Response()


@router.get("/blobs/{sha256}")
async def fetch_blob(sha256: str, parts: Parts, caller: Caller) -> Response:
    """The bytes."""
    return Response((await parts.blobs.fetch(caller.id, sha256)).data, media_type="application/octet-stream")


# -- jobs ---------------------------------------------------------------------------------------------------------


async def _visible(parts: HeadParts, caller: PoolTenant, number: int) -> PoolJob:
    """The job that was told as a number, which the caller may see.

    Raises:
        NotFound: There is none.
    """
    with contextlib.suppress(NotFound):
        job = await parts.table.job(parts.numbers.job.meant(number))
        if job.tenant == caller.id or caller.admin:
            return job
    raise NotFound(f"There is no job {number}.", field="job", asked=number)


async def _own(parts: HeadParts, caller: PoolTenant, number: int) -> int:
    """What a caller's job that was told as a number is called inside.

    Raises:
        InvalidRequest: It has none such.
    """
    with contextlib.suppress(NotFound):
        job = await _visible(parts, caller, number)
        if job.tenant == caller.id:
            return job.id
    raise InvalidRequest(f"after: you have no job {number}.", field="after", asked=number)


def _shown(parts: HeadParts, job: PoolJob) -> Job:
    return job_shown(job, parts.numbers.job.told)


@router.post("/jobs", status_code=202)
async def submit(
    body: JobSubmission,
    response: Response,
    parts: Parts,
    caller: Caller,
    idempotency_key: Annotated[str | None, Header()] = None,
) -> Any:
    """Accept a job, durably; the same `Idempotency-Key` with the same body names the same job."""
    request = body.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    if body.after:
        request["after"] = [await _own(parts, caller, number) for number in dict.fromkeys(body.after)]
    if (body.application is None) == (body.kernel is None):
        raise InvalidRequest("A job has exactly one of application and kernel.", field="application")
    if body.application is not None:
        parts.catalogue.application(body.application)
    request |= {"priority": body.priority, "batch": body.batch}
    job = PoolJob(0, caller.id, request, time.time())
    for sha in job.blobs:
        if await parts.blobs.size(caller.id, sha) is None:
            raise InvalidRequest("A blob is missing; upload it first.", field="inputs", asked=sha)
    key = idempotency_key or ""
    try:
        with parts.bounds.within(await parts.tenants.get(caller.id), body.priority):
            kept = await parts.table.submit(caller.id, request, key)
    except (InvalidRequest, QuotaExceeded):
        if not (key and await parts.table.known(caller.id, key)):
            raise
        kept = await parts.table.submit(caller.id, request, key)  # it was accepted; a bound refuses nothing of that
    shown = _shown(parts, kept)
    response.headers["Location"] = shown.links["self"]
    return shown


@router.get("/jobs")
async def list_jobs(
    parts: Parts,
    caller: Caller,
    limit: Annotated[int | None, Query(ge=1, le=500)] = None,
    cursor: Annotated[Decimal | None, Query(ge=1)] = None,
    state: str | None = None,
) -> Any:
    """A page of jobs, newest first; every record of the pool is read for it."""
    before = None if cursor is None else parts.numbers.job.meant(cursor)
    if before is not None and before < 0:
        raise InvalidRequest("This cursor was never given; begin without one.", field="cursor", asked=cursor)
    jobs = [job for job in await parts.table.all() if caller.admin or job.tenant == caller.id]
    wanted = [job for job in reversed(jobs) if state in (None, job.state) and (before is None or job.id < before)]
    size = limit or parts.page_size
    page = wanted[:size]
    shown = [_shown(parts, job) for job in page]
    return {"jobs": shown, "next": str(shown[-1].id) if len(wanted) > size else None}


@router.get("/jobs/{number}")
async def show_job(
    number: Number,
    parts: Parts,
    caller: Caller,
    wait: Wait = 0.0,
    while_state: Annotated[str | None, Query(alias="while")] = None,
) -> Any:
    """The job object; with `wait` once it has ended, or is not in that state any more."""
    job = await _visible(parts, caller, number)
    deadline = time.monotonic() + wait
    while not job.ended and time.monotonic() < deadline and while_state in (None, job.state):
        await asyncio.sleep(LOOK_S)
        job = await parts.table.job(job.id)
    return _shown(parts, job)


@router.delete("/jobs/{number}", status_code=202)
async def cancel(number: Number, parts: Parts, caller: Caller, wait: Wait = 0.0) -> Any:
    """End a job; its board drops it within a second."""

    def cancelled(job: PoolJob) -> PoolJob:
        if job.ended:
            raise Conflict(f"Job {number} has ended already: {job.state}.", job=number)
        return job.cancelled(time.time())

    visible = await _visible(parts, caller, number)
    return _shown(parts, await parts.table.change(visible.id, cancelled))


@router.get("/jobs/{number}/outputs/{name}")
async def output(number: Number, name: str, parts: Parts, caller: Caller) -> Response:
    """An output of all items, end to end."""
    job = await _visible(parts, caller, number)
    if job.state != SUCCEEDED or name not in job.parts[0].outputs:
        raise NotFound(f"Job {number} is {job.state} and has no output {name!r}.", field="name", asked=name)

    async def fetched(part: JobPart) -> bytes:
        return (await parts.blobs.fetch(job.tenant, part.outputs[name])).data

    # Before anything is answered: where the pool is away, that is a 503, which clients try again.
    first = await fetched(job.parts[0])

    async def pieces() -> AsyncIterator[bytes]:
        yield first
        for part in job.parts[1:]:
            yield await asyncio.wait_for(steadily(lambda part=part: fetched(part)), PATIENCE_S)  # type: ignore[misc]

    return StreamingResponse(pieces(), media_type="application/octet-stream")


@router.get("/jobs/{number}/events")
async def events(
    number: Number, parts: Parts, caller: Caller, last_event_id: Annotated[int | None, Header()] = None
) -> Response:
    """What happened to a job, as it happens."""
    job = await _visible(parts, caller, number)
    return StreamingResponse(_events(parts, job, last_event_id), media_type="text/event-stream")


async def _events(parts: HeadParts, job: PoolJob, last: int | None) -> AsyncIterator[str]:
    """The job's part of the stream of events, until its record says that it has ended and all was told."""
    number = parts.numbers.job.told(job.id)
    after = -1 if last is None else parts.numbers.event.meant(last)
    start = {"deliver_policy": DeliverPolicy.ALL} if after < 0 else {
        "deliver_policy": DeliverPolicy.BY_START_SEQUENCE, "opt_start_seq": after + 1}  # fmt: skip
    subject = f"eddy.events.{job.tenant}.{job.id}"
    config = ConsumerConfig(**start, inactive_threshold=60, mem_storage=True)
    following = await parts.link.js.subscribe(subject, stream=EVENTS, ordered_consumer=True, config=config)
    silent_s = 0.0
    try:
        while True:
            try:
                message = await following.next_msg(timeout=0.5)
            except NatsTimeout:
                if (await parts.table.job(job.id)).ended:
                    break
                silent_s += 0.5
                if silent_s >= 15:
                    silent_s = 0.0
                    yield HEARTBEAT
                continue
            data = json.loads(message.data)
            event = parts.numbers.event.told(message.metadata.sequence.stream)
            yield encode(data.pop("kind"), {"job": number, **data}, event)
            if data.get("state") in FINAL:
                break
    finally:
        await following.unsubscribe()
    yield encode("end", {})


@router.get("/pool/jobs/{number}/explain")
async def explain(number: Number, parts: Parts, caller: Caller) -> Any:
    """Why a job is where it is, and where it has been."""
    return explained(await _visible(parts, caller, number), number)
