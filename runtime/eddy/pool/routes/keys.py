# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/keys` at a head: a tenant's keys; the operator's key sees and makes everyone's."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from eddy.api.answers.rendering import key_answer
from eddy.api.answers.schemas import KeyList, KeyMade
from eddy.api.http.problems import Forbidden
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.api.request_bodies.tenants import KeySubmission
from eddy.core.errors import Conflict, InvalidRequest, NotFound, QuotaExceeded
from eddy.core.tenants import ApiKey, KeyScope
from eddy.pool.jetstream.tenants import PoolTenant
from eddy.pool.routes.context import Caller, HeadParts, Parts
from eddy.store.account_tables.tenants import MAX_KEYS, revoke_after

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=JsonRoute)
_KeyId = Annotated[str, Path(max_length=64, description="The key's name, as `GET /v1/keys` shows it.")]
_Whose = Annotated[str, Query(max_length=64, description="Only this tenant's (operators); empty for all you may see.")]


@router.get("")
async def list_keys(parts: Parts, caller: Caller, tenant: _Whose = "") -> KeyList:
    """Your keys, without the keys themselves; all there are, for the operator."""
    if tenant and not caller.admin and tenant != caller.id:
        raise Forbidden("You can list your own keys only.", field="tenant")
    now_s = time.time()
    found = await parts.keys.all(tenant if caller.admin else caller.id)
    return KeyList(keys=[key_answer(key, now_s) for key in found])


@router.post("", status_code=201)
async def make_key(body: KeySubmission, response: Response, parts: Parts, caller: Caller) -> Any:
    """The key is in this answer and nowhere else. With `replaces`, that one is revoked, `grace_s` from now."""
    now_s = time.time()
    async with parts.keys.changing():
        old = None if body.replaces is None else await _mine(parts, caller, body.replaces)
        owner = await _owner(parts, caller, body, old)
        scope = KeyScope(body.scope) if body.scope else old.scope if old is not None else KeyScope.TENANT
        if scope is KeyScope.OPERATOR and not (owner.admin and caller.admin):
            allowed = [KeyScope.TENANT.value, KeyScope.READ.value]
            message = f"A key of this scope is an operator's, made with an operator's: {owner.id} gets none with yours."
            raise InvalidRequest(message, field="scope", allowed=allowed)
        if sum(not key.ended(now_s) for key in await parts.keys.all(owner.id)) >= MAX_KEYS:
            message = f"Tenant {owner.id} has {MAX_KEYS} keys that are good: revoke one first."
            raise QuotaExceeded(message, limit=MAX_KEYS, asked=MAX_KEYS + 1)
        if old is not None and scope is not KeyScope.OPERATOR:
            await _check_left(parts, old, now_s + body.grace_s)
        with_s = caller.key_expires_unix_s if caller.id == owner.id else None
        ends = [None if body.expires_in_s is None else now_s + body.expires_in_s, with_s]
        expires_s = min((each for each in ends if each is not None), default=None)
        label = body.label or (old.label if old is not None else "")
        facts = {"tenant": owner.id, "scope": scope.value, "label": label, "replaces": body.replaces}
        await parts.note(caller, "make-key", **facts, expires_unix_s=expires_s)
        secret, made = await parts.keys.make(owner.id, scope, label, expires_s)
        if old is not None:
            await parts.keys.change(old, lambda now: revoke_after(now, now_s, body.grace_s))
    response.headers["Cache-Control"] = "no-store"
    return KeyMade(**key_answer(made, now_s).model_dump(), key=secret)


@router.delete("/{key}", status_code=204, response_class=Response)
async def revoke_key(key: _KeyId, parts: Parts, caller: Caller) -> Response:
    """It is no good from now on at any head, nor are sessions that were opened with it."""
    async with parts.keys.changing():
        ending, now_s = await _mine(parts, caller, key), time.time()
        await _check_left(parts, ending, now_s)
        await parts.note(caller, "revoke-key", tenant=ending.tenant, revoked=key)
        await parts.keys.change(ending, lambda now: revoke_after(now, now_s))
    return Response(status_code=204)


async def _mine(parts: HeadParts, caller: PoolTenant, name: str) -> ApiKey:
    """A key the caller may change.

    Raises:
        NotFound: There is none of that name; another tenant's does not show.
    """
    found = await parts.keys.find_by_name(name)
    if not caller.admin and (found.tenant != caller.id or found.scope is KeyScope.OPERATOR):
        raise NotFound(f"There is no key {name}: `eddy key list` lists them.", field="key", asked=name)
    return found


async def _owner(parts: HeadParts, caller: PoolTenant, body: KeySubmission, old: ApiKey | None) -> PoolTenant:
    """For whom a key is made."""
    name = body.tenant or (old.tenant if old is not None else caller.id)
    if old is not None and old.tenant != name:
        raise InvalidRequest(f"Key {old.id} is of {old.tenant}.", field="tenant", allowed=[old.tenant])
    if not caller.admin and name != caller.id:
        raise Forbidden("You can make keys for yourself only.", field="tenant")
    owner = await parts.tenants.get(name)
    if owner.removed_unix_s:
        raise Conflict(f"Tenant {name} was removed: it gets no key.", field="tenant", asked=name)
    return owner


async def _check_left(parts: HeadParts, ending: ApiKey, at_unix_s: float) -> None:
    """See that somebody can operate the pool without a key.

    Raises:
        Conflict: No operator's key would be left.
    """
    if ending.scope is not KeyScope.OPERATOR:
        return
    if not await parts.keys.operators(at_unix_s, but=ending.id):
        raise Conflict("This is the last operator's key: make another one first.", field="key")
