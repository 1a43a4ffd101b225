# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`GET /v1/jobs/{job}/explain`: why a job waits, where its time went, what would have made it faster."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import anyio
from fastapi import APIRouter

from eddy.api.answers.job_explanation import (
    LOOKED_THROUGH,
    MAX_TAKEN,
    TOLD,
    Explained,
    Taken,
    build_explanation,
    explain_preemption,
)
from eddy.api.dependencies.callers import Caller, Ctx
from eddy.api.dependencies.context import Context
from eddy.api.dependencies.job_access import JobId, owner_of, read
from eddy.api.http.openapi import refusals
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.core.jobs import JobState
from eddy.core.records import APPLICATION, JobEvent, JobEventKind, JobRecord
from eddy.core.tenants import TenantRecord
from eddy.hypervisor.forecast.job_standing import JobAlone

PATIENCE_S = 2.0
"""Wall seconds an explanation waits for forecasts; where the board keeps the engine longer, it goes without."""
router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=JsonRoute)


@router.get(
    "/{job}/explain",
    operation_id="explain_job",
    response_model=Explained,
    summary="Explain a job",
    responses=refusals(404, 429),
)
async def explain(job: JobId, context: Ctx, viewer: Caller) -> Explained:
    """Why it waits now, where its time went, why slots were taken from it, and what would have made it faster.

    Of others it tells numbers alone, unless an operator asks.
    """
    context.rate_limits.admit_forecast(viewer)
    record, log, taken = await read(context, partial(_read, context, viewer, job))
    standing = ideal = None
    if context.ready and not context.hypervisor.unreachable_reason:
        with anyio.move_on_after(PATIENCE_S):
            standing = None if record.state.is_final else await context.hypervisor.job_standing(job)
            ideal = await _solo_times(context, record)
    number = context.store.numbers.job.public_id(job)
    return build_explanation(record, number, log, context.hypervisor.now_s(), taken, standing, ideal, viewer.admin)


def _read(context: Context, viewer: TenantRecord, job: int) -> tuple[JobRecord, Sequence[JobEvent], list[Taken]]:
    store = context.store
    owner = owner_of(context, viewer, job)
    record, log = store.jobs.get(owner, job), [each for each in store.events.read_all(owner, job) if each.what in TOLD]
    policy = context.hypervisor.policy
    taken = [
        explain_preemption(
            event,
            store.events.list_events(None, None, event.seq, LOOKED_THROUGH),
            store.numbers,
            viewer.id,
            viewer.admin,
            policy,
        )
        for event in [e for e in log if e.what is JobEventKind.PREEMPT and e.slot is not None][-MAX_TAKEN:]
    ]
    return record, log, taken


async def _solo_times(context: Context, record: JobRecord) -> JobAlone | None:
    """What a job would have taken alone, of one that succeeded."""
    application = context.catalogue.applications.get(record.application)
    if record.state is not JobState.SUCCEEDED or record.kind != APPLICATION or application is None:
        return None
    return await context.hypervisor.solo_times(record, application)
