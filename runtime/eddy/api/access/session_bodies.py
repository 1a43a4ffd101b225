# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Sessions of browsers as they come in and go out over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Cookie, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from eddy.api.access.sessions import COOKIE, HEADER, LIFE_S, Session, Sessions
from eddy.api.http.problems import Forbidden
from eddy.api.request_bodies.base import Answer
from eddy.core.errors import Unauthorized

SAFE = ("GET", "HEAD")
"""Methods that change nothing."""
SessionCookie = Annotated[str, Cookie(alias=COOKIE, description="The session, as logging in set it.")]


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


def open_session(
    sessions: Sessions, key_hash: str, tenant: str, old: str, http: Request, response: Response, public_url: str = ""
) -> Session:
    """A new session of a tenant's key, whose cookie the response sets; the one the browser had before ends. The cookie
    goes over TLS alone where the request came so, or browsers reach the server so (`public_url`)."""
    sessions.close(old)
    cookie, session = sessions.open(key_hash, tenant)
    secure = http.url.scheme == "https" or public_url.startswith("https:")
    response.set_cookie(COOKIE, cookie, int(LIFE_S), httponly=True, samesite="strict", secure=secure)
    response.headers["Cache-Control"] = "no-store"
    return session


def close_session(sessions: Sessions, cookie: str) -> Response:
    """The answer to whoever logs out; the session has ended."""
    sessions.close(cookie)
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


def session_of(sessions: Sessions, cookie: str | None, method: str, token: str) -> Session:
    """The session that a cookie stands for, where the request is its owner's own.

    Args:
        cookie: As it was sent, if one was.
        token: Its `X-CSRF-Token`.

    Raises:
        Unauthorized: There is none.
        Forbidden: It changes something, and does not carry the session's token.
    """
    session = sessions.of(cookie) if cookie else None
    if session is None:
        raise Unauthorized("Send your key as `Authorization: Bearer <key>`.", field="Authorization")
    if method not in SAFE and not session.allows(token):
        raise Forbidden(f"Send the session's token as `{HEADER}`; `GET /v1/session` shows it.", field=HEADER)
    return session
