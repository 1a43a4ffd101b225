# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/maintenance`: when slots are closed by calendar; operators plan it."""

from __future__ import annotations

import secrets
import time
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Path

from eddy.api.answers.notices import WindowAnswer, WindowList, format_instant, window_answer
from eddy.api.dependencies.audit import record_action_async
from eddy.api.dependencies.callers import Caller, Ctx, Operator
from eddy.api.http.openapi import refusals
from eddy.api.request_bodies.notices import WindowSubmission
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.core.errors import InvalidRequest
from eddy.core.maintenance import MaintenanceWindow, WindowStage

SHOWN_S = 7 * 86400.0
"""Wall seconds for which a window is shown that is over."""
router = APIRouter(prefix="/v1", tags=["maintenance"], route_class=JsonRoute)
_Name = Annotated[str, Path(max_length=64, description="The window's name.")]


@router.get("/maintenance", operation_id="list_maintenance", response_model=WindowList, summary="Maintenance windows")
async def list_maintenance(context: Ctx, viewer: Caller) -> WindowList:
    """Those to come and under way, then those of the last seven days."""
    now_s = time.time()
    windows = [window_answer(each, now_s) for each in context.store.maintenance.all()]
    over = (WindowStage.ENDED.value, WindowStage.CANCELLED.value)
    coming = [each for each in windows if each.stage not in over]
    past = [each for each in windows if each.stage in over and each.ends_unix_s > now_s - SHOWN_S]
    return WindowList(windows=[*coming, *past[::-1]])


@router.post(
    "/admin/maintenance",
    operation_id="plan_maintenance",
    status_code=201,
    response_model=WindowAnswer,
    summary="Plan a window",
    responses=refusals(403, 429),
)
async def plan_maintenance(body: WindowSubmission, context: Ctx, operator: Operator) -> WindowAnswer:
    """Its slots are drained `drain_s` before it begins, and back in use when it ends. Jobs that could not end before
    wait, and say so."""
    now_s, ends_s = time.time(), body.begins_unix_s + body.lasts_s
    if ends_s <= now_s:
        message = f"The window would have been over at {format_instant(ends_s)}; it is {format_instant(now_s)} now."
        raise InvalidRequest(message, field="begins_unix_s")
    known = sorted(status.slot for status in context.hypervisor.slots())
    unknown = [slot for slot in body.slots if slot not in known]
    if unknown and context.ready:
        raise InvalidRequest(f"There is no slot {unknown[0]}.", field="slots", allowed=known)
    window = MaintenanceWindow(
        f"w{secrets.token_hex(4)}",
        body.title,
        body.begins_unix_s,
        ends_s,
        body.drain_s,
        tuple(sorted(set(body.slots))),
        now_s,
        operator.id,
    )
    facts = {"window": window.id, "title": window.title, "begins_unix_s": window.begins_unix_s}
    facts |= {"ends_unix_s": ends_s, "drain_s": window.drain_s, "slots": list(window.slots)}
    await record_action_async(context, operator, "plan-maintenance", **facts)
    await anyio.to_thread.run_sync(context.store.maintenance.add, window, now_s)
    return window_answer(window, now_s)


@router.delete(
    "/admin/maintenance/{window}",
    operation_id="cancel_maintenance",
    response_model=WindowAnswer,
    summary="Cancel a window, or end it early",
    responses=refusals(403, 404),
)
async def cancel_maintenance(window: _Name, context: Ctx, operator: Operator) -> WindowAnswer:
    """Its slots are back in use at once. Again, or where it is over, does nothing."""
    context.store.maintenance.get(window)
    await record_action_async(context, operator, "cancel-maintenance", window=window)
    now_s = time.time()
    return window_answer(await anyio.to_thread.run_sync(context.store.maintenance.cancel, window, now_s), now_s)
