# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/admin/audit`: what operators and owners of keys changed."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field

from eddy.api.dependencies.callers import Ctx, Operator
from eddy.api.dependencies.job_access import read
from eddy.api.http.openapi import refusals
from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import Answer
from eddy.api.request_bodies.numbers import Decimal

router = APIRouter(prefix="/v1/admin/audit", tags=["operator"], responses=refusals(403))
After = Annotated[Decimal, Query(ge=0, le=(1 << 63) - 1, description="Only entries with a higher number.")]
Last = Annotated[
    Decimal | None,
    Query(ge=1, le=10_000, description="The latest entries, so many of them; `after` and `limit` are left."),
]
Limit = Annotated[Decimal, Query(ge=1, le=10_000, description="Most entries.")]


class AuditLine(Answer):
    """One entry of the audit log."""

    seq: int = Field(description="Counts from 1.")
    at_unix_s: float = Field(description="When, by wall time.")
    actor: str = Field(description="The tenant who did it.")
    key: str = Field(description="Name of the key it was done with.")
    action: str = Field(description="What was done, as `drain-slot`.")
    facts: dict[str, Any] = Field(description="With what.")
    chain: str = Field(description="Keyed hash of the entry and the one before it.")


class AuditPage(Answer):
    """Entries of the audit log, in order."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [examples.AUDIT]})

    entries: list[AuditLine] = Field(description="In order of their numbers.")


@router.get("", operation_id="show_audit", response_model=AuditPage, summary="The audit log", responses=refusals(410))
async def show_audit(
    context: Ctx, operator: Operator, after: After = 0, limit: Limit = 1000, last: Last = None
) -> AuditPage:
    """What was changed, by whom, with which key; `eddy audit verify` checks the chain beside the data folder."""
    latest, wanted = context.store.audit.latest, context.store.audit.entries
    found = await read(context, partial(wanted, after, limit) if last is None else partial(latest, last))
    return AuditPage(
        entries=[
            AuditLine(
                seq=entry.seq,
                at_unix_s=entry.at_unix_s,
                actor=entry.actor,
                key=entry.key,
                action=entry.action,
                facts=dict(entry.facts),
                chain=entry.chain,
            )
            for entry in found
        ]
    )
