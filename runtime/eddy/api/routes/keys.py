# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/keys`: a tenant's API keys; the operator's key sees and makes everyone's."""

from __future__ import annotations

import threading
import time
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from eddy.api.access.hub_tokens import NAMED
from eddy.api.access.key_rules import check_left, check_may_change, owner_of_new_key, plan_key
from eddy.api.access.keys import new_key
from eddy.api.answers.rendering import key_answer
from eddy.api.answers.schemas import KeyList, KeyMade
from eddy.api.dependencies.audit import record_action
from eddy.api.dependencies.callers import Caller, Ctx
from eddy.api.http.current_request import key_in_use
from eddy.api.http.openapi import Responses, refusals
from eddy.api.http.problems import Forbidden
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.api.request_bodies.tenants import KeySubmission
from eddy.store.account_tables.tenants import revoke_after

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=JsonRoute)
KeyId = Annotated[str, Path(max_length=64, description="The key's name, as `GET /v1/keys` shows it.")]
Whose = Annotated[str, Query(max_length=64, description="Only this tenant's (operators); empty for all you may see.")]
_GONE: Responses = {204: {"description": "The key is no good any more."}}
_changing = threading.Lock()
"""Between looking at the keys there are and changing them."""


@router.get("", operation_id="list_keys", response_model=KeyList, summary="List keys", responses=refusals(403))
async def list_keys(context: Ctx, viewer: Caller, tenant: Whose = "") -> KeyList:
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
        used = context.store.keys.get(key_in_use.get())
        old = None if body.replaces is None else check_may_change(viewer, used, context.store.keys.get(body.replaces))
        name = owner_of_new_key(viewer, body, old)
        context.store.tenants.check_name_reusable(name)
        owner, keys, secret = context.store.tenants.get(name), context.store.keys.all(), new_key()
        made = plan_key(viewer, used, owner, body, old, keys, context.hasher.hash(secret), now)
        ends = () if old is None else (revoke_after(old, now, body.grace_s),)
        facts = {"tenant": owner.id, "scope": made.scope.value, "made": made.id, "replaces": body.replaces}
        record_action(context, viewer, "make-key", **facts, expires_unix_s=made.expires_unix_s)
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
def revoke_key(key: KeyId, context: Ctx, viewer: Caller) -> Response:
    """It is no good from now on, nor are sessions that were opened with it."""
    _check_lasting()
    with _changing:
        keys, now = context.store.keys, time.time()
        ended = revoke_after(check_may_change(viewer, keys.get(key_in_use.get()), keys.get(key)), now)
        check_left(keys.all(), [ended], now)
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
