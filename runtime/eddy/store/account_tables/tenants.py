# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tenants: who may submit, and within which bounds; and their API keys, several to a tenant, each with a scope, kept as
hashes and for as long as the tenant is."""

from __future__ import annotations

import dataclasses
import hmac
import json
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable

from eddy.core.errors import Conflict, NotFound, RecordDamaged, Unauthorized
from eddy.core.tenants import MAX_WEIGHT, MIN_WEIGHT, ApiKey, KeyScope, Quota, TenantRecord
from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database
from eddy.store.db.field_types import check_types, parse_finite, parse_flag
from eddy.store.db.rows import parse_object

MAX_KEYS = 64
"""Keys of a tenant that are neither revoked nor expired."""
KEPT_ENDED = 64
"""Keys of a tenant that are, and are still known; beyond them, those that were made first are forgotten."""


def make_keyed_hash(secret: bytes) -> Callable[[str], str]:
    """Answers how a text (a key that is kept, an entry of the audit log) is hashed under the server's secret: nobody
    makes the hash without it."""
    keyed = hmac.new(secret, digestmod="sha256")

    def hash_text(text: str) -> str:
        of_text = keyed.copy()
        of_text.update(text.encode())
        return of_text.hexdigest()

    return hash_text


def new_key_id() -> str:
    """What names a key where the key itself must not stand; tells nothing about it."""
    return f"k{secrets.token_hex(6)}"


class Keyring:
    """Keys by their hash and by their name."""

    def __init__(self, keys: Iterable[ApiKey]) -> None:
        self.by_id: dict[str, ApiKey] = {}
        self.by_hash: dict[str, ApiKey] = {}
        self.put(*keys)

    def put(self, *keys: ApiKey) -> None:
        """Add or replace some."""
        for key in keys:
            self.by_id[key.id] = key
            self.by_hash[key.key_hash] = key

    def drop(self, keys: Iterable[ApiKey]) -> None:
        """Forget some."""
        for key in keys:
            self.by_id.pop(key.id, None)
            self.by_hash.pop(key.key_hash, None)


class Keys:
    """The keys of all tenants; every request asks for one, so all are kept in memory as well.

    Attributes:
        damaged: Hashes of those whose records cannot be read, by their names; they open nothing.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        rows = db.rows("SELECT * FROM api_key")
        self._keyring = Keyring(db.damage.read_rows(RecordKind.KEY, rows, _key_name, key_from_row))
        self.damaged = {_key_name(row): row["hash"] for row in rows if _key_name(row) not in self._keyring.by_id}

    def by_hash(self, key_hash: str) -> ApiKey | None:
        """The key of this hash, be it valid or not; None where there is none.

        Raises:
            RecordDamaged: There is one, and whether it is valid cannot be read.
        """
        found = self._keyring.by_hash.get(key_hash)
        if found is None:
            for name, damaged in self.damaged.items():
                if damaged == key_hash:
                    raise self._damaged(name)
        return found

    def _damaged(self, key: str) -> RecordDamaged:
        return self._db.damage.note(RecordKind.KEY, key, "its record could not be read at the start")

    def get(self, key: str) -> ApiKey:
        """The key of this name.

        Raises:
            NotFound: There is none.
            RecordDamaged: Its record cannot be read.
        """
        found = self._keyring.by_id.get(key)
        if found is None and key in self.damaged:
            raise self._damaged(key)
        if found is None:
            raise NotFound(f"There is no key {key}: `eddy key list` lists them.", field="key", asked=key)
        return found

    def all(self, tenant: str | None = None) -> tuple[ApiKey, ...]:
        """Keys of a tenant, or of all, oldest first."""
        found = [key for key in list(self._keyring.by_id.values()) if tenant in (None, key.tenant)]
        return tuple(sorted(found, key=lambda key: (key.created_unix_s, key.id)))

    def put(self, *keys: ApiKey) -> None:
        """Add keys, or replace what is known of them; all or none. Of those that ended, few stay known."""
        with self._db.transaction() as db:
            write_keys(db, keys)
            old = self._forgotten(keys)
            db.executemany("DELETE FROM api_key WHERE id = ?", [(key.id,) for key in old])
            self._db.after_commit(lambda: self.add_known(*keys))
            self._db.after_commit(lambda: self._keyring.drop(old))

    def drop_all(self, db: sqlite3.Connection, tenant: str) -> None:
        """Forget all keys of a tenant, in a transaction."""
        old = self.all(tenant)
        db.execute("DELETE FROM api_key WHERE tenant = ?", (tenant,))
        self._db.after_commit(lambda: self._keyring.drop(old))

    def _forgotten(self, changed: Iterable[ApiKey]) -> list[ApiKey]:
        """Of the tenants whose keys change: keys that ended, beyond those that stay known."""
        now, new = time.time(), {key.id: key for key in changed}
        found: list[ApiKey] = []
        for tenant in {key.tenant for key in new.values()}:
            ended = [key for key in self.all(tenant) if new.get(key.id, key).ended(now)]
            found += ended[: max(len(ended) - KEPT_ENDED, 0)]
        return found

    def add_known(self, *keys: ApiKey) -> None:
        """Keys were written, in a transaction that is committed."""
        self._keyring.put(*keys)


