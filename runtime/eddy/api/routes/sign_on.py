# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/session/sign-on`: people log in at an identity provider, in a browser or from a command line."""

from __future__ import annotations

import html
import time
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

import anyio.to_thread
from fastapi import APIRouter, Cookie, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from eddy.api.access.identity_provider import IdentityProvider
from eddy.api.access.keys import new_key
from eddy.api.access.roles import Role
from eddy.api.access.session_bodies import SessionCookie, open_session
from eddy.api.access.sessions import LIFE_S
from eddy.api.access.sign_on_bodies import SignOnCode, SignOnKey, SignOnOffer
from eddy.api.access.sign_on_flows import LIFE_S as FLOW_S
from eddy.api.access.sign_on_flows import Flow, Granted
from eddy.api.dependencies.callers import Ctx
from eddy.api.dependencies.context import Context
from eddy.api.http.openapi import Responses, refusals
from eddy.api.http.problems import Forbidden, document
from eddy.api.request_bodies.numbers import Decimal
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.core.errors import EddyError, InvalidRequest, NotFound, QuotaExceeded, Unauthorized
from eddy.core.tenants import ApiKey, KeyScope
from eddy.store.account_tables.tenants import MAX_KEYS, new_key_id, revoke_after

PATH = "/v1/session/sign-on"
SIGNED_ON = "sign-on: "
"""What the label of a key begins with that was made when somebody logged in at the provider."""
FLOW_COOKIE = "eddy_sign_on"
router = APIRouter(prefix=PATH, tags=["sessions"], route_class=JsonRoute)
_Begun = Annotated[str, Cookie(alias=FLOW_COOKIE, description="The log-in that this browser began.")]
_Text = Annotated[str, Query(max_length=4096, description="As the provider sends it.")]
_Tenant = Annotated[
    str, Query(max_length=64, description="For which tenant; empty for the first that your groups allow.")
]
_Port = Annotated[Decimal, Query(ge=0, le=65_535, description="Where a command line listens on the browser's machine.")]
_Challenge = Annotated[str, Query(max_length=128, description="Its PKCE challenge (S256).")]
_SENT: Responses = {303: {"description": "To the provider, to the dashboard, or to the command line."}}


@router.get("/offer", operation_id="offer_sign_on", response_model=SignOnOffer, summary="Is there a provider?")
async def offer(context: Ctx) -> SignOnOffer:
    """For a page that is not logged in yet."""
    if context.provider is None:
        return SignOnOffer(provider="", path="")
    return SignOnOffer(provider=urlsplit(context.provider.settings.issuer).hostname or "", path=PATH)


@router.get(
    "",
    operation_id="begin_sign_on",
    status_code=303,
    response_class=Response,
    summary="Log in at the provider",
    responses={**_SENT, **refusals(404, 503)},
)
async def begin(
    http: Request, context: Ctx, tenant: _Tenant = "", port: _Port = 0, challenge: _Challenge = ""
) -> Response:
    """Send a browser to the identity provider. With a port and a challenge, a command line gets the key."""
    provider = _provider(context)
    if bool(port) != bool(challenge):
        raise InvalidRequest("A command line names a port and a challenge.", field="challenge")
    state, flow = context.flows.begin(tenant, port, challenge, http.client.host if http.client else "")
    where = partial(provider.authorization_url, state, flow.nonce, flow.verifier, fresh=bool(port))
    answer = RedirectResponse(await context.provider_calls.run(where), 303)
    secure = provider.settings.public_url.startswith("https:")
    answer.set_cookie(FLOW_COOKIE, flow.browser, int(FLOW_S), path=PATH, httponly=True, samesite="lax", secure=secure)
    answer.headers["Cache-Control"] = "no-store"
    return answer


@router.get(
    "/callback",
    operation_id="end_sign_on",
    status_code=303,
    response_class=Response,
    summary="Come back from the provider",
    responses={**_SENT, **refusals(401, 403, 404, 429, 503)},
)
async def end(
    http: Request,
    context: Ctx,
    state: _Text = "",
    code: _Text = "",
    error: _Text = "",
    begun: _Begun = "",
    old: SessionCookie = "",
) -> Response:
    """Where the provider sends the browser: opens a session, or lets the command line fetch its key."""
    provider, flow = _provider(context), None
    try:
        flow = context.flows.take(state, begun)
        if error or not code:
            message = f"The identity provider refused the log-in ({error[:60] or 'no code'})."
            raise Unauthorized(message, field="error")
        claims = await context.provider_calls.run(provider.redeem, code, flow.verifier, flow.nonce)
        return await anyio.to_thread.run_sync(_let_in, http, context, flow, claims, old)
    except EddyError as refusal:
        if flow is not None and flow.port:
            return _to_command_line(flow, context.flows.keep(refusal, flow.challenge))
        if "text/html" not in http.headers.get("accept", ""):
            raise
        return _page(refusal)


