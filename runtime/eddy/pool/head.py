"""The head: the API of a board over the pool. It keeps nothing; any number of heads may answer at once, and one leads.

It answers what clients need to submit jobs, follow them and fetch outputs, the dashboard, and `/v1/pool` for operators.
What it has not `tests/unit/test_pool_routes.py` lists, each with the reason.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import structlog
from fastapi import APIRouter, FastAPI, Request, Response

from eddy.api.http import problems
from eddy.api.http.connections import ConnectionLimits
from eddy.api.http.limits import BodyLimit
from eddy.api.http.requests import Requests
from eddy.core.errors import InvalidRequest, StorageQuotaExceeded
from eddy.packages.catalogue import Catalogue
from eddy.pool import (
    account_routes,
    app_routes,
    array_routes,
    blob_routes,
    event_routes,
    health_routes,
    job_routes,
    key_routes,
    market_routes,
    operator_routes,
    overview_routes,
    session_routes,
    timeline_routes,
)
from eddy.pool.credentials import PoolUnreachable
from eddy.pool.ending import ended, going_on
from eddy.pool.gate import Gate
from eddy.pool.head_parts import HeadParts
from eddy.pool.lead import Lead
from eddy.pool.link import Link
from eddy.pool.output_collector import OutputCollector
from eddy.pool.refusals import AWAY, LASTING, SAID_NO, UNDONE, refusal
from eddy.pool.stream_keeper import StreamKeeper
from eddy.store.db.numbers import Numbers
from eddy.web import dashboard

_log = structlog.get_logger("eddy.pool")
REFUSED_S = 0.25
"""Wall seconds after which a tenant hears that it keeps as many bytes as it may."""
MOST_BODY_BYTES = 1 << 20
"""Largest JSON body, as a board has it where nothing else is set; it is read before anybody looks at the key."""


def create_head(
    link: Link,
    lead: Lead,
    catalogue: Catalogue,
    numbers: Numbers,
    max_blob_bytes: int = 256 << 20,
    page_size: int = 50,
    beside: Callable[[], Awaitable[None]] | None = None,
    connections: ConnectionLimits = ConnectionLimits(),  # noqa: B008
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
        connections: Bounds on connections, and so on what a tenant has under way at once.
    """
    parts = HeadParts(link, lead, catalogue, numbers, max_blob_bytes, page_size, connections)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with _deciding(parts):
            if beside is not None:
                await beside()
            yield

    app = FastAPI(title="Eddy pool", version="1", lifespan=lifespan, redoc_url=None)
    app.state.parts = parts
    problems.install(app)
    for kind in AWAY:
        app.add_exception_handler(kind, _away)
    for said_no in SAID_NO:
        app.add_exception_handler(said_no, _refused)
    for lasting in LASTING:
        app.add_exception_handler(lasting, _not_taken)
    app.add_exception_handler(StorageQuotaExceeded, _over_quota)
    app.add_middleware(BodyLimit, limit_bytes=MOST_BODY_BYTES, blob_limit_bytes=max_blob_bytes)
    app.add_middleware(Requests, metrics=parts.metrics, ending=parts.ending)
    for router in routers():
        app.include_router(router)
    dashboard.install(app)
    return app


def routers() -> tuple[APIRouter, ...]:
    """All of the API of a head; the first that has a path answers."""
    parts = (
        app_routes,
        blob_routes,
        job_routes,
        operator_routes,
        market_routes,
        overview_routes,
        array_routes,
        event_routes,
        session_routes,
        account_routes,
        timeline_routes,
        key_routes,
        health_routes,
    )
    return tuple(part.router for part in parts)


@contextlib.asynccontextmanager
async def _deciding(parts: HeadParts) -> AsyncIterator[None]:
    """Take part in deciding for the pool; at the end another head may lead at once."""
    lead = parts.lead
    gate = Gate(parts.link, lead.mirror.on_board, parts.rounds.weights, lead.mirror.floods, parts.room)
    keeper = StreamKeeper(parts.link, lead.mirror)
    collector = OutputCollector(parts.link, lead, parts.blobs)
    forever = (lead.run, gate.run, collector.run, keeper.run, parts.standing.watch)
    running = [asyncio.ensure_future(going_on(each)) for each in forever]
    try:
        yield
    finally:
        await ended(running)
        with contextlib.suppress(*UNDONE):
            await asyncio.wait_for(lead.lease.give_up(), 2.0)


async def _over_quota(request: Request, failure: Exception) -> Response:
    """Whoever tries again and again is answered late: others' requests are not."""
    await asyncio.sleep(REFUSED_S)
    return problems.of_failure(request, failure)


async def _not_taken(request: Request, failure: Exception) -> Response:
    return problems.respond(request, InvalidRequest.code, f"The pool's servers do not take this: {failure!r}.")


async def _refused(request: Request, failure: Exception) -> Response:
    said = refusal(failure)
    _log.error("the pool's servers refuse a request", path=request.url.path, error=str(failure))
    return problems.respond(request, said.code, said.message)


async def _away(request: Request, failure: Exception) -> Response:
    return problems.respond(request, PoolUnreachable.code, f"The pool's servers do not answer: {failure!r}. Try again.")
