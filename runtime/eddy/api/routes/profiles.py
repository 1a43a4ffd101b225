# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`GET /v1/jobs/{job}/profile` and `GET /v1/sessions/{session}/profile`: where kernels' cycles went."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from fastapi import APIRouter

from eddy.api.answers.profiles import KernelProfiles, profile_answer
from eddy.api.dependencies.callers import Caller, Ctx, require_running, visible_tenant
from eddy.api.dependencies.context import Context
from eddy.api.dependencies.job_access import JobId, owner_of, read
from eddy.api.http.openapi import refusals
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.api.routes.sessions import SessionId
from eddy.core.errors import InvalidRequest
from eddy.core.profiles import KernelTotals, total
from eddy.core.records import JobRecord
from eddy.core.tenants import TenantRecord
from eddy.model.kernel_profile import profile

router = APIRouter(prefix="/v1", tags=["jobs"], route_class=JsonRoute)


@router.get(
    "/jobs/{job}/profile",
    operation_id="profile_job",
    response_model=KernelProfiles,
    summary="Profile a kernel job",
    responses=refusals(404),
)
async def profile_job(job: JobId, context: Ctx, viewer: Caller) -> KernelProfiles:
    """Where the cycles of its slices went so far, next to what its cluster could do, and what would help."""
    require_running(context)
    record = await read(context, partial(_read, context, viewer, job))
    kernel = record.kernel
    if kernel is None:
        message = "Profiles are of kernel jobs and sessions; `explain` says where an application's time went."
        raise InvalidRequest(message, field="job", allowed="a kernel job")
    ended = int(record.state.is_final)
    counters = total([core for core in kernel.cores if core.cycles])
    return _answer(
        context, [KernelTotals(kernel.name, kernel.module, ended, kernel.core_seconds, counters, kernel.shape)]
    )


@router.get(
    "/sessions/{session}/profile",
    operation_id="profile_session",
    response_model=KernelProfiles,
    summary="Profile a session's launches",
    responses=refusals(404),
    tags=["sessions"],
)
async def profile_session(session: SessionId, context: Ctx, viewer: Caller) -> KernelProfiles:
    """The same by kernel, of launches that ended since the server started; nothing of it is kept after the session."""
    require_running(context)
    return _answer(context, context.hypervisor.sessions.get(session, visible_tenant(viewer)).work.copy().values())


def _answer(context: Context, work: Iterable[KernelTotals]) -> KernelProfiles:
    return profile_answer(profile(each, context.hypervisor.cluster_bounds(each.module)) for each in work)


def _read(context: Context, viewer: TenantRecord, job: int) -> JobRecord:
    return context.store.jobs.get(owner_of(context, viewer, job), job)
