"""What tenants are sending to a head at this moment: all of it is in the head's memory until it is stored."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator

from eddy.core.errors import RateLimited

RETRY_S = 1


class UploadsUnderWay:
    """Bytes under way, by tenant.

    Args:
        most_bytes: Of one tenant at once.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._held: Counter[str] = Counter()

    @contextlib.contextmanager
    def counting(self, tenant: str) -> Iterator[Callable[[int], None]]:
        """Count an upload for as long as the block lasts; what it gives is told of each piece that came.

        Raises:
            RateLimited: By what it gives: the tenant sends more at once than it may.
        """
        came = 0

        def more(count: int) -> None:
            nonlocal came
            came += count
            self._held[tenant] += count
            if self._held[tenant] > self._most_bytes:
                message = f"Tenant {tenant} sends more than {self._most_bytes} bytes at once: send it again later."
                raise RateLimited(message, limit=self._most_bytes, retry_after_s=RETRY_S)

        try:
            yield more
        finally:
            self._held[tenant] -= came
            if not self._held[tenant]:
                del self._held[tenant]
