# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/keys`: a tenant's API keys; the operator's key sees and makes everyone's."""

from __future__ import annotations

import threading
import time
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from eddy.api.access.hub_tokens import NAMED
from eddy.api.access.keys import new_key
from eddy.api.answers.rendering import key_answer
from eddy.api.answers.schemas import KeyList, KeyMade
from eddy.api.dependencies.audit import record_action
from eddy.api.dependencies.callers import Caller, Ctx
from eddy.api.dependencies.context import Context
from eddy.api.http.current_request import key_in_use
from eddy.api.http.openapi import Responses, refusals
from eddy.api.http.problems import Forbidden
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.api.request_bodies.tenants import KeySubmission
from eddy.core.errors import Conflict, InvalidRequest, NotFound, QuotaExceeded
from eddy.core.tenants import ApiKey, KeyScope, TenantRecord
from eddy.store.account_tables.tenants import MAX_KEYS, new_key_id, revoke_after

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=JsonRoute)
_KeyId = Annotated[str, Path(max_length=64, description="The key's name, as `GET /v1/keys` shows it.")]
_Whose = Annotated[str, Query(max_length=64, description="Only this tenant's (operators); empty for all you may see.")]
_GONE: Responses = {204: {"description": "The key is no good any more."}}
_changing = threading.Lock()
"""Between looking at the keys there are and changing them."""


@router.get("", operation_id="list_keys", response_model=KeyList, summary="List keys", responses=refusals(403))
async def list_keys(context: Ctx, viewer: Caller, tenant: _Whose = "") -> KeyList:
    """Your keys, without the keys themselves; all there are, for the operator."""
    if tenant and not viewer.admin and tenant != viewer.id:
        raise Forbidden("You can list your own keys only.", field="tenant")
    whose = (tenant or None) if viewer.admin else viewer.id
    now = time.time()
    keys = context.store.keys
    damaged = list(keys.damaged) if viewer.admin else []
    return KeyList(keys=[key_answer(key, now) for key in keys.all(whose)], damaged=damaged)


@router.post(
    "",
    operation_id="make_key",
    status_code=201,
    response_model=KeyMade,
    summary="Make a key, or rotate one",
    responses=refusals(403, 404, 409),
)
def make_key(body: KeySubmission, response: Response, context: Ctx, viewer: Caller) -> KeyMade:
    """The key is in this answer and nowhere else. With `replaces`, that one is revoked, `grace_s` from now."""
    _check_lasting()
    now = time.time()
    with _changing:
        old = _mine(context, viewer, body.replaces) if body.replaces is not None else None
        owner = _owner(context, viewer, body, old)
        scope = KeyScope(body.scope) if body.scope else old.scope if old is not None else KeyScope.TENANT
        if scope is KeyScope.OPERATOR and not (owner.admin and viewer.admin):
            allowed = [KeyScope.TENANT.value, KeyScope.READ.value]
            message = f"A key of this scope is an operator's, made with an operator's: {owner.id} gets none with yours."
            raise InvalidRequest(message, field="scope", allowed=allowed)
        if sum(not key.ended(now) for key in context.store.keys.all(owner.id)) >= MAX_KEYS:
            message = f"Tenant {owner.id} has {MAX_KEYS} keys that are good: revoke one first."
            raise QuotaExceeded(message, limit=MAX_KEYS, asked=MAX_KEYS + 1)
        secret = new_key()
        expires = _expiry(context, owner, None if body.expires_in_s is None else now + body.expires_in_s)
        label = body.label or (old.label if old is not None else "")
        made = ApiKey(new_key_id(), owner.id, context.hasher.hash(secret), scope, label, now, expires)
        ends = () if old is None else (revoke_after(old, now, body.grace_s),)
        _check_left(context, [*ends, made], now + body.grace_s)
        facts = {"tenant": owner.id, "scope": scope.value, "made": made.id, "replaces": body.replaces}
        record_action(context, viewer, "make-key", **facts, expires_unix_s=expires)
        context.store.keys.put(made, *ends)
    response.headers["Cache-Control"] = "no-store"
    return KeyMade(**key_answer(made, now).model_dump(), key=secret)


