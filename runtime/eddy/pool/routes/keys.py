# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/keys` at a head: a tenant's keys; the operator's key sees and makes everyone's."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Response

from eddy.api.access.key_rules import check_left, check_may_change, owner_of_new_key, plan_key
from eddy.api.answers.rendering import key_answer
from eddy.api.answers.schemas import KeyList, KeyMade
from eddy.api.http.problems import Forbidden
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.api.request_bodies.tenants import KeySubmission
from eddy.api.routes.keys import KeyId, Whose
from eddy.core.errors import Conflict, NotFound
from eddy.core.tenants import ApiKey
from eddy.pool.jetstream.tenant_keys import hash_of, new_secret
from eddy.pool.jetstream.tenants import PoolTenant
from eddy.pool.routes.context import Caller, Parts
from eddy.store.account_tables.tenants import revoke_after

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=JsonRoute)


@router.get("")
async def list_keys(parts: Parts, caller: Caller, tenant: Whose = "") -> KeyList:
    """Your keys, without the keys themselves; all there are, for the operator."""
    if tenant and not caller.admin and tenant != caller.id:
        raise Forbidden("You can list your own keys only.", field="tenant")
    now_s = time.time()
    found = await parts.keys.all(tenant if caller.admin else caller.id)
    return KeyList(keys=[key_answer(key, now_s) for key in found])


@router.post("", status_code=201)
async def make_key(body: KeySubmission, response: Response, parts: Parts, caller: Caller) -> Any:
    """The key is in this answer and nowhere else. With `replaces`, that one is revoked, `grace_s` from now."""
    now_s, secret = time.time(), new_secret()
    async with parts.keys.changing():
        keys = await parts.keys.all()
        old = None if body.replaces is None else _mine(keys, caller, body.replaces)
        owner = await parts.tenants.get(owner_of_new_key(caller, body, old))
        if owner.removed_unix_s:
            raise Conflict(f"Tenant {owner.id} was removed: it gets no key.", field="tenant", asked=owner.id)
        made = plan_key(caller, used_by(caller), owner, body, old, keys, hash_of(secret), now_s)
        facts = {"tenant": owner.id, "scope": made.scope.value, "made": made.id, "replaces": body.replaces}
        await parts.note(caller, "make-key", **facts, expires_unix_s=made.expires_unix_s)
        await parts.keys.keep(made)
        if old is not None:
            await parts.keys.change(old, lambda now: revoke_after(now, now_s, body.grace_s))
    response.headers["Cache-Control"] = "no-store"
    return KeyMade(**key_answer(made, now_s).model_dump(), key=secret)


@router.delete("/{key}", status_code=204, response_class=Response)
async def revoke_key(key: KeyId, parts: Parts, caller: Caller) -> Response:
    """It is no good from now on at any head, nor are sessions that were opened with it."""
    async with parts.keys.changing():
        keys, now_s = await parts.keys.all(), time.time()
        ending = _mine(keys, caller, key)
        check_left(keys, [revoke_after(ending, now_s)], now_s)
        await parts.note(caller, "revoke-key", tenant=ending.tenant, revoked=key)
        await parts.keys.change(ending, lambda now: revoke_after(now, now_s))
    return Response(status_code=204)


def _mine(keys: Sequence[ApiKey], caller: PoolTenant, name: str) -> ApiKey:
    """A key the caller may change.

    Raises:
        NotFound: There is none of that name; another tenant's does not show.
    """
    for key in keys:
        if key.id == name:
            return check_may_change(caller, used_by(caller), key)
    raise NotFound(f"There is no key {name}: `eddy key list` lists them.", field="key", asked=name)


def used_by(caller: PoolTenant) -> ApiKey:
    """The key that a caller asks with."""
    assert caller.key is not None
    return caller.key
