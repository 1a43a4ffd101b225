# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/usage`: what tenants had of the board, by day; `/v1/quota`: what you may have, and have used."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field

from eddy.api.answers.rendering import tenant_answer
from eddy.api.answers.schemas import TenantQuota
from eddy.api.answers.usage import BoardTime, UsageEntry, UsageReport, check_days
from eddy.api.dependencies.callers import Caller, Ctx
from eddy.api.dependencies.context import Context
from eddy.api.dependencies.job_access import read
from eddy.api.http.openapi import refusals
from eddy.api.http.problems import Forbidden
from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import DAY, Answer
from eddy.api.routes.keys import Whose

router = APIRouter(prefix="/v1", tags=["usage"])
First = Annotated[str, Query(alias="from", pattern=DAY, description="First day (UTC), as `2026-11-22`; empty for all.")]
Last = Annotated[str, Query(alias="to", pattern=DAY, description="Last day; empty for all.")]


class QuotaAnswer(Answer):
    """What you may have, and what of it is used."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [examples.QUOTA]})

    tenant: str = Field(description="Who you are.")
    quota: TenantQuota = Field(description="Your bounds.")
    weight: float = Field(description="What you are entitled to, relative to the others, or to those of your project.")
    project: str = Field(description="Your project; empty for none.")
    jobs: int = Field(description="Jobs that have not ended.")
    blob_bytes: int = Field(description="Bytes of blobs kept, and on their way, and of outputs that you hold.")
    slot_s: float = Field(description="Board seconds of slots held today (UTC).")
    core_s: float = Field(description="Board seconds of GPU cores had today.")


@router.get(
    "/usage", operation_id="show_usage", response_model=UsageReport, summary="Use by day", responses=refusals(403)
)
async def show_usage(
    context: Ctx, viewer: Caller, first: First = "", last: Last = "", tenant: Whose = ""
) -> UsageReport:
    """Your own accounts; everyone's and nobody's, for the operator: they add up to the board's time exactly."""
    if tenant and not viewer.admin and tenant != viewer.id:
        raise Forbidden("You can see your own use only.", field="tenant")
    check_days(first, last)
    if context.ready and not context.unavailable:
        await context.hypervisor.account()
    whose = (tenant or None) if viewer.admin else viewer.id
    return await read(context, partial(_report, context, whose, first, last or "9999", viewer.admin))


def _report(context: Context, whose: str | None, first: str, last: str, board: bool) -> UsageReport:
    store = context.store
    found: dict[tuple[str, str], dict[str, int]] = {}
    rows, account = store.usage.report(whose, first, last)
    for row in rows:
        found.setdefault((row.day, row.tenant), {"slot": 0, "shared": 0, "core": 0})[row.unit] += row.spent_ns
    entries = [
        UsageEntry(day=day, tenant=name, slot_ns=had["slot"], shared_ns=had["shared"], core_ns=had["core"])
        for (day, name), had in sorted(found.items())
    ]
    if not board:
        return UsageReport(entries=entries, board=None)
    return UsageReport(entries=entries, board=BoardTime(**dataclasses.asdict(account)))


@router.get("/quota", operation_id="show_quota", response_model=QuotaAnswer, summary="Your bounds, and what is used")
async def show_quota(context: Ctx, viewer: Caller) -> QuotaAnswer:
    """How much is left before something is refused."""
    if context.ready and not context.unavailable:
        await context.hypervisor.account()
    return await read(context, partial(_quota, context, viewer.id))


def _quota(context: Context, tenant: str) -> QuotaAnswer:
    store = context.store
    record = store.tenants.get(tenant)
    slot_s, core_s = store.usage.today_s(tenant)
    return QuotaAnswer(
        tenant=tenant,
        quota=tenant_answer(record).quota,
        weight=store.tenants.weight(tenant),
        project=store.projects.of(tenant),
        jobs=sum(store.jobs.unfinished_by_tenant().get(tenant, {}).values()),
        blob_bytes=store.blobs.ledger.tenant_bytes(tenant),
        slot_s=slot_s,
        core_s=core_s,
    )