@router.delete(
    "/{key}",
    operation_id="revoke_key",
    status_code=204,
    response_class=Response,
    summary="Revoke a key",
    responses={**_GONE, **refusals(404, 409)},
)
def revoke_key(key: _KeyId, context: Ctx, viewer: Caller) -> Response:
    """It is no good from now on, nor are sessions that were opened with it."""
    _check_lasting()
    with _changing:
        ended = revoke_after(_mine(context, viewer, key), time.time())
        _check_left(context, [ended], time.time())
        record_action(context, viewer, "revoke-key", tenant=ended.tenant, revoked=key)
        context.store.keys.put(ended)
    return Response(status_code=204)


def _check_lasting() -> None:
    """Check that a request came with a key, or a session of one.

    Raises:
        Forbidden: It came with a token of the hub, which may end at any time: what it makes would not.
    """
    if key_in_use.get().startswith(NAMED):
        raise Forbidden("Tokens of the hub make and end no keys: use a key.", field="Authorization")


def _mine(context: Context, viewer: TenantRecord, key: str) -> ApiKey:
    """A key the viewer may change.

    Raises:
        NotFound: There is none of that name; another tenant's does not show.
        Forbidden: The key in use was replaced itself: somebody who has it because it leaked ends no others.
    """
    found = context.store.keys.get(key)
    if not viewer.admin and (found.tenant != viewer.id or found.scope is KeyScope.OPERATOR):
        raise NotFound(f"There is no key {key}: `eddy key list` lists them.", field="key", asked=key)
    used = key_in_use.get()
    if found.id != used and context.store.keys.get(used).revoked_unix_s is not None:
        raise Forbidden("This key has been replaced, and can end no other: use the one that replaced it.", field="key")
    return found


def _owner(context: Context, viewer: TenantRecord, body: KeySubmission, old: ApiKey | None) -> TenantRecord:
    """For whom a key is made."""
    name = body.tenant or (old.tenant if old is not None else viewer.id)
    if old is not None and old.tenant != name:
        raise InvalidRequest(f"Key {old.id} is of {old.tenant}.", field="tenant", allowed=[old.tenant])
    if not viewer.admin and name != viewer.id:
        raise Forbidden("You can make keys for yourself only.", field="tenant")
    context.store.tenants.check_name_reusable(name)
    return context.store.tenants.get(name)


def _expiry(context: Context, owner: TenantRecord, asked_unix_s: float | None) -> float | None:
    """When a key ends: no later than the one of the same tenant it is made with, which would have no end otherwise. One
    that was replaced ends with its grace."""
    made_with = context.store.keys.get(key_in_use.get())
    own = (made_with.expires_unix_s, made_with.revoked_unix_s) if made_with.tenant == owner.id else ()
    ends = [asked_unix_s, *own]
    return min((each for each in ends if each is not None), default=None)


def _check_left(context: Context, changed: list[ApiKey], at_unix_s: float) -> None:
    """See that somebody can operate afterwards, and for as long as before.

    Raises:
        Conflict: No operator's key would be left, or none without an end where there was one.
    """
    before = {key.id: key for key in context.store.keys.all() if key.scope is KeyScope.OPERATOR}
    after = before | {key.id: key for key in changed if key.scope is KeyScope.OPERATOR}
    if not any(not key.ended(at_unix_s) for key in after.values()):
        raise Conflict("This is the last operator's key: make another one first.", field="key")
    if any(map(_endless, before.values())) and not any(map(_endless, after.values())):
        message = "This is the last operator's key without an end: make another one without an end first."
        raise Conflict(message, field="key")


def _endless(key: ApiKey) -> bool:
    return key.expires_unix_s is None and key.revoked_unix_s is None and not key.revoked_for_good
