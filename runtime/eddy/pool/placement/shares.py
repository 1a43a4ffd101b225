# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tenants' weights over the pool: what boards tell of their GPU cores, and each tenant's weight on each board.

Whatever head is asked, the answer follows from the boards' last reports and the tenants' weights alone.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eddy.market.board_weights import ROUNDS, split_bids
from eddy.pool.connection.streams import RENEW_S
from eddy.pool.mirror.mirror import Mirror

USED_UP, ROOM = 0.8, 1.3
"""A tenant that used less of what it was promised than the first wants no more than the second times what it used.
Their product is above 1, so one that keeps wanting so much is not taken for one that wants more."""
MAX_WORK = 4_000_000
"""Tenants times boards times rounds of one answer; beyond, fewer rounds."""


@dataclass(frozen=True, slots=True)
class TenantUse:
    """What a tenant had of a board's cores since the report before.

    Attributes:
        had: Cores, on average.
        promised: Cores it was promised, on average; 0 where no epoch has ended yet.
    """

    had: float = 0.0
    promised: float = 0.0

    @property
    def wants(self) -> float:
        """Cores it can use; infinite where it used up what it was promised."""
        return math.inf if self.had >= USED_UP * self.promised else ROOM * self.had


@dataclass(frozen=True, slots=True)
class BoardUse:
    """What a board tells of its cores.

    Attributes:
        cores: That clusters have now.
        own: Weights of the board's own tenants with kernels, all together.
        tenants: Those of the pool with kernels, by name.
    """

    cores: float
    own: float = 0.0
    tenants: Mapping[str, TenantUse] = field(default_factory=dict)

    @staticmethod
    def from_report(market: Mapping[str, Any]) -> BoardUse:
        """Of a board's report (`eddy.pool.agent.local_board.LocalBoard.market`)."""
        return BoardUse(
            cores=float(sum(cluster["cores"] for cluster in market.get("clusters", ()))),
            own=float(market.get("own", 0.0)),
            tenants={
                name: TenantUse(float(told["had"]), float(told["promised"]))
                for name, told in market.get("tenants", {}).items()
                if told["me"]["shares"]
            },
        )


def weights_by_board(boards: Mapping[str, BoardUse], weights: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """What each tenant weighs on each board it has work on; over all boards that is its weight in the pool.

    Args:
        boards: By name.
        weights: Of tenants in the pool, by name; 1 where a name is missing.
    """
    names = sorted(name for name, board in boards.items() if board.cores > 0 and board.tenants)
    tenants = sorted({tenant for name in names for tenant in boards[name].tenants})
    if not tenants:
        return {}
    wants = np.array([[_wants(boards[name], tenant) for name in names] for tenant in tenants])
    bids = split_bids(
        np.array([weights.get(tenant, 1.0) for tenant in tenants]),
        wants,
        np.array([boards[name].cores for name in names]),
        np.array([boards[name].own for name in names]),
        min(ROUNDS, max(MAX_WORK // wants.size, 16)),
    )
    return {
        name: {tenant: float(bids[row, column]) for row, tenant in enumerate(tenants) if wants[row, column] > 0}
        for column, name in enumerate(names)
    }


def _wants(board: BoardUse, tenant: str) -> float:
    use = board.tenants.get(tenant)
    # Whoever has work and had nothing may want anything.
    return 0.0 if use is None else use.wants or math.inf


def pool_market(
    boards: Mapping[str, Mapping[str, Any]], tenant: str, weight: float, epoch: int, at_s: float
) -> dict[str, Any]:
    """`GET /v1/market` of a pool: clusters of all boards, and what a tenant has of each, named by `board` and `slot`.

    Args:
        boards: Their reports, by name.
        weight: Its weight in the pool.
        epoch: Rounds in which this head has worked weights out.
        at_s: When the last of them was, seconds since this head began.
    """
    told = [(name, market) for name, market in sorted(boards.items()) if market.get("clusters")]
    mine = [(name, market["tenants"][tenant]["me"]) for name, market in told if tenant in market["tenants"]]
    policies = sorted({str(market["price_policy"]) for _, market in told})
    return {
        "epoch": epoch,
        "at_s": at_s,
        "price_policy": ", ".join(policies),
        "clusters": [{"board": name, **cluster} for name, market in told for cluster in market["clusters"]],
        "me": {
            "weight": weight,
            **{what: sum(me[what] for _, me in mine) for what in ("entitlement", "promised_speedup")},
            **{what: _sum([me[what] for _, me in mine]) for what in ("modelled_speedup", "measured_speedup")},
            **{what: _mean(mine, what) for what in _MEANS},
            "parallel_fraction_from": _from([str(me["parallel_fraction_from"]) for _, me in mine]),
            "shares": [{"board": name, **share} for name, me in mine for share in me["shares"]],
            "boards": [{"board": name, "weight": me["weight"]} for name, me in mine if me["shares"]],
        },
    }


_MEANS = ("delivered_over_promised", "parallel_fraction", "predicted_progress", "promised_progress", "memory_share")
"""What is a mean over boards, each counted as much as the cores the tenant is promised there."""


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _mean(mine: Sequence[tuple[str, Mapping[str, Any]]], what: str) -> float | None:
    known = [(me[what], sum(share["pes"] for share in me["shares"])) for _, me in mine if me[what] is not None]
    if not known:
        return None
    total = sum(pes for _, pes in known)
    counted = known if total > 0 else [(value, 1.0) for value, _ in known]
    return float(sum(value * pes for value, pes in counted) / sum(pes for _, pes in counted))


def _from(said: Sequence[str]) -> str:
    """The least sure of what boards say."""
    return next((each for each in ("assumed", "counters") if each in said), "nothing ran")


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
                uses = {name: BoardUse.from_report(market) for name, market in self.reports().items()}
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
