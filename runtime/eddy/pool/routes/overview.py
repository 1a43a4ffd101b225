# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`GET /v1/overview` at a head: what `eddy top` shows, with boards in place of slots."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping

from fastapi import APIRouter
from pydantic import Field

from eddy.api.answers.overview import ENDED, JOBS, Overview, TenantLoad
from eddy.api.request_bodies.base import Answer
from eddy.pool.jetstream.tenants import PoolTenant
from eddy.pool.records.records import QUEUED, RUNNING, PoolBoard, PoolJob
from eddy.pool.routes.context import Caller, HeadParts, Parts
from eddy.pool.routes.rendering import render_job

router = APIRouter(prefix="/v1/overview", tags=["overview"])


class BoardGlance(Answer):
    """A board of the pool."""

    board: str = Field(description="Its name.")
    kind: str = Field(description="Adapter and profile: boards of a kind take equally long.")
    present: bool = Field(description="Whether its lease holds.")
    drained: bool = Field(description="Whether it gets no further jobs.")
    width: int = Field(description="Jobs of the pool it runs at once.")
    jobs: list[int] = Field(description="Jobs it has; of a tenant's view its own.")
    modules: list[str] = Field(description="For the operator: modules in its slots. Empty for a tenant.")
    link_bps: float = Field(description="Rate of its transfers as measured, bits per second; 0 before the first.")


class PoolOverview(Overview):
    """As a board's, without slots and what happened in them: those are the boards' own matter. `now_s` counts from the
    beginning of this head, and times of jobs from their arrival at the pool."""

    boards: list[BoardGlance] = Field(description="Boards that have ever joined, by name.")


@router.get("", response_model=PoolOverview, summary="The pool at a glance")
async def show_overview(parts: Parts, caller: Caller) -> PoolOverview:
    """The pool as this head knows it; a tenant sees its own jobs."""
    return overview(parts, caller)


def overview(parts: HeadParts, caller: PoolTenant) -> PoolOverview:
    """The pool as a caller may see it. What it costs grows with the jobs that have not ended."""
    mirror = parts.lead.mirror

    def visible(job: PoolJob) -> bool:
        return caller.admin or job.tenant == caller.id

    under_way = sorted(
        filter(visible, mirror.jobs.values()), key=lambda job: (job.state != RUNNING, job.state == QUEUED, job.id)
    )
    ended = mirror.projection.last_ended(None if caller.admin else caller.id, ENDED)
    by_tenant: dict[str, Counter[str]] = {}
    for job in under_way:
        by_tenant.setdefault(job.tenant, Counter())[job.state] += 1
    told = parts.numbers.job.public_id

    def glance(board: PoolBoard) -> BoardGlance:
        return BoardGlance(
            board=board.name,
            kind=board.kind,
            present=mirror.alive(board.name),
            drained=bool(board.drained),
            width=board.width,
            jobs=[told(job.id) for job in under_way if job.board == board.name],
            modules=list(board.modules) if caller.admin else [],
            link_bps=board.link_bps,
        )

    connected = parts.link.connected
    return PoolOverview(
        now_s=time.monotonic() - mirror.began_s,
        ready=connected,
        detail="" if connected else "the pool is away",
        viewer=caller.id,
        operator=caller.admin,
        policy=parts.lead.policy,
        slots=[],
        counts=dict(sum(by_tenant.values(), Counter[str]())),
        jobs=[render_job(job, told, parts.forecasts.expect_job(job, caller.admin)) for job in under_way[:JOBS]],
        ended=[render_job(job, told) for job in ended],
        spans=[],
        faults={},
        tenants=[_load(parts, name, jobs) for name, jobs in sorted(by_tenant.items())] if caller.admin else [],
        boards=[glance(board) for _, board in sorted(mirror.boards.items())],
    )


def _load(parts: HeadParts, tenant: str, jobs: Mapping[str, int]) -> TenantLoad:
    known = parts.lead.mirror.tenants.get(tenant)
    return TenantLoad(tenant=tenant, display_name="" if known is None else known.display_name, jobs=dict(jobs))
