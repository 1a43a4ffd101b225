# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/sessions`: memory that stays on the board, and streams of commands on it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from eddy.api.answers.sessions import (
    ProgramAnswer,
    Session,
    SessionList,
    batch_frame,
    program_answer,
    session_answer,
)
from eddy.api.dependencies.audit import record_action
from eddy.api.dependencies.callers import Caller, Ctx, require_running, visible_tenant
from eddy.api.dependencies.context import Context
from eddy.api.http.openapi import refusals
from eddy.api.request_bodies.sessions import ProgramSubmission, SessionSubmission, parse_batch
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.core.errors import InvalidRequest
from eddy.core.frames import MEDIA_TYPE

router = APIRouter(prefix="/v1/sessions", tags=["sessions"], route_class=JsonRoute)
SessionId = Annotated[str, Path(max_length=64, description="The session's name, as `POST /v1/sessions` answers it.")]
_Whose = Annotated[str, Query(max_length=64, description="Only this tenant's (operators); empty for all you may see.")]
_FRAME = {"schema": {"type": "string", "format": "binary"}, "example": "\x02\x00\x00\x00{}"}
_BODY = {"description": "A batch of commands as a frame.", "required": True, "content": {MEDIA_TYPE: _FRAME}}


@router.post(
    "",
    status_code=201,
    operation_id="start_session",
    response_model=Session,
    summary="Open a session",
    responses=refusals(403),
)
async def open_session(body: SessionSubmission, context: Ctx, tenant: Caller) -> Session:
    """Memory on the board that stays until the session ends, and an ordered stream of commands on it."""
    require_running(context)
    if body.priority > tenant.quota.max_priority:
        message = f"Your highest priority is {tenant.quota.max_priority}."
        raise InvalidRequest(message, field="priority", allowed=tenant.quota.max_priority)
    record = await context.hypervisor.sessions.open(tenant.id, body.options())
    return _shown(context, record.id)


@router.get("", operation_id="list_sessions", response_model=SessionList, summary="List sessions")
async def list_sessions(context: Ctx, viewer: Caller, tenant: _Whose = "") -> SessionList:
    """Your sessions, those that ended lately among them; all there are, for the operator."""
    whose = (tenant or None) if viewer.admin else viewer.id
    return SessionList(sessions=[_shown(context, each.id) for each in context.store.sessions.all(whose)])


@router.get(
    "/{session}",
    operation_id="describe_session",
    response_model=Session,
    summary="Show a session",
    responses=refusals(404),
)
async def show_session(session: SessionId, context: Ctx, viewer: Caller) -> Session:
    """What it holds and has done."""
    context.store.sessions.get(session, visible_tenant(viewer))
    return _shown(context, session)


@router.delete(
    "/{session}",
    operation_id="end_session",
    response_model=Session,
    summary="Close a session",
    responses=refusals(404),
)
async def close_session(session: SessionId, context: Ctx, viewer: Caller) -> Session:
    """What runs of it is stopped, and its memory given back. Closing one that has ended changes nothing."""
    record = context.store.sessions.get(session, visible_tenant(viewer))
    if not record.state.is_final:
        if record.tenant != viewer.id:
            record_action(context, viewer, "close-session", tenant=record.tenant, session=session)
        found = context.hypervisor.sessions.get(session, None)
        await context.hypervisor.sessions.close(found, "closed" if record.tenant == viewer.id else "closed-by-operator")
    return _shown(context, session)


@router.post(
    "/{session}/programs",
    status_code=201,
    operation_id="build_program",
    response_model=ProgramAnswer,
    summary="Build a program for a session",
    responses=refusals(404),
)
async def build_program(session: SessionId, body: ProgramSubmission, context: Ctx, tenant: Caller) -> ProgramAnswer:
    """Compile a source once; launches of the session name it. The same source again answers the same program."""
    require_running(context)
    found = context.hypervisor.sessions.get(session, tenant.id)
    return program_answer(await context.hypervisor.sessions.build(found, body.kernel_request()))


@router.post(
    "/{session}/commands",
    operation_id="send_commands",
    summary="Send commands to a session, and fetch results",
    response_class=Response,
    responses={200: {"description": "Results, as a frame.", "content": {MEDIA_TYPE: _FRAME}}, **refusals(404, 422)},
    openapi_extra={"requestBody": _BODY},
)
async def send_commands(session: SessionId, request: Request, context: Ctx, tenant: Caller) -> Response:
    """A frame is the length of its head (4 bytes, little endian), the head in JSON, then bytes. See the reference."""
    require_running(context)
    batch = parse_batch(await request.body())
    answer = await context.hypervisor.sessions.send(session, tenant.id, batch)
    return Response(batch_frame(answer), media_type=MEDIA_TYPE)


def _shown(context: Context, session: str) -> Session:
    sessions = context.hypervisor.sessions
    return session_answer(context.store.sessions.get(session), sessions.figures(session), sessions.offers)
