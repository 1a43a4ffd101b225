# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/admin`: what only the operator may do."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from eddy.api.access.key_rules import check_may_add
from eddy.api.access.keys import new_key
from eddy.api.access.operator_account import OPERATOR
from eddy.api.answers.rendering import tenant_answer
from eddy.api.answers.schemas import PurgeAnswer, Tenant, TenantLeaving, TenantList, TenantWithKey
from eddy.api.dependencies.audit import record_action
from eddy.api.dependencies.callers import Ctx, Operator
from eddy.api.dependencies.context import Context
from eddy.api.dependencies.progress import check_promise
from eddy.api.http.current_request import key_in_use
from eddy.api.http.openapi import refusals
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.api.request_bodies.tenants import PurgeSubmission, TenantChange, TenantSubmission
from eddy.core.errors import Conflict, NotFound, RecordDamaged
from eddy.core.tenants import DISPLAY_NAME, Quota, TenantRecord

_adding = threading.Lock()
"""Between asking for a name and taking it."""

_Name = Annotated[str, Path(max_length=64, description="The tenant's name.")]
_Cancel = Annotated[bool, Query(description="Cancel the jobs of it that have not ended.")]
_WORK_S, _REST_S = 5.0, 0.005
"""Wall seconds a purge takes at most before it answers, and between two of its steps, for others who write."""
router = APIRouter(prefix="/v1/admin", tags=["operator"], route_class=JsonRoute, responses=refusals(403))


@router.get("/tenants", operation_id="list_tenants", response_model=TenantList, summary="List tenants")
def list_tenants(context: Ctx, operator: Operator) -> TenantList:
    """Every tenant, by name, without keys."""
    tenants = context.store.tenants
    known = [tenant_answer(tenant, tenants.is_removed(tenant.id)) for tenant in tenants.all()]
    return TenantList(tenants=known, damaged=list(tenants.damaged))


@router.post(
    "/tenants",
    operation_id="add_tenant",
    status_code=201,
    response_model=TenantWithKey,
    summary="Add a tenant",
    responses=refusals(409),
)
def add_tenant(body: TenantSubmission, response: Response, context: Ctx, operator: Operator) -> TenantWithKey:
    """Add a tenant; its key is in this answer and nowhere else. With a key that was replaced, it ends with that one's
    grace, and no operator is added (403)."""
    key, used = new_key(), context.store.keys.get(key_in_use.get())
    check_may_add(used, body.admin)
    tenant = TenantRecord(
        body.id, context.hasher.hash(key), body.admin, body.quota.applied(Quota()), body.stored_attributes
    )
    with _adding:
        if _exists(context, body.id):
            raise Conflict(f"A tenant {body.id!r} exists already; use another name.", field="id", asked=body.id)
        context.store.tenants.check_name_reusable(body.id)
        record_action(context, operator, "add-tenant", tenant=body.id, admin=body.admin)
        context.store.tenants.put(tenant, used.revoked_unix_s)
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
    return tenant_answer(context.store.tenants.get(tenant), context.store.tenants.is_removed(tenant))


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
        context.store.tenants.check_name_reusable(tenant)
        attributes = dict(known.attributes) if body.attributes is None else dict(body.attributes)
        if body.weight is not None:
            attributes["weight"] = body.weight
        if body.display_name is not None:
            attributes[DISPLAY_NAME] = body.display_name
        if body.min_progress is not None:
            check_promise(context.store, tenant, body.min_progress)
            attributes["min_progress"] = body.min_progress
        changed = replace(known, quota=body.quota.applied(known.quota), attributes=attributes)
        record_action(context, operator, "change-tenant", tenant=tenant, **body.model_dump(exclude_unset=True))
        context.store.tenants.put(changed)
    return tenant_answer(changed)


@router.delete(
    "/tenants/{tenant}",
    operation_id="remove_tenant",
    status_code=202,
    response_model=TenantLeaving,
    summary="Remove a tenant",
    responses=refusals(404, 409),
)
def remove_tenant(tenant: _Name, context: Ctx, operator: Operator, cancel: _Cancel = False) -> TenantLeaving:
    """Its keys end with this answer. Then its jobs, events, outputs, blobs and keys go; its name stays in the accounts
    of use and in the audit log, and is given to nobody else.

    While it has jobs that have not ended, it is refused (409), unless these are to be cancelled (`cancel`).
    """
    if tenant in (operator.id, OPERATOR):
        raise Conflict("The operator and the caller cannot be removed.", field="tenant", asked=tenant)
    with _adding:
        context.store.tenants.get(tenant)
        context.store.removal.check_removable(tenant, cancel)
        record_action(context, operator, "remove-tenant", tenant=tenant, cancel=cancel)
        jobs = context.store.removal.begin(tenant, cancel)
    return TenantLeaving(id=tenant, jobs=len(jobs))


@router.post("/purge", operation_id="purge_jobs", response_model=PurgeAnswer, summary="Remove jobs that have ended")
def purge_jobs(body: PurgeSubmission, context: Ctx, operator: Operator) -> PurgeAnswer:
    """They go with their events and outputs. What is held, and what a job waits for that has not ended, stays; an array
    goes whole, or stays. The answer comes after some seconds at most: ask again while there is `more`."""
    purge, ended = context.store.purge, context.store.jobs.tally.count_ended()
    record_action(context, operator, "purge-jobs", before=purge.count_purged(), **body.model_dump())
    before_us, ends_s = round((time.time() - body.older_than_s) * 1e6), time.monotonic() + _WORK_S
    removed = 0
    for tenant in ended if body.tenant is None else [body.tenant]:
        for gone in context.store.purge.purge_tenant(tenant, before_us, max(ended.get(tenant, 0) - body.keep, 0)):
            removed += gone
            if time.monotonic() > ends_s:
                return PurgeAnswer(removed=removed, more=True)
            time.sleep(_REST_S)
    return PurgeAnswer(removed=removed, more=False)


def _exists(context: Context, name: str) -> bool:
    try:
        context.store.tenants.get(name)
    except (NotFound, RecordDamaged):  # one that is damaged has its jobs, bytes and keys, and is written again
        return False
    return True
