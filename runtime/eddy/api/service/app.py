# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The composition of the API: one server's parts, the routes and the middleware over them, and the engine's life around
them."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio
import structlog
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi_offline import FastAPIOffline

from eddy.api.access.hub_tokens import HubTokens, JupyterHub, KeysAndTokens
from eddy.api.access.identity_provider import IdentityProvider
from eddy.api.access.keys import KeyHasher
from eddy.api.access.open_streams import OpenStreams
from eddy.api.access.request_limits import InFlightRequests
from eddy.api.access.sessions import Sessions
from eddy.api.access.uploads import Uploads
from eddy.api.dependencies.callers import caller
from eddy.api.dependencies.context import ApiSettings, Context
from eddy.api.dependencies.events import words
from eddy.api.http import openapi, problems
from eddy.api.http.request_checks import RequestChecks
from eddy.api.http.request_log import Metrics, RequestLogMiddleware
from eddy.api.request_bodies.event_protocol import HEARTBEAT
from eddy.api.request_bodies.jobs import submission_model
from eddy.api.request_bodies.kinds import VIEWS, KindView, views_with
from eddy.api.routes import (
    admin,
    apps,
    arrays,
    audit,
    blobs,
    events,
    explain,
    history,
    holds,
    jobs,
    keys,
    leases,
    maintenance,
    market,
    notices,
    operate,
    overview,
    partial,
    profiles,
    projects,
    session,
    sessions,
    sign_on,
    system,
    usage,
)
from eddy.api.service.calendar_service import CalendarService
from eddy.api.service.clock_jumps import watch_clock
from eddy.api.service.gauges import GaugeCollector
from eddy.api.service.history_recorder import HistoryRecorder
from eddy.api.service.notice_service import NoticeService
from eddy.api.service.purge_service import PurgeService
from eddy.api.service.retention import keep_within_quota
from eddy.core.clock_jumps import ClockJumpDetector
from eddy.core.errors import EddyError
from eddy.core.faults import Fault
from eddy.core.records import JobEvent
from eddy.host.notify import READY, STOPPING, Notifier
from eddy.hypervisor import Hypervisor
from eddy.hypervisor.engine.event_fanout import EventFanout
from eddy.packages.catalogue import CatalogueInForce
from eddy.store import Store
from eddy.web import dashboard

DESCRIPTION = """Submit jobs to the slots of an FPGA board.

Every answer of 400 or more is `application/problem+json` with a stable `code`. Times are in board seconds unless their
name says `unix`."""

_log = structlog.get_logger("eddy.api")


def routes(kinds: Mapping[str, KindView] = VIEWS) -> list[APIRoute]:
    """All of the API, for these kinds of jobs; the first that has a path answers.

    An application takes the routes themselves: FastAPI makes each one again for every application that includes its
    router, which is half of what a server's first answer costs.
    """
    others = (
        explain,
        profiles,
        holds,
        blobs,
        partial,
        apps,
        market,
        overview,
        history,
        leases,
        session,
        sessions,
        sign_on,
        keys,
        usage,
        events,
        admin,
        projects,
        operate,
        audit,
        notices,
        maintenance,
        system,
    )
    model = submission_model(kinds)
    every = (jobs.router_for(model), arrays.router_for(model), *(part.router for part in others), market.admin)
    return [route for router in every for route in router.routes if isinstance(route, APIRoute)]


def compose(
    hypervisor: Hypervisor,
    store: Store,
    catalogue: CatalogueInForce,
    hasher: KeyHasher,
    settings: ApiSettings | None = None,
    kinds: Iterable[KindView] = (),
) -> Context:
    """Put one server's parts together; the arguments are those of `create_app`."""
    settings, sessions = settings or ApiSettings(), Sessions(keeper=store.logins)
    hub = HubTokens(JupyterHub(settings.hub)) if settings.hub.api else None

    def encode(events: Sequence[JobEvent]) -> bytes:
        return words(events, store.numbers)

    context = Context(
        hypervisor,
        store,
        catalogue,
        hasher,
        settings,
        views_with(kinds),
        Uploads(settings.uploads),
        InFlightRequests(settings.connections),
        OpenStreams(store.keys if hub is None else KeysAndTokens(store.keys, hub), sessions),
        EventFanout(hypervisor.followers, store, encode, HEARTBEAT.encode(), lambda: context.settings.heartbeat_s),
        sessions,
        provider=IdentityProvider(settings.oidc) if settings.oidc.issuer else None,
        hub=hub,
    )
    if hub is not None:
        hub.in_use = context.open_streams.keys_in_use
    return context


def create_app(
    hypervisor: Hypervisor,
    store: Store,
    catalogue: CatalogueInForce,
    hasher: KeyHasher,
    settings: ApiSettings | None = None,
    on_failure: Callable[[], None] = lambda: None,
    kinds: Iterable[KindView] = (),
) -> FastAPI:
    """Make the API of one hypervisor; its lifespan runs the hypervisor's loop.

    Args:
        hypervisor: Not yet running.
        store: The one the hypervisor writes to.
        catalogue: What is offered; the hypervisor was given its `applications`.
        kinds: Further kinds of jobs; the hypervisor was given what makes works of them.
        on_failure: Called when the hypervisor's loop ended with an error; requests go on being answered, with 503.
    """
    context = compose(hypervisor, store, catalogue, hasher, settings, kinds)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            group.start_soon(_run, context, on_failure)
            group.start_soon(keep_within_quota, context)
            group.start_soon(PurgeService(context).run)
            group.start_soon(HistoryRecorder(context).run)
            group.start_soon(CalendarService(context).run)
            group.start_soon(NoticeService(context).run)
            group.start_soon(context.open_streams.watch)
            if context.hub is not None:
                group.start_soon(context.hub.watch)
            clock = ClockJumpDetector(time.time, time.monotonic)
            group.start_soon(watch_clock, lambda: context.store.happened.fault(Fault.CLOCK_JUMP), clock)
            group.start_soon(tell_manager, Notifier())
            yield
            group.cancel_scope.cancel()

    app = FastAPIOffline(title="Eddy", version="1", description=DESCRIPTION, lifespan=lifespan, redoc_url=None)
    app.router.redirect_slashes = False  # nobody is sent, with a key, to what the request says this host is called
    app.state.context = context
    app.state.metrics = Metrics(GaugeCollector(context))
    problems.install(app)
    every = routes(context.kinds)
    app.router.routes.extend(every)
    dashboard.install(app)
    app.add_middleware(
        RequestChecks,
        routes=every,
        caller=caller,
        limit_bytes=context.settings.max_body_bytes,
        blob_limit_bytes=context.settings.max_blob_bytes,
    )
    app.add_middleware(RequestLogMiddleware, metrics=app.state.metrics, ending=context.ending)
    openapi.describe(app)
    return app


async def tell_manager(notifier: Notifier) -> None:
    """Tell the service manager that requests are taken, that this loop turns, and when it ends."""
    notifier.tell(READY)
    try:
        while True:
            notifier.send_watchdog()
            await anyio.sleep(math.inf if notifier.interval_s is None else notifier.interval_s)
    finally:
        notifier.tell(STOPPING)


async def _run(context: Context, on_failure: Callable[[], None]) -> None:
    """Run the hypervisor; where it fails, say why and keep answering."""
    context.running = True
    try:
        await context.hypervisor.run()
    except Exception as failure:  # whatever it was, tenants must hear that nothing runs any more
        context.failure = failure.message if isinstance(failure, EddyError) else f"{type(failure).__name__}: {failure}"
        _log.error("hypervisor stopped", exc_info=failure)
        on_failure()
    finally:
        context.running = False
