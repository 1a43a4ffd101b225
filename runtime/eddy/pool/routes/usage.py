# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/usage` at a head: what tenants had of the pool's boards, by day."""

from __future__ import annotations

from fastapi import APIRouter

from eddy.api.answers.usage import UsageEntry, UsageReport, check_days
from eddy.api.http.problems import Forbidden
from eddy.api.routes.keys import Whose
from eddy.api.routes.usage import First, Last
from eddy.pool.routes.context import Caller, Parts

router = APIRouter(prefix="/v1/usage", tags=["usage"])


@router.get("", response_model=UsageReport)
async def show_usage(
    parts: Parts, caller: Caller, first: First = "", last: Last = "", tenant: Whose = ""
) -> UsageReport:
    """Your own accounts, or everyone's for the operator, over all boards: `slot_ns` is wall time of parts on boards,
    `core_ns` what boards say of cores of shared clusters. What boards' own tenants had is with the boards."""
    if tenant and not caller.admin and tenant != caller.id:
        raise Forbidden("You can see your own use only.", field="tenant")
    check_days(first, last)
    await parts.lead.mirror.wait_caught_up()
    whose = (tenant or None) if caller.admin else caller.id
    entries = [
        UsageEntry(day=day, tenant=name, slot_ns=had.slot_ns, shared_ns=0, core_ns=had.core_ns)
        for day, name, had in parts.lead.mirror.projection.usage(whose, first, last or "9999")
    ]
    return UsageReport(entries=entries, board=None)
