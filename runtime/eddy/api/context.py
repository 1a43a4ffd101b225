"""What every route needs: the hypervisor, the store, the catalogue, the limits, and who is asking."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request, Response, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer

from eddy.api.connections import ConnectionLimits
from eddy.api.keys import KeyHasher
from eddy.api.kinds import VIEWS, KindView
from eddy.api.problems import Forbidden
from eddy.api.sessions import COOKIE, HEADER, Session, Sessions
from eddy.api.uploads import UploadLimits, Uploads
from eddy.core.errors import BoardUnreachable, Unauthorized
from eddy.core.records import TenantRecord
from eddy.hypervisor import Hypervisor
from eddy.packages.catalogue import CatalogueInForce
from eddy.store import Store


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """Limits of the API; the defaults are those of `eddy.settings`."""

    max_body_bytes: int = 1 << 20
    max_blob_bytes: int = 256 << 20
    heartbeat_s: float = 15.0
    page_size: int = 50
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

    def __post_init__(self) -> None:
        self.uploads = Uploads(self.settings.uploads)

    def require_running(self) -> None:
        """Refuse what could not be carried out.

        Raises:
            BoardUnreachable: The hypervisor has stopped, or has not reached its board yet.
        """
        if self.failure:
            raise BoardUnreachable(f"The hypervisor has stopped: {self.failure}. Restart `eddy serve`.")
        if not self.ready:
            raise BoardUnreachable("The hypervisor is waiting for its board; try again in a moment.")

    @property
    def ready(self) -> bool:
        """Whether jobs are taken at this moment; also while the board is away: they are durable, and wait for it."""
        return self.running and not self.failure and self.hypervisor.ready

    @property
    def unavailable(self) -> str:
        """Why jobs would not run at this moment, though the server has started; "" where they would."""
        problem = self.store.problem
        return self.failure or self.hypervisor.away or ("" if problem is None else problem.message)


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


def tenant_of_key(context: Context, key: str) -> TenantRecord:
    """Whose a key is.

    Raises:
        Unauthorized: Nobody's.
    """
    return _tenant(context, context.hasher.hash(key), "This key is unknown; ask the operator for one.")


def tenant_of_session(context: Context, session: Session) -> TenantRecord:
    """Whose a session is.

    Raises:
        Unauthorized: The key it was opened with is not valid any more.
    """
    return _tenant(context, session.key_hash, "This key is not valid any more; log in again.")


def _tenant(context: Context, key_hash: str, otherwise: str) -> TenantRecord:
    tenant = context.store.tenant_by_key(key_hash)
    if tenant is None:
        raise Unauthorized(otherwise, field="Authorization")
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
        Unauthorized: No key, or one nobody has.
        Forbidden: A session's request that changes something does not carry the session's token.
    """
    response.headers["Cache-Control"] = "no-store"
    if credentials is not None:
        return tenant_of_key(context, credentials.credentials)
    session = context.sessions.of(cookie) if cookie else None
    if session is None:
        raise Unauthorized("Send your key as `Authorization: Bearer <key>`.", field="Authorization")
    if request.method not in ("GET", "HEAD") and not session.allows(request.headers.get(HEADER, "")):
        raise Forbidden(f"Send the session's token as `{HEADER}`; `GET /v1/session` shows it.", field=HEADER)
    return tenant_of_session(context, session)


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