def first_key(tenant: str, key_hash: str, scope: KeyScope, ends_unix_s: float | None = None) -> ApiKey:
    """The key a tenant is added with."""
    return ApiKey(new_key_id(), tenant, key_hash, scope, "first", time.time(), ends_unix_s)


def revoke_after(key: ApiKey, now_unix_s: float, grace_s: float = 0.0) -> ApiKey:
    """The key, which is no good once so many seconds have passed; one that was revoked before stays so."""
    at_unix_s = now_unix_s + grace_s
    if key.revoked_unix_s is not None:
        at_unix_s = min(at_unix_s, key.revoked_unix_s)
    return dataclasses.replace(key, revoked_unix_s=at_unix_s, revoked_for_good=key.revoked_for_good or grace_s <= 0)


def write_keys(db: sqlite3.Connection, keys: Iterable[ApiKey]) -> None:
    """Add keys, or replace them, in a transaction."""
    for key in keys:
        values = (key.id, key.tenant, key.key_hash, key.scope.value, key.label)
        times = (key.created_unix_s, key.expires_unix_s, key.revoked_unix_s, key.revoked_for_good)
        db.execute("INSERT OR REPLACE INTO api_key VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*values, *times))


@names_damage("a key's row")
def key_from_row(row: sqlite3.Row) -> ApiKey:
    """A key from its row.

    Raises:
        RecordDamaged: It is not what was written.
    """
    scope = KeyScope(row["scope"])
    times = (row["created_unix_s"], row["expires_unix_s"], row["revoked_unix_s"], parse_flag(row["revoked_for_good"]))
    return check_types(ApiKey(row["id"], row["tenant"], row["hash"], scope, row["label"], *times))


def _key_name(row: sqlite3.Row) -> str:
    return row["id"] if isinstance(row["id"], str) else repr(row["id"])


class Tenants:
    """All tenants. Every request asks who it is from, so all are kept in memory as well.

    Args:
        default_quota: What one may use that has no bounds of its own.

    Attributes:
        damaged: Names of those whose records cannot be read; they can do nothing until they are added again.
    """

    def __init__(self, db: Database, keys: Keys, default_quota: Quota) -> None:
        self._db, self._keys, self._default_quota = db, keys, default_quota
        rows = db.rows("SELECT * FROM tenant")
        self._tenants_known = TenantCache(db.damage.read_rows(RecordKind.TENANT, rows, _name, tenant_from_row))
        self.damaged = {_name(row) for row in rows} - set(self._tenants_known.by_name)
        removed = db.rows("SELECT * FROM removed")
        self._removed = dict(db.damage.read_rows(RecordKind.TENANT, removed, lambda row: row["tenant"], removed_of))
        """By name of a tenant that is being removed, or was: when it was gone; None while something of it is there."""

    def put(self, tenant: TenantRecord, key_ends_unix_s: float | None = None) -> None:
        """Add a tenant, or replace what is known of it.

        Args:
            key_ends_unix_s: When its key ends, where that is a new one; None for never.
        """
        quota = tenant.quota
        values = (tenant.id, tenant.key_hash, int(tenant.admin), quota.max_jobs, quota.max_blob_bytes)
        texts = json.dumps(dict(tenant.attributes), sort_keys=True), json.dumps(_bounds(quota))
        with self._db.transaction() as db:
            changed = self._keys_of(tenant, key_ends_unix_s)
            db.execute("INSERT OR REPLACE INTO tenant VALUES (?, ?, ?, ?, ?, ?, ?)", (*values, *texts))
            write_keys(db, changed)
            self._db.after_commit(lambda: self._known_now(tenant, changed))

    def _keys_of(self, tenant: TenantRecord, ends_unix_s: float | None) -> tuple[ApiKey, ...]:
        """The keys that change with what is written of a tenant: the one it has now, and the one it had."""
        before = self._tenants_known.by_name.get(tenant.id)
        had = "" if before is None else before.key_hash
        known = before is None and self._keys.by_hash(tenant.key_hash) is not None
        if had == tenant.key_hash or known:
            return ()
        old = self._keys.by_hash(had)
        scope = KeyScope.OPERATOR if tenant.admin else KeyScope.TENANT
        new = (first_key(tenant.id, tenant.key_hash, scope, ends_unix_s),) if tenant.key_hash else ()
        return new if old is None else (*new, revoke_after(old, time.time()))

    def _known_now(self, tenant: TenantRecord, keys: Iterable[ApiKey]) -> None:
        self._tenants_known.put(tenant)
        self.damaged.discard(tenant.id)
        self._db.damage.mark_repaired(RecordKind.TENANT, tenant.id)
        self._keys.add_known(*keys)

    def get(self, tenant: str) -> TenantRecord:
        """One tenant.

        Raises:
            NotFound: There is none of that name.
            RecordDamaged: Its record cannot be read.
        """
        found = self._tenants_known.by_name.get(tenant)
        if tenant in self.damaged:
            raise self._db.damage.note(RecordKind.TENANT, tenant, "its record could not be read at the start")
        if found is None:
            raise NotFound(f"There is no tenant {tenant}: `eddy tenant list` lists them.", field="tenant", asked=tenant)
        return found

    def by_key(self, key_hash: str) -> TenantRecord | None:
        """Whose API key has this hash and is valid, or None."""
        key = self._keys.by_hash(key_hash)
        return None if key is None or key.ended(time.time()) else self._tenants_known.by_name.get(key.tenant)

    def all(self) -> tuple[TenantRecord, ...]:
        """All tenants, by name."""
        known = self._tenants_known.by_name
        return tuple(known[name] for name in sorted(known))

    def has_several(self) -> bool:
        """Whether there are several beside operators, which could keep each other's jobs out."""
        return sum(not each.admin for each in list(self._tenants_known.by_name.values())) > 1

    def quota(self, tenant: str) -> Quota:
        """A tenant's bounds: its own, or the default.

        Raises:
            Unauthorized: It is being removed, or was; the request came before.
        """
        if tenant in self._removed:
            raise Unauthorized(f"Tenant {tenant} has been removed.", field="Authorization")
        found = self._tenants_known.by_name.get(tenant)
        return self._default_quota if found is None else found.quota

    def weight(self, tenant: str) -> float:
        """What a tenant is entitled to, relative to the others: its attribute `weight`, 1 where none will do.

        The API takes none that will not do; a folder of an earlier version may have one.
        """
        found = self._tenants_known.by_name.get(tenant)
        try:
            weight = 1.0 if found is None else float(found.attributes.get("weight", 1.0))
        except (TypeError, ValueError):
            return 1.0
        return weight if MIN_WEIGHT <= weight <= MAX_WEIGHT else 1.0

    def is_removed(self, tenant: str) -> bool:
        """Whether a tenant is being removed, or was."""
        return tenant in self._removed

    def list_leaving(self) -> tuple[str, ...]:
        """Tenants that are being removed, by name."""
        return tuple(sorted(name for name, gone in self._removed.items() if gone is None))

    def check_name_reusable(self, tenant: str) -> None:
        """Check that a tenant of that name may be added or changed: names of those that were removed stay theirs.

        Raises:
            Conflict: It is being removed, or was.
        """
        if tenant in self._removed:
            gone = self._removed[tenant]
            how = "is being removed" if gone is None else f"was removed on {_day(gone)}"
            message = f"Tenant {tenant} {how}; accounts of use and the audit log keep its name: use another one."
            raise Conflict(message, field="tenant", asked=tenant)

    def remove(self, db: sqlite3.Connection, tenant: str) -> None:
        """Begin to remove a tenant, in a transaction: its keys are no good once that is committed."""
        record = dataclasses.replace(self.get(tenant), key_hash="", attributes={})
        db.execute("INSERT OR IGNORE INTO removed (tenant, asked_unix_s) VALUES (?, ?)", (tenant, time.time()))
        db.execute("UPDATE tenant SET key_hash = '', attributes = '{}' WHERE id = ?", (tenant,))
        self._keys.drop_all(db, tenant)
        self._db.after_commit(lambda: self._tenants_known.put(record))
        self._db.after_commit(lambda: self._removed.update({tenant: self._removed.get(tenant)}))

    def mark_gone(self, db: sqlite3.Connection, tenant: str) -> None:
        """Nothing of a tenant is left but its name, in a transaction."""
        now_s = time.time()
        db.execute("DELETE FROM tenant WHERE id = ?", (tenant,))
        db.execute("UPDATE removed SET gone_unix_s = ? WHERE tenant = ?", (now_s, tenant))
        self._db.after_commit(lambda: self._removed.update({tenant: now_s}))
        self._db.after_commit(lambda: self._tenants_known.drop(tenant))


def _day(unix_s: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(unix_s))


class TenantCache:
    """Tenants by name."""

    def __init__(self, tenants: Iterable[TenantRecord]) -> None:
        self.by_name: dict[str, TenantRecord] = {}
        for tenant in tenants:
            self.put(tenant)

    def put(self, tenant: TenantRecord) -> None:
        """Add or replace one."""
        self.by_name[tenant.id] = tenant

    def drop(self, name: str) -> None:
        """Forget one."""
        self.by_name.pop(name, None)


@names_damage("a tenant's row")
def tenant_from_row(row: sqlite3.Row) -> TenantRecord:
    """A tenant from its row.

    Raises:
        RecordDamaged: It is not what was written.
    """
    return check_types(
        TenantRecord(
            id=row["id"],
            key_hash=row["key_hash"],
            admin=parse_flag(row["admin"]),
            quota=Quota(row["max_jobs"], row["max_blob_bytes"], **parse_object(row["bounds"])),
            attributes=parse_object(row["attributes"]),
        )
    )


def _name(row: sqlite3.Row) -> str:
    return row["id"] if isinstance(row["id"], str) else repr(row["id"])


def _bounds(quota: Quota) -> dict[str, float | int | None]:
    """What has no column of its own."""
    return {
        "max_priority": quota.max_priority,
        "max_requests_per_s": quota.max_requests_per_s,
        "max_slot_s": quota.max_slot_s,
        "max_core_s": quota.max_core_s,
        "max_leases": quota.max_leases,
        "max_lease_s": quota.max_lease_s,
    }


@names_damage("a removed tenant's row")
def removed_of(row: sqlite3.Row) -> tuple[str, float | None]:
    """The name of a tenant that is being removed, or was, and when it was gone, from its row.

    Raises:
        RecordDamaged: It is not what was written.
    """
    parse_finite(row["asked_unix_s"])
    if not isinstance(row["tenant"], str):
        raise TypeError(f"tenant is {row['tenant']!r:.40}")
    return row["tenant"], None if row["gone_unix_s"] is None else parse_finite(row["gone_unix_s"])
