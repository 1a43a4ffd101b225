# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The head: the API of a board over the pool. It keeps nothing; any number of heads may answer at once, and one leads.

It answers what clients need to submit jobs, follow them and fetch outputs, the dashboard, and `/v1/pool` for operators.
What it has not `tests/unit/pool/head/test_pool_routes.py` lists, each with the reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute

from eddy.api.access.open_streams import OpenStreams
from eddy.api.access.request_limits import InFlightRequests
from eddy.api.access.sessions import Sessions
from eddy.api.http import problems
from eddy.api.http.connections import ConnectionLimits
from eddy.api.http.request_checks import RequestChecks
from eddy.api.http.request_log import Metrics, RequestLogMiddleware
from eddy.core.errors import InvalidRequest, StorageQuotaExceeded
from eddy.host.distribution import version
from eddy.packages.catalogue import Catalogue
from eddy.pool.connection.credentials import PoolUnreachable
from eddy.pool.connection.refusals import AWAY, LASTING, SAID_NO, UNDONE, translate_refusal
from eddy.pool.connection.streams import HEADS
from eddy.pool.connection.tasks import ended, run_forever
from eddy.pool.head.board_requests import BoardRequestHandler
from eddy.pool.head.figures import PoolFigures
from eddy.pool.head.output_collector import OutputCollector
from eddy.pool.head.record_collector import RecordCollector
from eddy.pool.head.stream_keeper import StreamMonitor
from eddy.pool.jetstream.audit import PoolAudit
from eddy.pool.jetstream.blobs import PoolBlobs
from eddy.pool.jetstream.jobs import PoolJobs
from eddy.pool.jetstream.link import Link
from eddy.pool.jetstream.tenant_keys import PoolKeys
from eddy.pool.jetstream.tenants import PoolTenants
from eddy.pool.placement.forecast import Forecasts
from eddy.pool.placement.leader import Leader
from eddy.pool.placement.shares import WeightRounds
from eddy.pool.routes import (
    account,
    apps,
    arrays,
    blobs,
    events,
    health,
    jobs,
    keys,
    market,
    operator,
    overview,
    session,
    timeline,
    transfers,
    usage,
)
from eddy.pool.routes.bounds import Bounds
from eddy.pool.routes.context import HeadParts, caller_of
from eddy.pool.routes.open_transfers import OpenTransfers
from eddy.store.db.bounds import JobBounds
from eddy.store.db.numbers import Numbers
from eddy.web import dashboard


class RollCall:
    """One head's answers."""

    def __init__(self, link: Link, name: str) -> None:
        self._link, self._name = link, name

    async def run(self) -> None:
        """Answer until cancelled."""
        asked = await self._link.nats.subscribe(HEADS)
        try:
            async for message in asked.messages:
                with contextlib.suppress(*UNDONE):
                    await message.respond(json.dumps({"name": self._name, "release": version()}).encode())
        finally:
            with contextlib.suppress(*UNDONE):
                await asked.unsubscribe()


_log = structlog.get_logger("eddy.pool")
REFUSED_S = 0.25
"""Wall seconds after which a tenant hears that it keeps as many bytes as it may."""
MAX_BODY_BYTES = 1 << 20
"""Largest JSON body, as a board has it where nothing else is set; it is read before anybody looks at the key."""


