"""What every route needs: the hypervisor, the store, the catalogue, the limits, and who is asking."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from eddy.api.connections import ConnectionLimits
from eddy.api.keys import KeyHasher
from eddy.api.problems import Forbidden
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
        ending: Set once the server ends: streams end then.
        uploads: Blobs on their way in.
    """

    hypervisor: Hypervisor
    store: Store
    catalogue: CatalogueInForce
    hasher: KeyHasher
    settings: ApiSettings = field(default_factory=ApiSettings)
    failure: str = ""
    running: bool = False
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    uploads: Uploads = field(init=False)

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


async def caller(
    context: Ctx, credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
) -> TenantRecord:
    """Who is asking.

    Raises:
        Unauthorized: No key, or one nobody has.
    """
    if credentials is None:
        raise Unauthorized("Send your key as `Authorization: Bearer <key>`.", field="Authorization")
    tenant = context.store.tenant_by_key(context.hasher.hash(credentials.credentials))
    if tenant is None:
        raise Unauthorized("This key is unknown; ask the operator for one.", field="Authorization")
    return tenant


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
