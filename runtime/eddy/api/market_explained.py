"""The market in words over HTTP: why the asking tenant has what it has."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from eddy.api.schemas import Answer

_CLUSTER: dict[str, Any] = {
    **{"slot": 2, "module": "gpu_4c4w4t", "cores": 4, "pes": 1.5, "price": 0.25, "bid": 0.375},
    **{"one_less": 0.9, "one_more": 0.81, "worth_of_money": 1.0},
}
_DOUBLED: dict[str, Any] = {"weight": 2.0, "promised_speedup": 1.9, "shares": [{"slot": 2, "pes": 2.1, "price": 0.25}]}


class ExplainedCluster(Answer):
    """A cluster, and what a little more or less of it is worth to the asking tenant."""

    slot: int = Field(description="Slot it is in.")
    module: str = Field(description="Module it is.")
    cores: int = Field(description="Its cores, the PEs that are shared.")
    pes: float = Field(description="PEs promised.")
    price: float = Field(description="Of one PE; 0 under policies without prices.")
    bid: float = Field(description="What the tenant spends on it, of all money in the market.")
    one_less: float = Field(description="Speedup that goes with a little less, per PE.")
    one_more: float = Field(description="Speedup that comes with a little more, per PE.")
    worth_of_money: float | None = Field(description="Of a little more, over that on the best cluster; null unpriced.")


class DoubledShare(Answer):
    """A cluster with the tenant's weight doubled."""

    slot: int = Field(description="Slot of the cluster.")
    pes: float = Field(description="PEs it would have.")
    price: float = Field(description="Price of one.")


class DoubledWeight(Answer):
    """The policy's answer to the same epoch with twice the tenant's weight."""

    weight: float = Field(description="Twice the weight.")
    promised_speedup: float = Field(description="What the shares would be worth.")
    shares: list[DoubledShare] = Field(description="By cluster.")


class MarketExplanation(Answer):
    """Why the asking tenant has what it has."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    **{"epoch": 17, "at_s": 0.85, "price_policy": "market", "clusters": [_CLUSTER]},
                    **{"words": ["Your shares are worth a speedup of 1.440."], "doubled": _DOUBLED},
                }
            ]
        },
    )

    epoch: int = Field(description="Counts from 0.")
    at_s: float = Field(description="Board time of its start.")
    price_policy: str = Field(description="Policy that decided it.")
    words: list[str] = Field(description="Sentences, for people.")
    clusters: list[ExplainedCluster] = Field(description="By slot; empty without work.")
    doubled: DoubledWeight | None = Field(
        description="With twice the weight; null without work, and where the policy goes by what happened before."
    )
