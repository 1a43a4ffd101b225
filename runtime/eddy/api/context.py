"""What every route needs: the hypervisor, the store, the catalogue, the limits, and who is asking."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request, Response, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from starlette.types import Scope

from eddy.api.connections import ConnectionLimits
from eddy.api.event_protocol import HEARTBEAT
from eddy.api.events import words
from eddy.api.in_flight import InFlight
from eddy.api.keys import KeyHasher, caller_in_use, cookie_in_use, key_in_use
from eddy.api.kinds import VIEWS, KindView
from eddy.api.looks import Looks
from eddy.api.open_streams import OpenStreams
from eddy.api.problems import KINDS, Forbidden
from eddy.api.rates import Rates
from eddy.api.rendered import RenderedJobs
from eddy.api.session_bodies import SAFE, session_of
from eddy.api.sessions import COOKIE, HEADER, Sessions
from eddy.api.uploads import UploadLimits, Uploads
from eddy.core.errors import BoardUnreachable, Unauthorized
from eddy.core.records import JobEvent
from eddy.core.tenants import ApiKey, KeyScope, TenantRecord
from eddy.hypervisor import Hypervisor
from eddy.hypervisor.engine.fanout import Fanout
from eddy.packages.catalogue import CatalogueInForce
from eddy.store import Store
from eddy.store.db.bounds import JobBounds

STOPPED = "The hypervisor has stopped: tell the operator, whose log says why. What you have submitted is kept."
AWAY = "The board is away: jobs are taken, and continue once it is back. The operator's log says why it is."


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """Limits of the API; the defaults are those of `eddy.settings`."""

    max_body_bytes: int = 1 << 20
    max_blob_bytes: int = 256 << 20
    heartbeat_s: float = 15.0
    page_size: int = 50
    max_output_bytes: int = 0
    retention: JobBounds = field(default_factory=JobBounds)
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)
    uploads: UploadLimits = field(default_factory=UploadLimits)


@dataclass(slots=True)
class Context:
    """One server's parts.

    Attributes:
        hypervisor: The loop that owns the jobs.
        store: What survives.
        catalogue: Applications and modules.
        hasher: Turns keys into what the store holds.
        settings: Limits.
        failure: Why the hypervisor stopped, where it did; "" while it runs.
        running: Whether the hypervisor's loop has been started.
        kinds: What is shown of each kind of jobs, by its name.
        ending: Set once the server ends: streams end then.
        uploads: Blobs on their way in.
        sessions: Browsers that are logged in.
        rates: How many requests tenants make.
        looks: How many of those that take long.
        held: How many of them are under way.
        standing: Streams that are open.
        rendered: Texts of jobs that have ended.
        fanout: Tells everyone who follows jobs.
        collected: Jobs whose outputs were removed to make room since the start, and the bytes they had.
    """

    hypervisor: Hypervisor
    store: Store
    catalogue: CatalogueInForce
    hasher: KeyHasher
    settings: ApiSettings = field(default_factory=ApiSettings)
    failure: str = ""
    running: bool = False
    kinds: Mapping[str, KindView] = field(default_factory=lambda: VIEWS)
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    uploads: Uploads = field(init=False)
    sessions: Sessions = field(default_factory=Sessions)
    rates: Rates = field(default_factory=Rates)
    looks: Looks = field(default_factory=Looks)
    rendered: RenderedJobs = field(default_factory=RenderedJobs)
    collected: tuple[int, int] = (0, 0)

    fanout: Fanout = field(init=False)
    held: InFlight = field(init=False)
    standing: OpenStreams = field(init=False)

    def __post_init__(self) -> None:
        self.uploads = Uploads(self.settings.uploads)
        self.held = InFlight(self.settings.connections)
        self.standing = OpenStreams(self.store.keys, self.sessions)
        beat, silence_s = HEARTBEAT.encode(), lambda: self.settings.heartbeat_s

        def told(events: Sequence[JobEvent]) -> bytes:
            return words(events, self.store.numbers)

        self.fanout = Fanout(self.hypervisor.followers, self.store, told, beat, silence_s)

    def require_running(self) -> None:
        """Refuse what could not be carried out.

        Raises:
            BoardUnreachable: The hypervisor has stopped, or has not reached its board yet.
        """
        if self.failure:
            raise BoardUnreachable(self.unavailable)
        if not self.ready:
            raise BoardUnreachable("The hypervisor is waiting for its board; try again in a moment.")

    @property
    def ready(self) -> bool:
        """Whether jobs are taken at this moment; also while the board is away: they are durable, and wait for it."""
        return self.running and not self.failure and self.hypervisor.ready

    @property
    def unavailable(self) -> str:
        """Why jobs would not run at this moment, though the server has started; "" where they would. Where sockets and
        files lie is the operator's matter: others are told what it means for them."""
        problem, asking = self.store.problem, caller_in_use.get()
        if asking is not None and asking.admin:
            stopped = self.failure and f"The hypervisor has stopped: {self.failure}. Restart `eddy serve`."
            return stopped or self.hypervisor.away or ("" if problem is None else KINDS[problem.code].title)
        if self.failure:
            return STOPPED
        return AWAY if self.hypervisor.away else "" if problem is None else KINDS[problem.code].title


