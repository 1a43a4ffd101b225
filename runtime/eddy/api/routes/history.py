# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/history`: what the board did over hours and days, for operators."""

from __future__ import annotations

import dataclasses
import time
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field

from eddy.api.dependencies.callers import Ctx, Operator
from eddy.api.dependencies.context import Context
from eddy.api.dependencies.job_access import read
from eddy.api.http.openapi import refusals
from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import Answer
from eddy.store.board_tables.samples import KEPT_S, TENANTS, thin_out

router = APIRouter(prefix="/v1/history", tags=["operator"], responses=refusals(403))
HOUR_S = 3600


class HistoryPoint(Answer):
    """Means over the time since the point before."""

    unix_s: int = Field(description="When that time ended.")
    slots: int = Field(description="Slots there were.")
    busy: float = Field(description="Slots that ran an item or loaded a module.")
    running: float = Field(description="Jobs that had begun.")
    waiting: float = Field(description="Jobs that waited.")
    ended: int = Field(description="Jobs that succeeded in that time.")
    failed: int = Field(description="Jobs that failed or were cancelled in that time.")
    prices: dict[str, float] = Field(description="Price of one core of a cluster, by slot.")
    celsius: float | None = Field(description="The hottest sensor; null where the kernel shows none.")
    shares: dict[str, float] = Field(
        description="Slots that a tenant had: those that worked for it or that it leased, and of a cluster that "
        f"several share its part of the cores; of the {TENANTS} tenants that had most."
    )


class BoardHistory(Answer):
    """What the board did."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [examples.HISTORY]})

    points: list[HistoryPoint] = Field(description="Oldest first; times in which no server ran have none.")


@router.get("", operation_id="show_history", response_model=BoardHistory, summary="What the board did, over hours")
async def show_history(
    context: Ctx,
    operator: Operator,
    hours: Annotated[float, Query(gt=0, le=KEPT_S / HOUR_S, description="How far back.")] = 6.0,
    points: Annotated[int, Query(ge=2, le=2000, description="Most points; of more the means are told.")] = 360,
) -> BoardHistory:
    """Slots in use, each tenant's share of them, jobs, prices and the temperature; a point a minute, for a week."""
    return await read(context, partial(_history, context, time.time() - hours * HOUR_S, points))


def _history(context: Context, since_unix_s: float, points: int) -> BoardHistory:
    found = thin_out(context.store.samples.since(since_unix_s), points)
    return BoardHistory(points=[HistoryPoint(**dataclasses.asdict(each)) for each in found])
