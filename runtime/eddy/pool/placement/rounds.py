# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A head's rounds of weights: worked out again from what boards last told, at most once a second, by any head."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Set
from typing import Any

from eddy.pool.connection.streams import RENEW_S
from eddy.pool.mirror.mirror import Mirror
from eddy.pool.placement.shares import BoardUse, pool_market, weights_by_board


class WeightRounds:
    """Weights of tenants on boards.

    Args:
        mirror: What this head knows of the pool.
        clock: Seconds that never jump.

    Attributes:
        number: Rounds so far.
        at_s: When the last one was, seconds since this head began.
    """

    def __init__(self, mirror: Mirror, clock: Callable[[], float] = time.monotonic) -> None:
        self._mirror, self._clock, self._began_s = mirror, clock, clock()
        self._next_s = float("-inf")
        self._turn = asyncio.Lock()
        self._weights: Mapping[str, Mapping[str, float]] = {}
        self.number, self.at_s = 0, 0.0

    def reports(self) -> dict[str, Mapping[str, Any]]:
        """What boards that are there told of their cores, by name, and of tenants whose jobs they have."""
        whose: dict[str, set[str]] = {}
        for job in self._mirror.jobs.jobs_on_boards:
            whose.setdefault(job.board, set()).add(job.tenant)
        return {
            board.name: _of(board.market, whose.get(board.name, set()))
            for board in self._mirror.live_boards
            if board.market
        }

    async def weights(self, board: str) -> Mapping[str, float]:
        """Of the tenants that have kernels on a board, there."""
        async with self._turn:
            if self._clock() >= self._next_s:
                uses = {name: BoardUse.told(market) for name, market in self.reports().items()}
                self._weights = await asyncio.to_thread(weights_by_board, uses, self._mirror.weights)
                self.number, self.at_s = self.number + 1, self._clock() - self._began_s
                self._next_s = self._clock() + RENEW_S / 2
        return self._weights.get(board, {})

    def market(self, tenant: str) -> dict[str, Any]:
        """What the markets of all boards say to one tenant."""
        weight = self._mirror.weights.get(tenant, 1.0)
        return pool_market(self.reports(), tenant, weight, self.number, self.at_s)


def _of(market: Mapping[str, Any], tenants: Set[str]) -> dict[str, Any]:
    """A report without tenants that have nothing there: a board's word decides on nobody else."""
    return {**market, "tenants": {name: told for name, told in market["tenants"].items() if name in tenants}}