async def context_of(request: Request) -> Context:
    """The server's context. Like every dependency that waits for nothing it is `async`: others cost a thread's turn."""
    context = request.app.state.context
    assert isinstance(context, Context)
    return context


Ctx = Annotated[Context, Depends(context_of)]
_bearer = HTTPBearer(
    auto_error=False, scheme_name="api_key", description="A tenant's key, as `eddy tenant add` shows it."
)
_cookie = APIKeyCookie(
    name=COOKIE,
    auto_error=False,
    scheme_name="session",
    description="A browser's session, of `POST /v1/session`.",
)


SESSION = "/v1/session"
"""What a key that only reads may change: its own session."""


def tenant_of_key(context: Context, key: str) -> TenantRecord:
    """Whose a key is, with what the key may do.

    Raises:
        Unauthorized: Nobody's, or it has ended.
    """
    return _tenant(context, _valid(context, context.hasher.hash(key)))


def _valid(context: Context, key_hash: str) -> ApiKey:
    """A key that is valid.

    Raises:
        Unauthorized: There is none of this hash, or it has ended.
    """
    key = context.store.keys.by_hash(key_hash)
    if key is None:
        raise Unauthorized("This key is unknown; ask the operator for one.", field="Authorization")
    ended = key.ended(time.time())
    if ended:
        what = "This key has expired" if ended == "expired" else "This key was revoked"
        raise Unauthorized(f"{what}; take another one, or ask the operator for one.", field="Authorization")
    return key


def _tenant(context: Context, key: ApiKey) -> TenantRecord:
    """The tenant, with no more rights than the key has."""
    tenant = context.store.tenants.get(key.tenant)
    if tenant.admin and key.scope is KeyScope.TENANT:
        return dataclasses.replace(tenant, admin=False)
    return tenant


async def caller(
    request: Request,
    response: Response,
    context: Ctx,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
    cookie: Annotated[str | None, Security(_cookie)],
) -> TenantRecord:
    """Who is asking: by a key, or else by a browser's session. What is answered is theirs, and no cache's.

    Raises:
        Unauthorized: No key, or one nobody has, or that has ended.
        Forbidden: A session's request that changes something does not carry the session's token; or the key only reads.
        RateLimited: Its tenant makes too many requests.
    """
    response.headers["Cache-Control"] = "no-store"
    if credentials is not None:
        tenant = identify(context, request.method, request.scope["path"], credentials.credentials)
    else:
        session = session_of(context.sessions, cookie, request.method, request.headers.get(HEADER, ""))
        key = _valid(context, session.key_hash)
        tenant = _noted(*_allowed(context, request.method, request.scope["path"], key), cookie or "")
    charge(context, tenant, request.scope)
    return tenant


def identify(context: Context, method: str, path: str, key: str) -> TenantRecord:
    """Whose key it is, where the key may do this.

    Args:
        context: The server's.
        method: Of the request.
        path: Of the request.
        key: As it was sent.

    Raises:
        Unauthorized: Nobody's, or it has ended.
        Forbidden: It only reads.
    """
    return _noted(*_allowed(context, method, path, _valid(context, context.hasher.hash(key))))


def _allowed(context: Context, method: str, path: str, key: ApiKey) -> tuple[ApiKey, TenantRecord]:
    if method not in SAFE and key.scope is KeyScope.READ and path != SESSION:
        raise Forbidden("This key may look, and change nothing; use one of another scope.", field="Authorization")
    return key, _tenant(context, key)


def _noted(key: ApiKey, tenant: TenantRecord, cookie: str = "") -> TenantRecord:
    """Have others know who makes the request under way, and with what: the log, and what ends with it."""
    key_in_use.set(key.id)
    cookie_in_use.set(cookie)
    caller_in_use.set(tenant)
    return tenant


def charge(context: Context, tenant: TenantRecord, scope: Scope) -> None:
    """Count a request of a tenant, of which that is the scope.

    Raises:
        RateLimited: It makes too many, or has too many under way.
    """
    context.held.take(scope, tenant)
    context.rates.take(tenant.id, tenant.quota.max_requests_per_s)


Caller = Annotated[TenantRecord, Depends(caller)]


async def operator(tenant: Caller) -> TenantRecord:
    """Whoever is asking, where that is the operator.

    Raises:
        Forbidden: It is a tenant.
    """
    if not tenant.admin:
        raise Forbidden("This needs the operator's key.", field="Authorization")
    return tenant


Operator = Annotated[TenantRecord, Depends(operator)]
