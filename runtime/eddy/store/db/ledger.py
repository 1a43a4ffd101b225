# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who keeps how many bytes, with what is on its way in: bytes are booked before they come, not after."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping

from eddy.core.errors import QuotaExceeded
from eddy.core.tenants import Quota
from eddy.core.units import format_bytes, format_size


class Ledger:
    """Bytes by tenant, within the tenant's quota."""

    def __init__(self, kept: Mapping[str, int], quota: Callable[[str], Quota]) -> None:
        self._booked, self._quota = Counter(kept), quota
        self._lock = threading.Lock()

    def total(self) -> int:
        """Bytes of all tenants."""
        with self._lock:
            return self._booked.total()

    def tenant_bytes(self, tenant: str) -> int:
        """Bytes a tenant keeps or is sending."""
        with self._lock:
            return self._booked[tenant]

    def room_bytes(self, tenant: str) -> int:
        """Bytes a tenant may still book."""
        return self._quota(tenant).max_blob_bytes - self.tenant_bytes(tenant)

    def book(self, tenant: str, more: int) -> None:
        """Set bytes aside.

        Raises:
            QuotaExceeded: The tenant may not keep as many; none is set aside then.
        """
        limit = self._quota(tenant).max_blob_bytes
        with self._lock:
            used = self._booked[tenant]
            if used + more > limit:
                raise QuotaExceeded(
                    f"tenant {tenant} keeps {format_size(used)} of blobs and may keep {format_bytes(limit)};"
                    f" {format_size(more)} more do not fit:"
                    " delete some",
                    limit=limit,
                    asked=used + more,
                )
            self._booked[tenant] += more

    def book_kept(self, tenant: str, bytes: int) -> None:
        """Book bytes that are there already, whatever the tenant may keep."""
        with self._lock:
            self._booked[tenant] += bytes

    def forget(self, tenant: str) -> None:
        """A tenant keeps nothing any more."""
        with self._lock:
            self._booked.pop(tenant, None)

    def release(self, tenant: str, bytes: int) -> None:
        """Give bytes back."""
        with self._lock:
            self._booked[tenant] -= bytes
