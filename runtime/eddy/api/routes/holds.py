# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/jobs/{job}/hold`: outputs that are not removed to make room."""

from __future__ import annotations

from functools import partial

import anyio.to_thread
from fastapi import APIRouter

from eddy.api.answers.schemas import Job
from eddy.api.dependencies.audit import record_action
from eddy.api.dependencies.callers import Caller, Ctx
from eddy.api.dependencies.context import Context
from eddy.api.dependencies.job_access import JobId, answer, owner_of
from eddy.api.http.openapi import refusals
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.core.records import JobRecord
from eddy.core.tenants import TenantRecord
from eddy.store.job_tables.holds import OPERATOR, TENANT

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=JsonRoute)


@router.put(
    "/{job}/hold",
    operation_id="hold_outputs",
    response_model=Job,
    summary="Keep a job's outputs",
    responses=refusals(404, 409, 410, 429),
)
async def hold(job: JobId, context: Ctx, viewer: Caller) -> Job:
    """Keep what a job left from being removed to make room. It counts among the bytes you may keep, until you let it
    go; an operator's hold of a tenant's job counts for nobody."""
    return answer(context, await anyio.to_thread.run_sync(partial(_hold, context, viewer, job)))


@router.delete(
    "/{job}/hold",
    operation_id="let_outputs_go",
    response_model=Job,
    summary="Let a job's outputs go",
    responses=refusals(404, 409),
)
async def let_go(job: JobId, context: Ctx, viewer: Caller) -> Job:
    """Have what a job left removed when room is needed, as if it had never been held."""
    return answer(context, await anyio.to_thread.run_sync(partial(_let_go, context, viewer, job)))


def _hold(context: Context, viewer: TenantRecord, job: int) -> JobRecord:
    owner, by = _owner_and_actor(context, viewer, job)
    if by == OPERATOR:
        record_action(context, viewer, "hold-outputs", tenant=owner, job=context.store.numbers.job.public_id(job))
    return context.store.holds.hold(owner, job, by)


def _let_go(context: Context, viewer: TenantRecord, job: int) -> JobRecord:
    owner, by = _owner_and_actor(context, viewer, job)
    if by == OPERATOR:
        record_action(context, viewer, "let-outputs-go", tenant=owner, job=context.store.numbers.job.public_id(job))
    return context.store.holds.let_go(owner, job, by)


def _owner_and_actor(context: Context, viewer: TenantRecord, job: int) -> tuple[str, str]:
    """Whose job it is, and as whom the viewer acts."""
    owner = owner_of(context, viewer, job)
    return owner, OPERATOR if viewer.admin and owner != viewer.id else TENANT
