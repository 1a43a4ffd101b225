"""What a board's lease says, read with suspicion: the key of a board may have been stolen."""

from __future__ import annotations

from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eddy.api.market_schemas import MarketCluster, MarketMe
from eddy.pool.records import PoolBoard

MOST_CORES = 1 << 16


class ReportedTenant(BaseModel):
    """What a board's market says to a tenant, and the cores it had and was promised since the report before."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    me: MarketMe
    had: float = Field(ge=0)
    promised: float = Field(ge=0)


class MarketReport(BaseModel):
    """`eddy.pool.local_board.LocalBoard.market`."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    epoch: int
    at_s: float
    price_policy: str = Field(max_length=64)
    clusters: list[MarketCluster]
    own: float = Field(ge=0)
    tenants: dict[str, ReportedTenant]


def lease_read(name: str, data: bytes) -> PoolBoard:
    """A lease, under the name of whose it is, whatever it calls itself.

    Raises:
        ValueError: It cannot be read, or its report makes no sense.
    """
    try:
        board = replace(PoolBoard.decode(data), name=name)
        if board.market:
            report = MarketReport.model_validate(board.market)
            if not 0 <= sum(cluster.cores for cluster in report.clusters) <= MOST_CORES:
                raise ValueError("it has no such number of cores")
    except (KeyError, TypeError, AttributeError, ValidationError) as wrong:
        raise ValueError(repr(wrong)) from wrong
    return board
