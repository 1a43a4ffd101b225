# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who may make and end which keys: the same on a board and at a pool's head, each with the keys that it knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eddy.api.http.current_request import AnyTenant
from eddy.api.http.problems import Forbidden
from eddy.api.request_bodies.tenants import KeySubmission
from eddy.core.errors import Conflict, InvalidRequest, NotFound, QuotaExceeded
from eddy.core.tenants import ApiKey, KeyScope
from eddy.store.account_tables.tenants import MAX_KEYS, new_key_id, revoke_after


def check_may_change(caller: AnyTenant, used: ApiKey, key: ApiKey) -> ApiKey:
    """A key that the caller may change.

    Args:
        used: The key that it asks with.

    Raises:
        NotFound: It is another tenant's, which does not show.
        Forbidden: The key in use was replaced itself: somebody who has it because it leaked ends no others.
    """
    if not caller.admin and (key.tenant != caller.id or key.scope is KeyScope.OPERATOR):
        raise NotFound(f"There is no key {key.id}: `eddy key list` lists them.", field="key", asked=key.id)
    if key.id != used.id and used.revoked_unix_s is not None:
        raise Forbidden("This key has been replaced, and can end no other: use the one that replaced it.", field="key")
    return key


def owner_of_new_key(caller: AnyTenant, body: KeySubmission, old: ApiKey | None) -> str:
    """For whom a key is made."""
    name = body.tenant or (old.tenant if old is not None else caller.id)
    if old is not None and old.tenant != name:
        raise InvalidRequest(f"Key {old.id} is of {old.tenant}.", field="tenant", allowed=[old.tenant])
    if not caller.admin and name != caller.id:
        raise Forbidden("You can make keys for yourself only.", field="tenant")
    return name


def plan_key(
    caller: AnyTenant,
    used: ApiKey,
    owner: AnyTenant,
    body: KeySubmission,
    old: ApiKey | None,
    keys: Sequence[ApiKey],
    key_hash: str,
    now_unix_s: float,
) -> ApiKey:
    """A new key, where it may be made. It ends no later than the one of the same tenant that it is made with, which
    would have no end otherwise; and, whosever it is, no later than the grace of one that was replaced.

    Args:
        used: The key that the caller asks with.
        old: The one that it replaces.
        keys: All there are.

    Raises:
        InvalidRequest: It would be of a scope that the owner does not have, or the caller.
        QuotaExceeded: The owner has as many as it may.
        Conflict: Nobody could operate any more once the old one has ended.
    """
    scope = KeyScope(body.scope) if body.scope else old.scope if old is not None else KeyScope.TENANT
    if scope is KeyScope.OPERATOR and not (owner.admin and caller.admin):
        allowed = [KeyScope.TENANT.value, KeyScope.READ.value]
        message = f"A key of this scope is an operator's, made with an operator's: {owner.id} gets none with yours."
        raise InvalidRequest(message, field="scope", allowed=allowed)
    if sum(key.tenant == owner.id and not key.ended(now_unix_s) for key in keys) >= MAX_KEYS:
        message = f"Tenant {owner.id} has {MAX_KEYS} keys that are good: revoke one first."
        raise QuotaExceeded(message, limit=MAX_KEYS, asked=MAX_KEYS + 1)
    asked = None if body.expires_in_s is None else now_unix_s + body.expires_in_s
    own = used.expires_unix_s if used.tenant == owner.id else None
    ends = min((each for each in (asked, own, used.revoked_unix_s) if each is not None), default=None)
    label = body.label or (old.label if old is not None else "")
    made = ApiKey(new_key_id(), owner.id, key_hash, scope, label, now_unix_s, ends)
    ended = () if old is None else (revoke_after(old, now_unix_s, body.grace_s),)
    check_left(keys, [*ended, made], now_unix_s + body.grace_s)
    return made


def check_may_add(used: ApiKey, admin: bool) -> None:
    """Check that a key may add a tenant; the first key of that one ends with the grace of one that was replaced.

    Args:
        admin: Whether the tenant may do what the operator may.

    Raises:
        Forbidden: The key in use was replaced: an operator that it adds would outlive it.
    """
    if admin and used.revoked_unix_s is not None:
        message = "This key has been replaced, and adds no operator: use the one that replaced it."
        raise Forbidden(message, field="admin")


def check_left(keys: Iterable[ApiKey], changed: Iterable[ApiKey], at_unix_s: float) -> None:
    """See that somebody can operate afterwards, and for as long as before.

    Raises:
        Conflict: No operator's key would be left, or none without an end where there was one.
    """
    before = {key.id: key for key in keys if key.scope is KeyScope.OPERATOR}
    after = before | {key.id: key for key in changed if key.scope is KeyScope.OPERATOR}
    if not any(not key.ended(at_unix_s) for key in after.values()):
        raise Conflict("This is the last operator's key: make another one first.", field="key")
    if any(map(_endless, before.values())) and not any(map(_endless, after.values())):
        message = "This is the last operator's key without an end: make another one without an end first."
        raise Conflict(message, field="key")


def _endless(key: ApiKey) -> bool:
    return key.expires_unix_s is None and key.revoked_unix_s is None and not key.revoked_for_good
