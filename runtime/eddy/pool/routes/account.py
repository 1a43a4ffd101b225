# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/quota` at a head: what a tenant may have over the pool, and has."""

from __future__ import annotations

import time
from typing import Any

from fastapi import APIRouter

from eddy.pool.mirror.usage_accounts import NS, utc_day
from eddy.pool.routes.context import Caller, Parts
from eddy.pool.routes.rendering import render_quota

router = APIRouter(prefix="/v1/quota", tags=["usage"])


@router.get("")
async def show_quota(parts: Parts, caller: Caller) -> Any:
    """Your bounds, and what you have of them; null for what no pool bounds."""
    tenant = await parts.tenants.get(caller.id)
    await parts.lead.mirror.wait_caught_up()
    kept = await parts.link.accounts.of(tenant.id)
    await kept.wait_caught_up()
    today = parts.lead.mirror.projection.usage_on(tenant.id, utc_day(time.time()))
    return {
        "tenant": tenant.id,
        "quota": render_quota(tenant, parts.most_bytes(tenant)),
        "weight": tenant.weight,
        "jobs": parts.lead.mirror.jobs.count_tenant(tenant.id),
        "blob_bytes": kept.total + parts.lead.mirror.projection.tenant_bytes(tenant.id),
        "slot_s": today.slot_ns / NS,
        "core_s": today.core_ns / NS,
    }
