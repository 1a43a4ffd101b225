# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/session`: a browser logs in with a key, and out again."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from eddy.api.access.session_bodies import Login, SessionAnswer, SessionCookie, close_session, open_session
from eddy.api.access.sessions import Session
from eddy.api.dependencies.callers import Caller, Ctx, tenant_of_key
from eddy.api.http.current_request import cookie_in_use
from eddy.api.http.openapi import Responses, refusals
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.api.routes.sign_on import end_signed_on_key
from eddy.core.tenants import TenantRecord

router = APIRouter(prefix="/v1/session", tags=["sessions"], route_class=JsonRoute)
_NONE: Responses = {204: {"description": "No session is left."}}


@router.post("", operation_id="log_in", response_model=SessionAnswer, summary="Log in", responses=refusals(401))
def log_in(body: Login, http: Request, response: Response, context: Ctx, old: SessionCookie = "") -> SessionAnswer:
    """Open a session: the cookie in the answer stands for the key, for 12 hours.

    The session the browser had before ends.
    """
    tenant = tenant_of_key(context, body.key)
    key_hash, public_url = context.hasher.hash(body.key), context.settings.oidc.public_url
    session = open_session(context.sessions, key_hash, tenant.id, old, http, response, public_url)
    return _answer(tenant, session)


@router.get("", operation_id="show_session", response_model=SessionAnswer, summary="Who am I?")
def show(context: Ctx, viewer: Caller, response: Response) -> SessionAnswer:
    """Who asks; the token is empty where a key asks, which needs none."""
    response.headers["Cache-Control"] = "no-store"
    return _answer(viewer, context.sessions.of(cookie_in_use.get()))


@router.delete("", operation_id="log_out", status_code=204, summary="Log out", response_class=Response, responses=_NONE)
def log_out(context: Ctx, viewer: Caller, cookie: SessionCookie = "") -> Response:
    """End the session, and its key where that was made for it at the identity provider."""
    session = context.sessions.of(cookie)
    if session is not None:
        end_signed_on_key(context, session.key_hash)
    return close_session(context.sessions, cookie)


def _answer(tenant: TenantRecord, session: Session | None) -> SessionAnswer:
    return SessionAnswer(
        tenant=tenant.id, operator=tenant.admin, csrf_token="" if session is None else session.csrf_token
    )