def create_head(
    link: Link,
    lead: Leader,
    catalogue: Catalogue,
    numbers: Numbers,
    max_blob_bytes: int = 256 << 20,
    page_size: int = 50,
    beside: Callable[[], Awaitable[None]] | None = None,
    connections: ConnectionLimits = ConnectionLimits(),  # noqa: B008
    retention: JobBounds = JobBounds(),  # noqa: B008
    url: str = "http://head",
) -> FastAPI:
    """The application of one head; its lifespan runs `lead`.

    Args:
        lead: This head's part in deciding.
        catalogue: What can be run: the packages that boards have too.
        numbers: How jobs and events are told (`eddy.pool.jetstream.naming`).
        max_blob_bytes: Largest blob.
        page_size: Jobs in a page where the request names no limit.
        beside: Awaited once it has started.
        connections: Bounds on connections, and so on what a tenant has under way at once.
        retention: What is kept of jobs that have ended.
        url: Where boards reach this head.
    """
    sessions, rounds = Sessions(), WeightRounds(lead.mirror)
    parts = HeadParts(
        link=link,
        lead=lead,
        catalogue=catalogue,
        numbers=numbers,
        max_blob_bytes=max_blob_bytes,
        page_size=page_size,
        table=PoolJobs(link, array_owner=lead.mirror.array_owner),
        blobs=PoolBlobs(link),
        transfers=OpenTransfers(url),
        tenants=PoolTenants(link),
        keys=PoolKeys(link),
        audit=PoolAudit(link),
        rounds=rounds,
        forecasts=Forecasts(lead.pool_view),
        bounds=Bounds(link, lead.mirror),
        metrics=Metrics(PoolFigures(link, lead, rounds)),
        sessions=sessions,
        open_streams=OpenStreams(lead.mirror.keys, sessions),
        in_flight=InFlightRequests(connections),
    )

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with _deciding(parts, retention):
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
    app.add_middleware(
        RequestChecks,
        routes=routes(),
        caller=caller_of,
        limit_bytes=MAX_BODY_BYTES,
        blob_limit_bytes=max_blob_bytes,
    )
    app.add_middleware(RequestLogMiddleware, metrics=parts.metrics, ending=parts.ending)
    app.router.routes.extend(routes())
    dashboard.install(app)
    return app


def routes() -> list[APIRoute]:
    """All of the API of a head; the first that has a path answers."""
    parts = (
        apps,
        blobs,
        jobs,
        operator,
        market,
        overview,
        arrays,
        events,
        session,
        account,
        usage,
        timeline,
        keys,
        health,
        transfers,
    )
    return [route for part in parts for route in part.router.routes if isinstance(route, APIRoute)]


@contextlib.asynccontextmanager
async def _deciding(parts: HeadParts, retention: JobBounds) -> AsyncIterator[None]:
    """Take part in deciding for the pool; at the end another head may lead at once."""
    lead = parts.lead
    gate = BoardRequestHandler(
        parts.link, lead.mirror.on_board, parts.rounds.weights, lead.mirror.floods, parts.transfers
    )
    keeper = StreamMonitor(parts.link, lead.mirror)
    collector = OutputCollector(parts.link, lead, parts.blobs)
    records = RecordCollector(parts.link, lead, parts.blobs, retention)
    roll_call = RollCall(parts.link, lead.lease.name)
    forever = (
        lead.run, gate.run, collector.run, records.run, keeper.run, roll_call.run, parts.open_streams.watch,
    )  # fmt: skip
    running = [asyncio.ensure_future(run_forever(each)) for each in forever]
    try:
        yield
    finally:
        await ended(running)
        with contextlib.suppress(*UNDONE):
            await asyncio.wait_for(lead.lease.release(), 2.0)


async def _over_quota(request: Request, failure: Exception) -> Response:
    """Whoever tries again and again is answered late: others' requests are not."""
    await asyncio.sleep(REFUSED_S)
    return problems.of_failure(request, failure)


async def _not_taken(request: Request, failure: Exception) -> Response:
    return problems.respond(request, InvalidRequest.code, f"The pool's servers do not take this: {failure!r}.")


async def _refused(request: Request, failure: Exception) -> Response:
    said = translate_refusal(failure)
    _log.error("the pool's servers refuse a request", path=request.url.path, error=str(failure))
    return problems.respond(request, said.code, said.message)


async def _away(request: Request, failure: Exception) -> Response:
    return problems.respond(request, PoolUnreachable.code, f"The pool's servers do not answer: {failure!r}. Try again.")
