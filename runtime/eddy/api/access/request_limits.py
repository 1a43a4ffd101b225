# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How much one tenant may ask for, so that others are served: requests a second, by a bucket of tokens each, filled at
its rate and a second's worth deep; what takes a server or a head as long as many submissions do; and requests under way
at once, for streams, long polls and uploads hold a connection each.

Connections are bounded for all together (`eddy.api.http.connections`), and one that is at work gives way to nobody. So
one tenant holds a part of them at most, and all tenants together leave some for operators.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from starlette.types import Scope

from eddy.api.http.connections import ConnectionLimits
from eddy.api.http.current_request import AT_END, AnyTenant
from eddy.core.errors import RateLimited

BURST_S = 1.0
"""Seconds' worth of requests that may come at once, and one at least."""
FORECASTS_PER_S = 20.0
"""Explanations and dry runs: each is worked out by several forecasts."""
LOOKS_PER_S = 4.0
"""Looks back at more than `FEW` events."""
RESUMED_PER_S = 20.0
"""Streams that go on, with more than `FEW` events between: many of a tenant's break at the same time."""
PAGES_PER_S = 8.0
"""Pages of more than `FEW` jobs."""
KEY_CHANGES_PER_S, KEY_CHANGES_BURST_S = 0.1, 640.0
"""Keys that a tenant makes and ends at a pool's head, and seconds' worth that may come at once, which is as many as it
may have: each is an entry of the audit log, which is never shortened."""
FEW = 100
"""Events or jobs that anybody may have at any rate."""
PART = 4
"""One tenant may hold this part of the connections of one address, and operators alone the last such part of all."""
RETRY_S = 1


class TokenBuckets:
    """Buckets, by tenant.

    Args:
        clock: Seconds that only grow.
        burst_s: Seconds' worth of what may come at once.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, burst_s: float = BURST_S) -> None:
        self._clock, self._burst_s = clock, burst_s
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}
        """Tokens that were there, and when."""

    def spend_token(self, tenant: str, per_s: float | None, what: str = "make {} requests") -> None:
        """Let a request pass.

        Args:
            per_s: What it may make a second; None for any number.
            what: What that is, for people.

        Raises:
            RateLimited: It has made too many; `details` says when to come again.
        """
        if per_s is None:
            return
        deep = max(self._burst_s * per_s, 1.0)
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


@dataclass(frozen=True, slots=True)
class TenantRateLimits:
    """What tenants ask for; operators are not bounded.

    Attributes:
        forecasts: Explanations and dry runs.
        back: Looks back at events.
        resumed: Streams that go on far behind.
        pages: Pages of jobs.
        key_changes: Keys made and ended, at a pool's heads.
        forecasts_per_s: Explanations and dry runs of a tenant.
        few_events: Events that anybody may look back at, at any rate.
    """

    forecasts: TokenBuckets = field(default_factory=TokenBuckets)
    back: TokenBuckets = field(default_factory=TokenBuckets)
    resumed: TokenBuckets = field(default_factory=TokenBuckets)
    pages: TokenBuckets = field(default_factory=TokenBuckets)
    key_changes: TokenBuckets = field(default_factory=lambda: TokenBuckets(burst_s=KEY_CHANGES_BURST_S))
    forecasts_per_s: float = FORECASTS_PER_S
    few_events: int = FEW

    def admit_forecast(self, tenant: AnyTenant) -> None:
        """Let an explanation or a dry run pass.

        Raises:
            RateLimited: The tenant has had too many.
        """
        self.forecasts.spend_token(
            tenant.id, _bound(tenant, self.forecasts_per_s), "ask for {} explanations or dry runs"
        )

    def admit_history(self, tenant: AnyTenant, events: int) -> None:
        """Let a look back at so many events pass.

        Raises:
            RateLimited: The tenant has had too many.
        """
        if events > self.few_events:
            most = f"more than {self.few_events} events" if self.few_events else "events"
            self.back.spend_token(tenant.id, _bound(tenant, LOOKS_PER_S), f"look back {{}} times at {most}")

    def admit_resumed_stream(self, tenant: AnyTenant, events: int) -> None:
        """Let a stream go on that has so many events to bring first.

        Raises:
            RateLimited: The tenant has had too many.
        """
        if events > FEW:
            what = f"resume {{}} streams more than {FEW} events behind"
            self.resumed.spend_token(tenant.id, _bound(tenant, RESUMED_PER_S), what)

    def admit_page(self, tenant: AnyTenant, jobs: int) -> None:
        """Let a page of so many jobs pass.

        Raises:
            RateLimited: The tenant has had too many.
        """
        if jobs > FEW:
            self.pages.spend_token(
                tenant.id, _bound(tenant, PAGES_PER_S), f"ask for {{}} pages of more than {FEW} jobs"
            )

    def admit_key_change(self, tenant: AnyTenant) -> None:
        """Let a key be made or ended.

        Raises:
            RateLimited: The tenant has changed too many.
        """
        self.key_changes.spend_token(tenant.id, _bound(tenant, KEY_CHANGES_PER_S), "make or revoke {} keys")


def _bound(tenant: AnyTenant, per_s: float) -> float | None:
    return None if tenant.admin else per_s


class InFlightRequests:
    """Requests under way, by tenant. For the event loop's thread alone."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.most_of_one = max(limits.connections_per_client // PART, 1)
        self.most_of_all = max(limits.connections - limits.connections // PART, 1)
        self._held: Counter[str] = Counter()
        self._all = 0

    def count_request(self, scope: Scope, tenant: AnyTenant) -> None:
        """Count a request until it has ended; an operator's is not counted.

        Raises:
            RateLimited: The tenant has as many as it may, or all tenants have.
        """
        counted = scope.get(AT_END)
        if tenant.admin or counted is None:
            return
        if self._held[tenant.id] >= self.most_of_one:
            most = self.most_of_one
            message = f"Tenant {tenant.id} has {most} requests under way: end a stream or a wait, then send it again."
            raise RateLimited(message, limit=most, retry_after_s=RETRY_S)
        if self._all >= self.most_of_all:
            message = "As many requests of tenants are under way as the server takes: send it again later."
            raise RateLimited(message, limit=self.most_of_all, retry_after_s=RETRY_S)
        counted.append(partial(self._give_back, tenant.id))
        self._held[tenant.id] += 1
        self._all += 1

    def _give_back(self, tenant: str) -> None:
        self._all -= 1
        self._held[tenant] -= 1
        if not self._held[tenant]:
            del self._held[tenant]
