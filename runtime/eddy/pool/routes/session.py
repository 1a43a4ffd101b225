# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/session` at a head: a browser logs in with a key, and out again. Each head has its own sessions."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from eddy.api.access.session_bodies import Login, SessionAnswer, SessionCookie, close_session, open_session
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.pool.jetstream.tenant_keys import hash_of
from eddy.pool.routes.context import Caller, Parts

router = APIRouter(prefix="/v1/session", tags=["sessions"], route_class=JsonRoute)


@router.post("", response_model=SessionAnswer)
async def log_in(
    body: Login, http: Request, response: Response, parts: Parts, old: SessionCookie = ""
) -> SessionAnswer:
    """Open a session: the cookie in the answer stands for the key, at this head, for 12 hours, until it restarts."""
    tenant = await parts.tenants.of_key(body.key)
    session = open_session(parts.sessions, hash_of(body.key), tenant.id, old, http, response)
    return SessionAnswer(tenant=tenant.id, operator=tenant.admin, csrf_token=session.csrf_token)


@router.get("", response_model=SessionAnswer)
async def show_session(parts: Parts, caller: Caller, response: Response, cookie: SessionCookie = "") -> SessionAnswer:
    """Who asks; the token is empty where a key asks, which needs none."""
    response.headers["Cache-Control"] = "no-store"
    session = parts.sessions.of(cookie)
    return SessionAnswer(
        tenant=caller.id, operator=caller.admin, csrf_token="" if session is None else session.csrf_token
    )


@router.delete("", status_code=204, response_class=Response)
async def log_out(parts: Parts, caller: Caller, cookie: SessionCookie = "") -> Response:
    """End the session."""
    return close_session(parts.sessions, cookie)