def _page(refusal: EddyError) -> Response:
    """A refusal for a person, who came with a browser."""
    status = document(refusal.code, refusal.message, f"{PATH}/callback")["status"]
    text = f"<!doctype html><html lang=en><meta charset=utf-8><title>Eddy</title><p>{html.escape(refusal.message)}</p>"
    policy = {"Content-Security-Policy": "default-src 'none'", "Cache-Control": "no-store"}
    return HTMLResponse(f'{text}<p><a href="/">Back to Eddy</a></p></html>', status, policy)


def _to_command_line(flow: Flow, code: str) -> Response:
    answer = RedirectResponse(f"http://127.0.0.1:{flow.port}/?{urlencode({'code': code})}", 303)
    answer.delete_cookie(FLOW_COOKIE, path=PATH)
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _let_in(http: Request, context: Context, flow: Flow, claims: Mapping[str, Any], old: str) -> Response:
    """Open a session for somebody whom the provider vouches for, or let a command line fetch its key.

    Raises:
        Forbidden: None of the groups may do anything here.
        QuotaExceeded: The tenant has too many keys.
    """
    provider = _provider(context)
    members = context.store.projects.members
    role, label = provider.settings.rules.role(claims, flow.tenant, members), _label(claims)
    _check_tenant(context, role)
    if flow.port:
        return _to_command_line(flow, context.flows.keep(Granted(role, label), flow.challenge))
    answer = RedirectResponse("/", 303)
    _, made = _make_key(context, role, label)
    open_session(context.sessions, made.key_hash, made.tenant, old, http, answer, provider.settings.public_url)
    answer.delete_cookie(FLOW_COOKIE, path=PATH)
    answer.headers["Cache-Control"] = "no-store"
    return answer


@router.post(
    "/key",
    operation_id="fetch_sign_on_key",
    response_model=SignOnKey,
    summary="Fetch the key of a log-in",
    responses=refusals(401, 403, 404, 429),
)
def fetch_key(body: SignOnCode, response: Response, context: Ctx) -> SignOnKey:
    """For the command line that began the log-in: a key that ends in 12 hours."""
    _provider(context)
    granted = context.flows.fetch(body.code, body.verifier)
    secret, made = _make_key(context, granted.role, granted.label)
    response.headers["Cache-Control"] = "no-store"
    return SignOnKey(
        key=secret,
        id=made.id,
        tenant=made.tenant,
        operator=made.scope is KeyScope.OPERATOR,
        expires_unix_s=made.expires_unix_s or 0.0,
    )


def end_signed_on_key(context: Context, key_hash: str) -> None:
    """End a key that was made for a session that is closed."""
    key = context.store.keys.by_hash(key_hash)
    if key is not None and key.label.startswith(SIGNED_ON) and not key.ended(time.time()):
        context.store.keys.put(revoke_after(key, time.time()))


def _provider(context: Context) -> IdentityProvider:
    """The provider.

    Raises:
        NotFound: There is none.
    """
    if context.provider is None:
        raise NotFound("People log in with keys here: the operator's setting --oidc-issuer names no provider.")
    return context.provider


def _check_tenant(context: Context, role: Role) -> None:
    """See that somebody's tenant is there, and may have what the role says.

    Raises:
        Forbidden: It is not.
    """
    try:
        tenant = context.store.tenants.get(role.tenant)
    except NotFound:
        message = f"Your groups lead to tenant {role.tenant}, which is not there: ask the operator."
        raise Forbidden(message, field="tenant") from None
    if role.scope is KeyScope.OPERATOR and not tenant.admin:
        raise Forbidden(f"Tenant {role.tenant} is no operator.", field="tenant")


def _make_key(context: Context, role: Role, label: str) -> tuple[str, ApiKey]:
    """A key of somebody who was vouched for, which ends by itself.

    Raises:
        QuotaExceeded: The tenant has too many keys.
    """
    now_s, secret = time.time(), new_key()
    with context.signing_on:
        good = [key for key in context.store.keys.all(role.tenant) if not key.ended(now_s)]
        ended: list[ApiKey] = []
        if len(good) >= MAX_KEYS:
            ended = [revoke_after(key, now_s) for key in good if key.label.startswith(SIGNED_ON)][:1]
            if not ended:
                message = f"Tenant {role.tenant} has {MAX_KEYS} keys that are good: revoke one first."
                raise QuotaExceeded(message, limit=MAX_KEYS, asked=MAX_KEYS + 1)
        made = ApiKey(new_key_id(), role.tenant, context.hasher.hash(secret), role.scope, label, now_s, now_s + LIFE_S)
        facts = {"tenant": role.tenant, "scope": role.scope.value, "made": made.id, "who": label}
        context.store.audit.note(context.hasher.hash, role.tenant, made.id, "sign-on", facts)
        context.store.keys.put(made, *ended)
    return secret, made


def _label(claims: Mapping[str, Any]) -> str:
    """Of whom a key is, for people: a name if the provider gives one, and what it knows them by."""
    names = [claims.get(name) for name in ("preferred_username", "email", "sub")]
    said = " ".join(dict.fromkeys(name for name in names if isinstance(name, str) and name))
    return (SIGNED_ON + "".join(letter for letter in said if letter.isprintable()))[:100]
