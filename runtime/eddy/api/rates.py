"""How many requests a second a tenant may make: a bucket of tokens each, filled at its rate, a second's worth deep."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from eddy.core.errors import RateLimited

BURST_S = 1.0
"""Seconds' worth of requests that may come at once, and one at least."""


class Rates:
    """Buckets, by tenant.

    Args:
        clock: Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}
        """Tokens that were there, and when."""

    def take(self, tenant: str, per_s: float | None, what: str = "make {} requests") -> None:
        """Let a request pass.

        Args:
            tenant: Whose it is.
            per_s: What it may make a second; None for any number.
            what: What that is, for people.

        Raises:
            RateLimited: It has made too many; `details` says when to come again.
        """
        if per_s is None:
            return
        deep = max(BURST_S * per_s, 1.0)
        with self._lock:
            now_s = self._clock()
            had, at_s = self._buckets.get(tenant, (deep, now_s))
            tokens = min(had + (now_s - at_s) * per_s, deep)
            passes = tokens >= 1.0
            self._buckets[tenant] = tokens - passes, now_s
        if not passes:
            wait_s = math.ceil((1.0 - tokens) / per_s)
            message = f"Tenant {tenant} may {what.format(f'{per_s:g}')} a second: wait {wait_s} s, then send it again."
            raise RateLimited(message, limit=per_s, retry_after_s=wait_s)
