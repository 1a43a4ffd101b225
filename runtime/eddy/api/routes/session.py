"""`/v1/session`: a browser logs in with a key, and out again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Cookie, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from eddy.api.bodies import JsonRoute
from eddy.api.context import Caller, Ctx, tenant_of_key
from eddy.api.openapi import Responses, refusals
from eddy.api.schemas import Answer
from eddy.api.sessions import COOKIE, LIFE_S, Session
from eddy.core.tenants import TenantRecord

router = APIRouter(prefix="/v1/session", tags=["sessions"], route_class=JsonRoute)
_Cookie = Annotated[str, Cookie(alias=COOKIE, description="The session, as logging in set it.")]
_NONE: Responses = {204: {"description": "No session is left."}}


class Login(BaseModel):
    """What logs in."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"key": "eddy_..."}]})

    key: str = Field(min_length=1, max_length=200, description="A tenant's API key.")


class SessionAnswer(Answer):
    """Who is logged in."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"tenant": "ada", "operator": False, "csrf_token": "oK3..."}]}
    )

    tenant: str = Field(description="The tenant's name.")
    operator: bool = Field(description="Whether it may do what the operator may.")
    csrf_token: str = Field(description="Header `X-CSRF-Token` of every request of the session that changes something.")


@router.post("", operation_id="log_in", response_model=SessionAnswer, summary="Log in", responses=refusals(401))
def log_in(body: Login, http: Request, response: Response, context: Ctx, old: _Cookie = "") -> SessionAnswer:
    """Open a session: the cookie in the answer stands for the key, for 12 hours, until the server restarts.

    The session the browser had before ends.
    """
    tenant = tenant_of_key(context, body.key)
    context.sessions.close(old)
    cookie, session = context.sessions.open(context.hasher.hash(body.key))
    secure = http.url.scheme == "https"
    response.set_cookie(COOKIE, cookie, int(LIFE_S), httponly=True, samesite="strict", secure=secure)
    response.headers["Cache-Control"] = "no-store"
    return _answer(tenant, session)


@router.get("", operation_id="show_session", response_model=SessionAnswer, summary="Who am I?")
def show(context: Ctx, viewer: Caller, response: Response, cookie: _Cookie = "") -> SessionAnswer:
    """Who asks; the token is empty where a key asks, which needs none."""
    response.headers["Cache-Control"] = "no-store"
    return _answer(viewer, context.sessions.of(cookie))


@router.delete("", operation_id="log_out", status_code=204, summary="Log out", response_class=Response, responses=_NONE)
def log_out(context: Ctx, viewer: Caller, cookie: _Cookie = "") -> Response:
    """End the session."""
    context.sessions.close(cookie)
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


def _answer(tenant: TenantRecord, session: Session | None) -> SessionAnswer:
    return SessionAnswer(
        tenant=tenant.id, operator=tenant.admin, csrf_token="" if session is None else session.csrf_token
    )
