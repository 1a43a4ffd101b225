"""Tenants: who may submit, and within which bounds."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from eddy.core.errors import NotFound
from eddy.core.records import Quota, TenantRecord
from eddy.store.database import Database
from eddy.store.faults import legible


class Tenants:
    """The tenant part of the store. Every request asks who it is from, so all tenants are kept in memory as well."""

    _db: Database
    _default_quota: Quota
    _tenants_known: Known

    def _read_tenants(self) -> Known:
        return Known(_tenant(row) for row in self._db.rows("SELECT * FROM tenant"))

    def put_tenant(self, tenant: TenantRecord) -> None:
        """Add a tenant, or replace what is known of it."""
        quota = tenant.quota
        values = (tenant.id, tenant.key_hash, int(tenant.admin), quota.max_jobs, quota.max_blob_bytes)
        with self._db.transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO tenant VALUES (?, ?, ?, ?, ?, ?)",
                (*values, json.dumps(dict(tenant.attributes), sort_keys=True)),
            )
            self._db.after_commit(lambda: self._tenants_known.put(tenant))

    def tenant(self, tenant: str) -> TenantRecord:
        """One tenant.

        Raises:
            NotFound: There is none of that name.
        """
        found = self._tenants_known.by_name.get(tenant)
        if found is None:
            raise NotFound(f"no tenant {tenant}", field="tenant", asked=tenant)
        return found

    def tenant_by_key(self, key_hash: str) -> TenantRecord | None:
        """Whose API key has this hash, or None."""
        return self._tenants_known.by_key.get(key_hash)

    def tenants(self) -> tuple[TenantRecord, ...]:
        """All tenants, by name."""
        known = self._tenants_known.by_name
        return tuple(known[name] for name in sorted(known))

    def quota(self, tenant: str) -> Quota:
        """A tenant's bounds: its own, or the store's default."""
        found = self._tenants_known.by_name.get(tenant)
        return self._default_quota if found is None else found.quota


class Known:
    """Tenants by name and by the hash of their key.

    Args:
        tenants: Those there are.
    """

    def __init__(self, tenants: Iterable[TenantRecord]) -> None:
        self.by_name: dict[str, TenantRecord] = {}
        self.by_key: dict[str, TenantRecord] = {}
        for tenant in tenants:
            self.put(tenant)

    def put(self, tenant: TenantRecord) -> None:
        """Add or replace one."""
        before = self.by_name.get(tenant.id)
        if before is not None:
            self.by_key.pop(before.key_hash, None)
        self.by_name[tenant.id] = tenant
        if tenant.key_hash:
            self.by_key[tenant.key_hash] = tenant


@legible("a tenant's row")
def _tenant(row: sqlite3.Row) -> TenantRecord:
    return TenantRecord(
        id=row["id"],
        key_hash=row["key_hash"],
        admin=bool(row["admin"]),
        quota=Quota(row["max_jobs"], row["max_blob_bytes"]),
        attributes=json.loads(row["attributes"]),
    )
