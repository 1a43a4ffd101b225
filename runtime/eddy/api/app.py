"""The application factory: the routes, the errors, the limits, and the hypervisor's life around them."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager

import anyio
import structlog
from fastapi import APIRouter, FastAPI
from fastapi_offline import FastAPIOffline

from eddy.api import frequent, openapi, problems
from eddy.api.clock_watch import JumpWatch, watch_clock
from eddy.api.context import ApiSettings, Context, caller
from eddy.api.ending import Ending
from eddy.api.gauges import Figures
from eddy.api.keys import KeyHasher
from eddy.api.kinds import VIEWS, KindView, views_with
from eddy.api.limits import BodyLimit
from eddy.api.methods import Methods
from eddy.api.metrics import Measured, Metrics
from eddy.api.purging import Purging
from eddy.api.queries import Queries
from eddy.api.requests import Requests
from eddy.api.retention import keep_within_quota
from eddy.api.routes import (
    admin,
    apps,
    arrays,
    audit,
    blobs,
    events,
    explain,
    holds,
    jobs,
    keys,
    market,
    operate,
    overview,
    partial,
    session,
    slots,
    system,
    usage,
)
from eddy.api.submissions import submission_model
from eddy.core.errors import EddyError
from eddy.core.faults import Fault
from eddy.hypervisor import Hypervisor
from eddy.notify import READY, STOPPING, Notifier
from eddy.packages.catalogue import CatalogueInForce
from eddy.store import Store
from eddy.web import dashboard

DESCRIPTION = """Submit jobs to the slots of an FPGA board.

Every answer of 400 or more is `application/problem+json` with a stable `code`. Times are in board seconds unless their
name says `unix`."""

_log = structlog.get_logger("eddy.api")


def routers(kinds: Mapping[str, KindView] = VIEWS) -> tuple[APIRouter, ...]:
    """All of the API, for these kinds of jobs; first what is asked most."""
    others = (
        explain,
        holds,
        blobs,
        partial,
        apps,
        slots,
        market,
        overview,
        session,
        keys,
        usage,
        events,
        admin,
        operate,
        audit,
        system,
    )
    model = submission_model(kinds)
    return (jobs.frequent(model), jobs.router, arrays.routes(model), *(part.router for part in others), market.admin)


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
        hasher: For tenants' keys.
        settings: Limits.
        kinds: Further kinds of jobs; the hypervisor was given what makes works of them.
        on_failure: Called when the hypervisor's loop ended with an error; requests go on being answered, with 503.
    """
    context = Context(hypervisor, store, catalogue, hasher, settings or ApiSettings(), kinds=views_with(kinds))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            group.start_soon(_run, context, on_failure)
            group.start_soon(keep_within_quota, context)
            group.start_soon(Purging(context).run)
            group.start_soon(context.standing.watch)
            group.start_soon(watch_clock, lambda: store.happened.fault(Fault.CLOCK_JUMP), JumpWatch())
            group.start_soon(tell_manager, Notifier())
            yield
            group.cancel_scope.cancel()

    app = FastAPIOffline(title="Eddy", version="1", description=DESCRIPTION, lifespan=lifespan, redoc_url=None)
    app.router.redirect_slashes = False  # nobody is sent, with a key, to what the request says this host is called
    app.state.context = context
    app.state.metrics = Metrics(Figures(context))
    problems.install(app)
    most_asked, *others = every = routers(context.kinds)
    frequent.install(app, most_asked)
    for router in others:
        app.include_router(router)
    dashboard.install(app)
    app.add_middleware(Queries, routers=every, caller=caller)
    app.add_middleware(Methods)
    app.add_middleware(problems.Failures)
    app.add_middleware(Measured, metrics=app.state.metrics)
    app.add_middleware(
        BodyLimit, limit_bytes=context.settings.max_body_bytes, blob_limit_bytes=context.settings.max_blob_bytes
    )
    app.add_middleware(Ending, ending=context.ending)
    app.add_middleware(Requests)
    openapi.describe(app)
    return app


async def tell_manager(notifier: Notifier) -> None:
    """Tell the service manager that requests are taken, that this loop turns, and when it ends."""
    notifier.tell(READY)
    try:
        while True:
            notifier.beat()
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
