# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/slots`: what the board does now."""

from __future__ import annotations

from fastapi import APIRouter

from eddy.api.answers.rendering import slot_answer
from eddy.api.answers.schemas import SlotList
from eddy.api.dependencies.callers import Caller, Ctx

router = APIRouter(prefix="/v1/slots", tags=["slots"])


@router.get("", operation_id="list_slots", response_model=SlotList, summary="List slots")
async def list_slots(context: Ctx, viewer: Caller) -> SlotList:
    """Every slot, by index; what another tenant does in one does not show."""
    statuses = sorted(context.hypervisor.slots(), key=lambda status: status.slot)
    return SlotList(
        computes=context.hypervisor.computes_results,
        now_s=context.hypervisor.now_s(),
        slots=[slot_answer(status, context.store.numbers, viewer) for status in statuses],
    )
