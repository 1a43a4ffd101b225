# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/keys` at a head: a tenant's keys; the operator's key sees and makes everyone's."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
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
from eddy.store.account_tables.tenants import new_key_id, revoke_after

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
    parts.rate_limits.admit_key_change(caller)
    now_s, secret, name = time.time(), new_secret(), new_key_id()
    async with parts.keys.changing():
        keys = await parts.keys.all()
        old = None if body.replaces is None else _mine(keys, caller, body.replaces)
        owner = await parts.tenants.get(owner_of_new_key(caller, body, old))
        if owner.removed_unix_s:
            raise Conflict(f"Tenant {owner.id} was removed: it gets no key.", field="tenant", asked=owner.id)

        def planned(keys: Sequence[ApiKey]) -> ApiKey:
            replaced = None if old is None else _mine(keys, caller, old.id)
            used = used_by(caller, keys)
            return replace(plan_key(caller, used, owner, body, replaced, keys, hash_of(secret), now_s), id=name)

        async def noted(made: ApiKey) -> None:
            facts = {"tenant": owner.id, "scope": made.scope.value, "made": made.id, "replaces": body.replaces}
            await parts.note(caller, "make-key", **facts, expires_unix_s=made.expires_unix_s)

        made = await parts.keys.settle(planned, noted)
        if old is not None:
            try:
                await parts.keys.settle(partial(_ended, caller, old.id, now_s, body.grace_s), _noted_already)
            except (Conflict, Forbidden, NotFound):  # nobody gets the new one
                await parts.keys.change(made, lambda now: revoke_after(now, now_s))
                raise
    response.headers["Cache-Control"] = "no-store"
    return KeyMade(**key_answer(made, now_s).model_dump(), key=secret)


@router.delete("/{key}", status_code=204, response_class=Response)
async def revoke_key(key: KeyId, parts: Parts, caller: Caller) -> Response:
    """It is no good from now on at any head, nor are sessions that were opened with it."""
    parts.rate_limits.admit_key_change(caller)

    async def noted(ending: ApiKey) -> None:
        await parts.note(caller, "revoke-key", tenant=ending.tenant, revoked=key)

    async with parts.keys.changing():
        await parts.keys.settle(partial(_ended, caller, key, time.time(), 0.0), noted)
    return Response(status_code=204)


def _ended(caller: PoolTenant, name: str, now_s: float, grace_s: float, keys: Sequence[ApiKey]) -> ApiKey:
    """A key as it is once it was revoked.

    Raises:
        NotFound: The caller has none of that name.
        Conflict: Nobody could operate any more.
    """
    ended = revoke_after(_mine(keys, caller, name), now_s, grace_s)
    check_left(keys, [ended], now_s + grace_s)
    return ended


async def _noted_already(_: ApiKey) -> None:
    """That a key is replaced stands in the entry of the one that replaces it."""


def _mine(keys: Sequence[ApiKey], caller: PoolTenant, name: str) -> ApiKey:
    """A key the caller may change.

    Raises:
        NotFound: There is none of that name; another tenant's does not show.
    """
    for key in keys:
        if key.id == name:
            return check_may_change(caller, used_by(caller, keys), key)
    raise NotFound(f"There is no key {name}: `eddy key list` lists them.", field="key", asked=name)


def used_by(caller: PoolTenant, keys: Sequence[ApiKey] = ()) -> ApiKey:
    """The key that a caller asks with, as it is among some that were read later."""
    assert caller.key is not None
    return next((key for key in keys if key.id == caller.key.id), caller.key)
