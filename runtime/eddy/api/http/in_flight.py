# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How many requests of a tenant are under way at once: streams, long polls and uploads hold a connection each.

Connections are bounded for all together (`eddy.api.http.connections`), and one that is at work gives way to nobody. So
one tenant holds a part of them at most, and all tenants together leave some for operators.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from starlette.types import Scope

from eddy.api.http.connections import ConnectionLimits
from eddy.api.http.current_request import AnyTenant
from eddy.core.errors import RateLimited

PART = 4
"""One tenant may hold this part of the connections of one address, and operators alone the last such part of all."""
RETRY_S = 1

COUNTED = "eddy.counted"
"""In a request's scope, and copies of it: what takes it off the counts, once it is counted."""


class InFlightRequests:
    """Requests under way, by tenant. For the event loop's thread alone.

    Args:
        limits: Of connections.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self.most_of_one = max(limits.connections_per_client // PART, 1)
        self.most_of_all = max(limits.connections - limits.connections // PART, 1)
        self._held: Counter[str] = Counter()
        self._all = 0

    def count_request(self, scope: Scope, tenant: AnyTenant) -> None:
        """Count a request, until `end`; an operator's is not counted.

        Raises:
            RateLimited: The tenant has as many as it may, or all tenants have.
        """
        counted = scope.get(COUNTED)
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


def begin(scope: Scope) -> None:
    """A request comes; nobody knows yet from whom."""
    scope[COUNTED] = []


def end(scope: Scope) -> None:
    """A request ended, however it did."""
    for give_back in scope.pop(COUNTED, ()):
        give_back()
