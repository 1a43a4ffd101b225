# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/admin/audit` at a head: what operators of the pool and owners of keys changed, at whichever head."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter

from eddy.api.routes.audit import After, AuditLine, AuditPage, Last, Limit
from eddy.pool.routes.context import Operator, Parts

router = APIRouter(prefix="/v1/admin/audit", tags=["operator"])


@router.get("", response_model=AuditPage)
async def show_audit(
    parts: Parts, operator: Operator, after: After = 0, limit: Limit = 1000, last: Last = None
) -> AuditPage:
    """What was changed, by whom, with which key; `eddy pool doctor` checks the chain."""
    return AuditPage(entries=[AuditLine(**asdict(each)) for each in await parts.audit.entries(after, limit, last)])
