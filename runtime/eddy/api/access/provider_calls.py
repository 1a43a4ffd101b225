# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Calls to the identity provider, which may be slow or hang: few at once, in threads that nothing else waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from eddy.api.access.identity_provider import ProviderUnreachable

T = TypeVar("T")
AT_ONCE = 4
"""Calls that are made at the same time."""
MAX_WAITING = 64
"""Calls that wait for those; anyone may ask for one, so there is a bound."""


class ProviderCalls:
    """The calls of one server."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(AT_ONCE)
        self._inside = 0

    async def run(self, call: Callable[..., T], *arguments: object) -> T:
        """Make a call that blocks; answers what it returns.

        Raises:
            ProviderUnreachable: Too many wait already.
        """
        if self._inside >= AT_ONCE + MAX_WAITING:
            raise ProviderUnreachable("Too many log-ins wait for the identity provider; try again soon.")
        self._inside += 1
        try:
            return await anyio.to_thread.run_sync(call, *arguments, limiter=self._limiter, abandon_on_cancel=True)
        finally:
            self._inside -= 1
