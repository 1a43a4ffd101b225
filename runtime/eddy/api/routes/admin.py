"""`/v1/admin`: what only the operator may do."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Path, Response

from eddy.api.audit import note
from eddy.api.bodies import JsonRoute
from eddy.api.context import Context, Ctx, Operator
from eddy.api.keys import new_key
from eddy.api.openapi import refusals
from eddy.api.progress import check_promise
from eddy.api.rendering import tenant_answer
from eddy.api.schemas import Tenant, TenantList, TenantWithKey
from eddy.api.tenant_submissions import TenantChange, TenantSubmission
from eddy.core.errors import Conflict, NotFound, RecordDamaged
from eddy.core.tenants import DISPLAY_NAME, Quota, TenantRecord

_adding = threading.Lock()
"""Between asking for a name and taking it."""

_Name = Annotated[str, Path(max_length=64, description="The tenant's name.")]
router = APIRouter(prefix="/v1/admin", tags=["operator"], route_class=JsonRoute, responses=refusals(403))


@router.get("/tenants", operation_id="list_tenants", response_model=TenantList, summary="List tenants")
def list_tenants(context: Ctx, operator: Operator) -> TenantList:
    """Every tenant, by name, without keys."""
    tenants = context.store.tenants
    return TenantList(tenants=[tenant_answer(tenant) for tenant in tenants.all()], damaged=list(tenants.damaged))


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
    tenant = TenantRecord(body.id, context.hasher.hash(key), body.admin, body.quota.applied(Quota()), body.kept)
    with _adding:
        if _exists(context, body.id):
            raise Conflict(f"A tenant {body.id!r} exists already; use another name.", field="id", asked=body.id)
        note(context, operator, "add-tenant", tenant=body.id, admin=body.admin)
        context.store.tenants.put(tenant)
    response.headers["Cache-Control"] = "no-store"
    return TenantWithKey(**tenant_answer(tenant).model_dump(), key=key)


@router.get(
    "/tenants/{tenant}",
    operation_id="show_tenant",
    response_model=Tenant,
    summary="Show a tenant",
    responses=refusals(404),
)
def show_tenant(tenant: _Name, context: Ctx, operator: Operator) -> Tenant:
    """Its bounds and attributes."""
    return tenant_answer(context.store.tenants.get(tenant))


@router.patch(
    "/tenants/{tenant}",
    operation_id="change_tenant",
    response_model=Tenant,
    summary="Change a tenant",
    responses=refusals(404, 409),
)
def change_tenant(tenant: _Name, body: TenantChange, context: Ctx, operator: Operator) -> Tenant:
    """Bounds hold from the next request on, a weight from the next epoch on; what is left out stays as it was.

    Progress is promised to all tenants together up to 1: 409 says how much is left.
    """
    with _adding:
        known = context.store.tenants.get(tenant)
        attributes = dict(known.attributes) if body.attributes is None else dict(body.attributes)
        if body.weight is not None:
            attributes["weight"] = body.weight
        if body.display_name is not None:
            attributes[DISPLAY_NAME] = body.display_name
        if body.min_progress is not None:
            check_promise(context.store, tenant, body.min_progress)
            attributes["min_progress"] = body.min_progress
        changed = replace(known, quota=body.quota.applied(known.quota), attributes=attributes)
        note(context, operator, "change-tenant", tenant=tenant, **body.model_dump(exclude_unset=True))
        context.store.tenants.put(changed)
    return tenant_answer(changed)


def _exists(context: Context, name: str) -> bool:
    try:
        context.store.tenants.get(name)
    except (NotFound, RecordDamaged):  # one that is damaged has its jobs, bytes and keys, and is written again
        return False
    return True
