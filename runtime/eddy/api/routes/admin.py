"""`/v1/admin`: what only the operator may do."""

from __future__ import annotations

import threading

from fastapi import APIRouter, Response

from eddy.api.bodies import JsonRoute
from eddy.api.context import Context, Ctx, Operator
from eddy.api.keys import new_key
from eddy.api.openapi import refusals
from eddy.api.rendering import tenant_answer
from eddy.api.schemas import TenantList, TenantWithKey
from eddy.api.submissions import TenantSubmission
from eddy.core.errors import Conflict, NotFound
from eddy.core.records import Quota, TenantRecord

_adding = threading.Lock()
"""Between asking for a name and taking it."""

router = APIRouter(prefix="/v1/admin", tags=["operator"], route_class=JsonRoute, responses=refusals(403))


@router.get("/tenants", operation_id="list_tenants", response_model=TenantList, summary="List tenants")
def list_tenants(context: Ctx, operator: Operator) -> TenantList:
    """Every tenant, by name, without keys."""
    return TenantList(tenants=[tenant_answer(tenant) for tenant in context.store.tenants()])


@router.post(
    "/tenants",
    operation_id="add_tenant",
    status_code=201,
    response_model=TenantWithKey,
    summary="Add a tenant",
    responses=refusals(409),
)
def add_tenant(body: TenantSubmission, response: Response, context: Ctx, operator: Operator) -> TenantWithKey:
    """Add a tenant; its key is in this answer and nowhere else."""
    key = new_key()
    quota = Quota(max_jobs=body.quota.max_jobs, max_blob_bytes=body.quota.max_blob_bytes)
    tenant = TenantRecord(body.id, context.hasher.hash(key), body.admin, quota, body.attributes)
    with _adding:
        if _exists(context, body.id):
            raise Conflict(f"A tenant {body.id!r} exists already; use another name.", field="id", asked=body.id)
        context.store.put_tenant(tenant)
    response.headers["Cache-Control"] = "no-store"
    return TenantWithKey(**tenant_answer(tenant).model_dump(), key=key)


def _exists(context: Context, name: str) -> bool:
    try:
        context.store.tenant(name)
    except NotFound:
        return False
    return True
