# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who is asking, by a key or by a browser's session, and what they may: `Caller` and `Operator` of a route."""

from __future__ import annotations

import dataclasses
import time
from typing import Annotated

from fastapi import Depends, Request, Response, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from starlette.types import Scope

from eddy.api.access.session_bodies import SAFE, session_of
from eddy.api.access.sessions import COOKIE, HEADER
from eddy.api.dependencies.context import Context
from eddy.api.http.current_request import caller_in_use, cookie_in_use, key_in_use
from eddy.api.http.problems import Forbidden
from eddy.core.errors import BoardUnreachable, Conflict, NotFound, Unauthorized
from eddy.core.tenants import ApiKey, KeyScope, TenantRecord


async def context_of(request: Request) -> Context:
    """The server's context. Like every dependency that waits for nothing it is `async`: others cost a thread's turn."""
    context = request.app.state.context
    assert isinstance(context, Context)
    return context


Ctx = Annotated[Context, Depends(context_of)]


def require_running(context: Context) -> None:
    """Refuse what could not be carried out.

    Raises:
        BoardUnreachable: The hypervisor has stopped, or has not reached its board yet.
    """
    if context.failure:
        raise BoardUnreachable(context.unavailable)
    if not (context.running and context.hypervisor.ready):
        raise BoardUnreachable("The hypervisor is waiting for its board; try again in a moment.")


_bearer = HTTPBearer(
    auto_error=False, scheme_name="api_key", description="A tenant's key, as `eddy tenant add` shows it."
)
_cookie = APIKeyCookie(
    name=COOKIE,
    auto_error=False,
    scheme_name="session",
    description="A browser's session, of `POST /v1/session`.",
)


def visible_tenant(viewer: TenantRecord) -> str | None:
    """Of which tenant a viewer sees what there is; None for all of them."""
    return None if viewer.admin else viewer.id


SESSION = "/v1/session"
"""What a key that only reads may change: its own session."""


def tenant_of_key(context: Context, key: str) -> TenantRecord:
    """Whose a key is, with what the key may do.

    Raises:
        Unauthorized: Nobody's, or it has ended.
    """
    return _tenant(context, _valid(context, context.hasher.hash(key)))


def _valid(context: Context, key_hash: str) -> ApiKey:
    """A key that is valid.

    Raises:
        Unauthorized: There is none of this hash, or it has ended.
    """
    key = context.store.keys.by_hash(key_hash)
    if key is None:
        raise Unauthorized("This key is unknown; ask the operator for one.", field="Authorization")
    ended = key.ended(time.time())
    if ended:
        what = "This key has expired" if ended == "expired" else "This key was revoked"
        raise Unauthorized(f"{what}; take another one, or ask the operator for one.", field="Authorization")
    return key


def _tenant(context: Context, key: ApiKey) -> TenantRecord:
    """The tenant, with no more rights than the key has."""
    tenant = context.store.tenants.get(key.tenant)
    if tenant.admin and key.scope is KeyScope.TENANT:
        return dataclasses.replace(tenant, admin=False)
    return tenant


async def caller(
    request: Request,
    response: Response,
    context: Ctx,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
    cookie: Annotated[str | None, Security(_cookie)],
) -> TenantRecord:
    """Who is asking: by a key, or else by a browser's session. What is answered is theirs, and no cache's.

    Raises:
        Unauthorized: No key, or one nobody has, or that has ended.
        Forbidden: A session's request that changes something does not carry the session's token; or the key only reads.
        RateLimited: Its tenant makes too many requests, or its address has sent too many tokens that nobody knows.
        ProviderUnreachable: It may be a token of the hub, which cannot be asked.
    """
    response.headers["Cache-Control"] = "no-store"
    if credentials is not None:
        key = await _key_of(context, request, credentials.credentials)
        tenant = _noted(*_allowed(context, request.method, request.scope["path"], key))
    else:
        session = session_of(context.sessions, cookie, request.method, request.headers.get(HEADER, ""))
        key = _valid(context, session.key_hash)
        tenant = _noted(*_allowed(context, request.method, request.scope["path"], key), cookie or "")
    charge(context, tenant, request.scope)
    return tenant


async def _key_of(context: Context, request: Request, sent: str) -> ApiKey:
    """The key that was sent, or what a token of the hub is taken for.

    Raises:
        Unauthorized: Nobody's, or it has ended.
        Forbidden: A token of the hub that opens nothing here.
        RateLimited: Too many tokens that nobody knows came from there.
        ProviderUnreachable: The hub cannot be asked.
    """
    key_hash = context.hasher.hash(sent)
    if context.hub is not None and context.store.keys.by_hash(key_hash) is None:
        found = await context.hub.key(sent, request.client.host if request.client else "")
        try:
            context.store.tenants.get(found.tenant)
            context.store.tenants.check_name_reusable(found.tenant)
        except (NotFound, Conflict):
            message = f"The hub's user leads to tenant {found.tenant}, which is not there: ask the operator."
            raise Forbidden(message, field="Authorization") from None
        return found
    return _valid(context, key_hash)


def _allowed(context: Context, method: str, path: str, key: ApiKey) -> tuple[ApiKey, TenantRecord]:
    if method not in SAFE and key.scope is KeyScope.READ and path != SESSION:
        raise Forbidden("This key may look, and change nothing; use one of another scope.", field="Authorization")
    return key, _tenant(context, key)


def _noted(key: ApiKey, tenant: TenantRecord, cookie: str = "") -> TenantRecord:
    """Have others know who makes the request under way, and with what: the log, and what ends with it."""
    key_in_use.set(key.id)
    cookie_in_use.set(cookie)
    caller_in_use.set(tenant)
    return tenant


def charge(context: Context, tenant: TenantRecord, scope: Scope) -> None:
    """Count a request of a tenant, of which that is the scope.

    Raises:
        RateLimited: It makes too many, or has too many under way.
    """
    context.in_flight.count_request(scope, tenant)
    context.rates.spend_token(tenant.id, tenant.quota.max_requests_per_s)


Caller = Annotated[TenantRecord, Depends(caller)]


async def operator(tenant: Caller) -> TenantRecord:
    """Whoever is asking, where that is the operator.

    Raises:
        Forbidden: It is a tenant.
    """
    if not tenant.admin:
        raise Forbidden("This needs the operator's key.", field="Authorization")
    return tenant


Operator = Annotated[TenantRecord, Depends(operator)]
