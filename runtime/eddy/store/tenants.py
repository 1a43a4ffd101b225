"""Tenants: who may submit, and within which bounds."""

from __future__ import annotations

import json
import sqlite3

from eddy.core.errors import NotFound
from eddy.core.records import Quota, TenantRecord
from eddy.store.database import Database


class Tenants:
    """The tenant part of the store."""

    _db: Database
    _default_quota: Quota

    def put_tenant(self, tenant: TenantRecord) -> None:
        """Add a tenant, or replace what is known of it."""
        quota = tenant.quota
        values = (tenant.id, tenant.key_hash, int(tenant.admin), quota.max_jobs, quota.max_blob_bytes)
        with self._db.transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO tenant VALUES (?, ?, ?, ?, ?, ?)",
                (*values, json.dumps(dict(tenant.attributes), sort_keys=True)),
            )

    def tenant(self, tenant: str) -> TenantRecord:
        """One tenant.

        Raises:
            NotFound: There is none of that name.
        """
        row = self._db.row("SELECT * FROM tenant WHERE id = ?", tenant)
        if row is None:
            raise NotFound(f"no tenant {tenant}", field="tenant", asked=tenant)
        return _tenant(row)

    def tenant_by_key(self, key_hash: str) -> TenantRecord | None:
        """Whose API key has this hash, or None."""
        row = self._db.row("SELECT * FROM tenant WHERE key_hash = ? AND key_hash != ''", key_hash)
        return None if row is None else _tenant(row)

    def tenants(self) -> tuple[TenantRecord, ...]:
        """All tenants, by name."""
        return tuple(_tenant(row) for row in self._db.rows("SELECT * FROM tenant ORDER BY id"))

    def quota(self, tenant: str) -> Quota:
        """A tenant's bounds: its own, or the store's default."""
        row = self._db.row("SELECT max_jobs, max_blob_bytes FROM tenant WHERE id = ?", tenant)
        return self._default_quota if row is None else Quota(row["max_jobs"], row["max_blob_bytes"])


def _tenant(row: sqlite3.Row) -> TenantRecord:
    return TenantRecord(
        id=row["id"],
        key_hash=row["key_hash"],
        admin=bool(row["admin"]),
        quota=Quota(row["max_jobs"], row["max_blob_bytes"]),
        attributes=json.loads(row["attributes"]),
    )
