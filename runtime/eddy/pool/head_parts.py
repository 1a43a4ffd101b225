"""What every route of a head needs: the pool, this head's part in deciding, and who asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from eddy.api.metrics import Metrics
from eddy.api.problems import Forbidden
from eddy.core.errors import Unauthorized
from eddy.packages.catalogue import Catalogue
from eddy.pool.blobs import PoolBlobs
from eddy.pool.bounds import Bounds
from eddy.pool.lead import Lead
from eddy.pool.link import Link
from eddy.pool.rounds import WeightRounds
from eddy.pool.table import PoolJobs
from eddy.pool.tenants import PoolTenant, PoolTenants
from eddy.store.numbers import Numbers


@dataclass(slots=True)
class HeadParts:
    """What the routes use."""

    link: Link
    lead: Lead
    catalogue: Catalogue
    table: PoolJobs
    blobs: PoolBlobs
    tenants: PoolTenants
    rounds: WeightRounds
    bounds: Bounds
    numbers: Numbers
    metrics: Metrics
    max_blob_bytes: int
    page_size: int


async def parts_of(request: Request) -> HeadParts:
    """The head's parts."""
    parts = request.app.state.parts
    assert isinstance(parts, HeadParts)
    return parts


Parts = Annotated[HeadParts, Depends(parts_of)]
_bearer = HTTPBearer(auto_error=False)


async def caller_of(
    parts: Parts, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> PoolTenant:
    """Who asks.

    Raises:
        Unauthorized: Nobody has this key.
    """
    if given is None:
        raise Unauthorized("Send `Authorization: Bearer <key>`.")
    return await parts.tenants.of_key(given.credentials)


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
