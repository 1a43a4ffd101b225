# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What every route of a head is given (`eddy.pool.head.app` puts it together), and who asks."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Depends, Path, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from eddy.api.access.open_streams import OpenStreams
from eddy.api.access.request_limits import InFlightRequests, TenantRateLimits, TokenBuckets
from eddy.api.access.session_bodies import SAFE, SessionCookie, session_of
from eddy.api.access.sessions import HEADER, Sessions
from eddy.api.access.uploads import UploadLimits, Uploads
from eddy.api.http.current_request import caller_in_use, cookie_in_use, key_in_use
from eddy.api.http.problems import Forbidden
from eddy.api.http.request_log import Metrics
from eddy.api.request_bodies.numbers import Decimal
from eddy.core.tenants import KeyScope
from eddy.packages.catalogue import Catalogue
from eddy.pool.jetstream.audit import PoolAudit
from eddy.pool.jetstream.blobs import PoolBlobs
from eddy.pool.jetstream.jobs import PoolJobs
from eddy.pool.jetstream.link import Link
from eddy.pool.jetstream.tenant_keys import PoolKeys
from eddy.pool.jetstream.tenants import PoolTenant, PoolTenants
from eddy.pool.placement.forecast import Forecasts
from eddy.pool.placement.leader import Leader
from eddy.pool.placement.shares import WeightRounds
from eddy.pool.routes.bounds import Bounds
from eddy.pool.routes.open_transfers import OpenTransfers
from eddy.store.db.numbers import Numbers

TRIALS_PER_S = 4.0
"""Dry runs of a tenant: each is a forecast of all that waits in the pool."""
OUTPUTS = UploadLimits(uploads=64, uploads_per_tenant=32)
"""Bounds on outputs that come from boards at once: those of a tenant's jobs may be one blob, which counts once."""


@dataclass(slots=True)
class HeadParts:
    """What the routes use.

    Attributes:
        lead: This head's part in deciding.
        numbers: How jobs and events are told.
        max_blob_bytes: Largest blob.
        page_size: Jobs in a page where the request names no limit.
        table, blobs, tenants, keys, audit: What the pool keeps.
        rounds: What tenants' weights are on each board.
        forecasts: What is expected of jobs.
        bounds: How many jobs tenants may have.
        metrics: Of the pool, and of this head.
        sessions: Browsers that are logged in at this head.
        transfers: Inputs and outputs on their way to and from boards.
        open_streams: Streams and waits that are open, with what they were opened with.
        in_flight: Requests under way, by tenant.
        uploads: Blobs that tenants send at this moment. Each is a file until it has come, though many that are one blob
            count as one against a tenant's quota.
        outputs: The same of boards, by tenant: no tenant that sends slowly is in their way.
        rates: Requests of tenants whose number a second is bounded, at this head.
        rate_limits: What takes a head as long as many other requests, by tenant. It asks the servers for each place in
            the stream of events, so anybody may look back at none at any rate.
        ending: Set once the head ends: streams and waits end then.
    """

    link: Link
    lead: Leader
    catalogue: Catalogue
    numbers: Numbers
    max_blob_bytes: int
    page_size: int
    table: PoolJobs
    blobs: PoolBlobs
    transfers: OpenTransfers
    tenants: PoolTenants
    keys: PoolKeys
    audit: PoolAudit
    rounds: WeightRounds
    forecasts: Forecasts
    bounds: Bounds
    metrics: Metrics
    sessions: Sessions
    open_streams: OpenStreams
    in_flight: InFlightRequests
    uploads: Uploads = field(default_factory=Uploads)
    outputs: Uploads = field(default_factory=lambda: Uploads(OUTPUTS))
    rate_limits: TenantRateLimits = field(
        default_factory=lambda: TenantRateLimits(forecasts_per_s=TRIALS_PER_S, few_events=0)
    )
    rates: TokenBuckets = field(default_factory=TokenBuckets)
    ending: asyncio.Event = field(default_factory=asyncio.Event)

    async def room(self, tenant: str) -> int:
        """Bytes of blobs and outputs that a tenant may keep, beside the records of its jobs.

        Raises:
            NotFound: There is none of that name.
        """
        return self.most_bytes(await self.tenants.get(tenant)) - self.lead.mirror.projection.tenant_bytes(tenant)

    async def note(self, caller: PoolTenant, action: str, **facts: Any) -> None:
        """Note what a caller is about to do, in the audit log.

        Args:
            action: What, as `drain-board`.
            facts: With what; plain JSON, and no secret.
        """
        await self.audit.note(caller.id, key_in_use.get(), action, facts)

    def most_bytes(self, tenant: PoolTenant) -> int:
        """Bytes that a tenant may keep in all."""
        own = tenant.max_blob_bytes
        return self.link.budget.tenant_bytes if own is None else own


async def parts_of(request: Request) -> HeadParts:
    """The head's parts."""
    parts = request.app.state.parts
    assert isinstance(parts, HeadParts)
    return parts


SESSION = "/v1/session"
"""A key that only reads may open one."""
Parts = Annotated[HeadParts, Depends(parts_of)]
_bearer = HTTPBearer(auto_error=False)


Number = Annotated[Decimal, Path(ge=1, description="Of a job, as it was told.")]


async def caller_of(
    request: Request,
    response: Response,
    parts: Parts,
    given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    cookie: SessionCookie = "",
) -> PoolTenant:
    """Who asks: by a key, or else by a browser's session at this head.

    Raises:
        Unauthorized: Nobody has this key, or it has ended, and there is no such session.
        Forbidden: The key only reads, or a session's request that changes something does not carry the session's token.
        RateLimited: It makes too many, or has as many under way as it may.
    """
    response.headers["Cache-Control"] = "no-store"
    if given is not None:
        caller, cookie = await parts.tenants.of_key(given.credentials), ""
    else:
        session = session_of(parts.sessions, cookie, request.method, request.headers.get(HEADER, ""))
        caller = await parts.tenants.of_hash(session.key_hash)
    if caller.scope == KeyScope.READ.value and request.method not in SAFE and request.url.path != SESSION:
        raise Forbidden("This key may look, and change nothing; use one of another scope.", field="Authorization")
    assert caller.key is not None
    parts.lead.mirror.keys.note_use(caller.key)
    caller_in_use.set(caller)
    key_in_use.set(caller.key.id)
    cookie_in_use.set(cookie)
    parts.in_flight.count_request(request.scope, caller)
    if (tenant := parts.lead.mirror.tenants.get(caller.id)) is not None:  # as this head last heard of it
        parts.rates.spend_token(tenant.id, tenant.max_requests_per_s)
    return caller


Caller = Annotated[PoolTenant, Depends(caller_of)]


async def operator_of(caller: Caller) -> PoolTenant:
    """Who asks, where that is the operator.

    Raises:
        Forbidden: It is a tenant.
    """
    if not caller.admin:
        raise Forbidden("Only the operator of the pool may do that.")
    return caller


Operator = Annotated[PoolTenant, Depends(operator_of)]
