"""Blobs: what tenants put up as inputs, named by their hash, each tenant in a namespace of its own."""

from __future__ import annotations

import hashlib

from eddy.core.errors import Conflict, InvalidRequest, NotFound, QuotaExceeded
from eddy.core.records import Quota
from eddy.store.database import Database


class Blobs:
    """The blob part of the store."""

    _db: Database

    def quota(self, tenant: str) -> Quota:
        """A tenant's bounds."""
        raise NotImplementedError

    def put_blob(self, tenant: str, sha256: str, data: bytes) -> bool:
        """Keep bytes under their hash; putting the same bytes again changes nothing.

        Returns:
            Whether they are new.

        Raises:
            InvalidRequest: The bytes have another hash.
            QuotaExceeded: The tenant keeps as many bytes as it may.
        """
        actual = hashlib.sha256(data).hexdigest()
        if actual != sha256:
            raise InvalidRequest(
                f"the bytes have the sha256 {actual}, not {sha256[:64]}: send them under their own hash",
                field="sha256",
                allowed=actual,
            )
        with self._db.transaction() as db:
            if self.blob_bytes(tenant, sha256) is not None:
                return False
            self._check_blob_quota(tenant, len(data))
            db.execute("INSERT INTO blob VALUES (?, ?, ?, ?)", (tenant, sha256, len(data), data))
        return True

    def _check_blob_quota(self, tenant: str, more: int) -> None:
        row = self._db.row("SELECT coalesce(sum(bytes), 0) AS n FROM blob WHERE tenant = ?", tenant)
        used, limit = (row["n"] if row is not None else 0), self.quota(tenant).max_blob_bytes
        if used + more > limit:
            raise QuotaExceeded(
                f"tenant {tenant} keeps {used} bytes of blobs and may keep {limit}; {more} more do not fit",
                limit=limit,
                asked=used + more,
            )

    def has_blob(self, tenant: str, sha256: str) -> bool:
        """Whether the tenant has put up these bytes."""
        return self.blob_bytes(tenant, sha256) is not None

    def blob_bytes(self, tenant: str, sha256: str) -> int | None:
        """Size of a blob, or None where there is none of that hash."""
        row = self._db.row("SELECT bytes FROM blob WHERE tenant = ? AND sha256 = ?", tenant, sha256)
        return None if row is None else int(row["bytes"])

    def blob(self, tenant: str, sha256: str) -> bytes:
        """The bytes of a blob.

        Raises:
            NotFound: This tenant has put up none of that hash.
        """
        row = self._db.row("SELECT data FROM blob WHERE tenant = ? AND sha256 = ?", tenant, sha256)
        if row is None:
            raise NotFound(f"no blob {sha256} of tenant {tenant}: put it up first", field="sha256", asked=sha256)
        return bytes(row["data"])

    def drop_blob(self, tenant: str, sha256: str) -> None:
        """Forget a blob.

        Raises:
            NotFound: There is none of that hash.
            Conflict: A job that has not ended was submitted with it.
        """
        with self._db.transaction() as db:
            if self.blob_bytes(tenant, sha256) is None:
                raise NotFound(f"no blob {sha256} of tenant {tenant}", field="sha256", asked=sha256)
            query = "SELECT id FROM job WHERE tenant = ? AND final = 0 AND instr(request, ?) > 0"
            used = self._db.row(query, tenant, f'"{sha256}"')
            if used is not None:
                raise Conflict(f"job {used['id']} still needs blob {sha256}", field="sha256", job=used["id"])
            db.execute("DELETE FROM blob WHERE tenant = ? AND sha256 = ?", (tenant, sha256))
