# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`GET /v1/market` at a head: clusters of all boards, and what the asking tenant has of them."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from eddy.api.answers.market import MarketAnswer, MarketCluster, MarketMe, MarketShare
from eddy.api.request_bodies.base import Answer
from eddy.pool.routes.context import Caller, Parts

router = APIRouter(prefix="/v1/market", tags=["market"])


class PoolCluster(MarketCluster):
    """A GPU cluster of a board."""

    board: str = Field(description="Board it is on.")


class PoolShare(MarketShare):
    """What the asking tenant has of a cluster."""

    board: str = Field(description="Board the cluster is on.")


class BoardWeight(Answer):
    """What the asking tenant weighs on a board."""

    board: str = Field(description="A board it has kernels on.")
    weight: float = Field(description="Its weight there; over all boards they add up to its weight, once settled.")


class PoolMe(MarketMe):
    """What the asking tenant has over the pool. Speedups are sums over boards, each over its own base PE."""

    shares: list[PoolShare] = Field(  # type: ignore[assignment]
        description="By board and cluster; empty without work."
    )
    boards: list[BoardWeight] = Field(description="Its weight in the pool, as it is divided among boards.")


class PoolMarket(MarketAnswer):
    """As a board's, with clusters named by board and slot; `epoch` counts the rounds in which this head worked weights
    out, and `at_s` is when the last one was, in seconds since it began."""

    clusters: list[PoolCluster] = Field(  # type: ignore[assignment]
        description="Clusters and prices; prices of a board's PEs sum to 1."
    )
    me: PoolMe = Field(description="The asking tenant's own.")


@router.get("", response_model=PoolMarket, summary="Prices on all boards, and your shares")
async def show_market(parts: Parts, caller: Caller) -> PoolMarket:
    """Prices of all clusters as boards last told them, a second ago or less; of shares and bids your own."""
    return PoolMarket.model_validate(parts.rounds.market(caller.id))
