"""Who keeps how many bytes of blobs, with what is on its way in: bytes are booked before they come, not after."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping

from eddy.core.errors import QuotaExceeded


class Ledger:
    """Bytes by tenant.

    Args:
        kept: What is there.
    """

    def __init__(self, kept: Mapping[str, int]) -> None:
        self._booked = Counter(kept)
        self._lock = threading.Lock()

    def total(self) -> int:
        """Bytes of all tenants."""
        with self._lock:
            return self._booked.total()

    def of(self, tenant: str) -> int:
        """Bytes a tenant keeps or is sending."""
        with self._lock:
            return self._booked[tenant]

    def book(self, tenant: str, more: int, limit: int) -> None:
        """Set bytes aside.

        Raises:
            QuotaExceeded: Fewer are left of the limit; none is set aside then.
        """
        with self._lock:
            used = self._booked[tenant]
            if used + more > limit:
                raise QuotaExceeded(
                    f"tenant {tenant} keeps {used} bytes of blobs and may keep {limit}; {more} more do not fit:"
                    " delete some",
                    limit=limit,
                    asked=used + more,
                )
            self._booked[tenant] += more

    def release(self, tenant: str, bytes: int) -> None:
        """Give bytes back."""
        with self._lock:
            self._booked[tenant] -= bytes
