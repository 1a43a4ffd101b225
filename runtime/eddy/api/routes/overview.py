"""`/v1/overview`: the board at a glance."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter

from eddy.api.callers import Caller, Ctx
from eddy.api.expected import outlook_of
from eddy.api.overview import Overview, overview
from eddy.api.routes.jobs import read

router = APIRouter(prefix="/v1/overview", tags=["slots"])


@router.get("", operation_id="overview", response_model=Overview, summary="The board at a glance")
async def show(context: Ctx, viewer: Caller) -> Overview:
    """Slots, jobs under way and ended last, what slots did of late: what the dashboard and `eddy top` show."""
    outlook = await outlook_of(context)
    return await read(context, partial(overview, context, viewer, outlook))
