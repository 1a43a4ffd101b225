"""The head: the API of a board over the pool. It keeps nothing; any number of heads may answer at once, and one leads.

It answers what clients need to submit jobs, follow them and fetch outputs, the dashboard, and `/v1/pool` for operators.
What it has not `tests/unit/test_pool_routes.py` lists, each with the reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from eddy.api import problems
from eddy.api.bodies import JsonRoute
from eddy.api.bodies_base import IDEMPOTENCY_KEY, SHA256
from eddy.api.estimates import DryRun
from eddy.api.explained import Explained
from eddy.api.job_filters import ListQuery, cursor_of
from eddy.api.metrics import Measured, Metrics
from eddy.api.rendering import app_answer
from eddy.api.schemas import Job
from eddy.api.submissions import JobSubmission
from eddy.core.errors import Conflict, InvalidRequest, NotFound
from eddy.packages.catalogue import Catalogue
from eddy.pool import (
    account_routes,
    array_routes,
    event_routes,
    key_routes,
    market_routes,
    operator_routes,
    overview_routes,
    session_routes,
    timeline_routes,
)
from eddy.pool.blobs import PoolBlobs
from eddy.pool.bounds import Bounds
from eddy.pool.credentials import PoolUnreachable
from eddy.pool.ending import ended
from eddy.pool.figures import PoolFigures
from eddy.pool.forecast import Forecasts
from eddy.pool.gate import Gate
from eddy.pool.head_parts import Caller, HeadParts, Number, Operator, Parts
from eddy.pool.lead import Lead
from eddy.pool.link import AWAY, Link, steadily
from eddy.pool.records import SUCCEEDED, JobPart, PoolJob
from eddy.pool.rounds import WeightRounds
from eddy.pool.shown import explained, explanation, job_shown, trial_shown
from eddy.pool.submitting import admitted, requests_of, visible
from eddy.pool.table import PoolJobs
from eddy.pool.tenant_keys import PoolKeys
from eddy.pool.tenants import PoolTenant, PoolTenants
from eddy.store.numbers import Numbers
from eddy.web import dashboard

LOOK_S = 0.05
"""Between two looks at a record that somebody waits for."""
NOT_SUBMITTED = (1 << 63) - 1
"""Number of a job that is tried out: behind all others of its tenant."""
PATIENCE_S = 20.0
"""Wall seconds that the next part of an output may take; clients wait 30 s for bytes."""


router = APIRouter(prefix="/v1", route_class=JsonRoute)
Sha256 = Annotated[str, Path(pattern=SHA256, description="sha256 of the bytes, in lower-case hex.")]
Wait = Annotated[float, Query(ge=0, le=60)]


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
            await ended(running)
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
        PoolKeys(link),
        rounds,
        Forecasts(lead.seen),
        Bounds(link, lead.mirror),
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
    app.include_router(array_routes.router)
    app.include_router(event_routes.router)
    app.include_router(session_routes.router)
    app.include_router(account_routes.router)
    app.include_router(timeline_routes.router)
    app.include_router(key_routes.router)
    app.include_router(open_router)
    dashboard.install(app)
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
async def put_blob(sha256: Sha256, request: Request, parts: Parts, caller: Caller) -> Any:
    """Keep bytes under their sha256."""
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > parts.max_blob_bytes:
            raise problems.BodyTooLarge(parts.max_blob_bytes)
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        message = f"The bytes have sha256 {found}; send them under their own hash."
        raise InvalidRequest(message, field="sha256", asked=sha256, allowed=found)
    name = await parts.blobs.put(caller.id, bytes(data), found)
    return {"sha256": name, "bytes": len(data)}


@router.head("/blobs/{sha256}")
async def has_blob(sha256: Sha256, parts: Parts, caller: Caller) -> Response:
    """200 where it is there."""
    if await parts.blobs.size(caller.id, sha256) is None:
        raise NotFound("You have not stored this blob.", field="sha256", asked=sha256)
    return Response()


@router.get("/blobs/{sha256}")
async def fetch_blob(sha256: Sha256, parts: Parts, caller: Caller) -> Response:
    """The bytes."""
    return Response((await parts.blobs.fetch(caller.id, sha256)).data, media_type="application/octet-stream")


# -- jobs ---------------------------------------------------------------------------------------------------------


def _shown(parts: HeadParts, job: PoolJob, caller: PoolTenant | None = None) -> Job:
    """The job object; with what is expected of it, for a caller."""
    estimate = None if caller is None else parts.forecasts.of(job, caller.admin)
    return job_shown(job, parts.numbers.job.told, estimate)


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
    (request,), key = await requests_of(parts, caller, [body]), idempotency_key or ""
    if dry_run:
        return JSONResponse((await _tried(parts, caller, request)).model_dump(mode="json"))
    kept = await admitted(parts, caller, [request], key, lambda: parts.table.submit(caller.id, request, key))
    shown = _shown(parts, kept)
    response.headers["Location"] = shown.links["self"]
    return shown


async def _tried(parts: HeadParts, caller: PoolTenant, request: dict[str, Any]) -> DryRun:
    """What a submission would be; nothing of it is kept.

    Raises:
        InvalidRequest: The tenant may not ask for this priority.
        QuotaExceeded: It would have more jobs than it may.
    """
    await parts.bounds.check(await parts.tenants.get(caller.id), int(request["priority"]))
    job = PoolJob(NOT_SUBMITTED, caller.id, request, time.time())
    return trial_shown(job, *parts.forecasts.trial(job, caller.admin))


@router.get("/jobs")
async def list_jobs(query: Annotated[ListQuery, Query()], parts: Parts, caller: Caller) -> Any:
    """One page of your jobs; `next` is the cursor of the page after it, for the same filters and order."""
    if query.tenant is not None and not caller.admin and query.tenant != caller.id:
        raise InvalidRequest("You can list your own jobs only.", field="tenant", allowed=[caller.id])
    limit, numbers, mirror = query.limit or parts.page_size, parts.numbers, parts.lead.mirror
    await mirror.caught_up()
    wanted = query.wanted(query.tenant if caller.admin else caller.id, numbers)
    places = mirror.index.page(wanted, query.after(numbers), limit + 1)
    jobs = await asyncio.gather(*(parts.table.job(number) for _, number in places[:limit]))
    following = cursor_of(places[limit - 1], numbers) if len(places) > limit else None
    return {"jobs": [_shown(parts, job, caller) for job in jobs], "next": following}


@router.get("/jobs/{number}")
async def show_job(
    number: Number,
    parts: Parts,
    caller: Caller,
    wait: Wait = 0.0,
    while_state: Annotated[str | None, Query(alias="while")] = None,
) -> Any:
    """The job object; with `wait` once it has ended, or is not in that state any more."""
    job = await visible(parts, caller, number)
    deadline = time.monotonic() + wait
    while not job.ended and time.monotonic() < deadline and while_state in (None, job.state):
        await asyncio.sleep(LOOK_S)
        job = await parts.table.job(job.id)
    return _shown(parts, job, caller)


@router.delete("/jobs/{number}", status_code=202)
async def cancel(number: Number, parts: Parts, caller: Caller, wait: Wait = 0.0) -> Any:
    """End a job; its board drops it within a second."""

    def cancelled(job: PoolJob) -> PoolJob:
        if job.ended:
            raise Conflict(f"Job {number} has ended already: {job.state}.", job=number)
        return job.cancelled(time.time())

    job_id = (await visible(parts, caller, number)).id
    return _shown(parts, await parts.table.change(job_id, cancelled))


@router.get("/jobs/{number}/outputs/{name}")
async def output(number: Number, name: str, parts: Parts, caller: Caller) -> Response:
    """An output of all items, end to end."""
    job = await visible(parts, caller, number)
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


@router.get("/jobs/{number}/explain")
async def explain_job(number: Number, parts: Parts, caller: Caller) -> Explained:
    """Where a job's time went and what it waits for, as a board tells it."""
    job = await visible(parts, caller, number)
    return explanation(job, number, time.time(), parts.forecasts.of(job, caller.admin))


@router.get("/pool/jobs/{number}/explain")
async def explain(number: Number, parts: Parts, caller: Caller) -> Any:
    """Why a job is where it is, and where it has been."""
    return explained(await visible(parts, caller, number), number)
