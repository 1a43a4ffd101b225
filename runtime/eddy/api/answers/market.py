# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The market over HTTP: what one tenant sees of it, why it has what it has, and what the operator may say."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from eddy.api.request_bodies.base import Answer, Request
from eddy.policy.price import POLICIES

_CLUSTER = {"slot": 2, "module": "gpu_4c4w4t", "cores": 4, "price": 0.25}
_SHARE = {
    **{"slot": 2, "pes": 1.5, "core_seconds": 0.0752, "bid": 0.375},
    **{"parallel_fraction": 0.93, "throughput": 1.0},
}
_ME = {
    **{"weight": 4.0, "entitlement": 1.31, "promised_speedup": 1.44, "modelled_speedup": 1.43},
    "delivered_over_promised": 0.993,
    **{"measured_speedup": 1.46, "parallel_fraction": 0.93, "parallel_fraction_from": "counters"},
    **{"predicted_progress": 0.46, "promised_progress": 0.4, "memory_share": 0.31},
    "shares": [_SHARE],
}
_NOW = {"epoch": 17, "at_s": 0.85, "price_policy": "market", "clusters": [_CLUSTER], "me": _ME}


def _shown(example: dict[str, Any]) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [example]})


class MarketCluster(Answer):
    """A GPU cluster and its price."""

    slot: int = Field(description="Slot it is in.")
    module: str = Field(description="Module it is.")
    cores: int = Field(description="Its cores, the PEs that are shared.")
    price: float = Field(description="Of one PE, all prices times cores summing to 1; 0 under policies without prices.")


class MarketShare(Answer):
    """What the asking tenant has of a cluster."""

    slot: int = Field(description="Slot of the cluster.")
    pes: float = Field(description="Cores promised: floor or ceil of it at any moment, so many on average.")
    core_seconds: float = Field(description="Core-seconds delivered in the last epoch that ended.")
    bid: float = Field(description="What the tenant spends on it, of all money in the market.")
    parallel_fraction: float = Field(description="F of its work there.")
    throughput: float = Field(
        description="Of one PE for its work there, over a base PE; 0 where none of its kernels can run now."
    )
    assumed: bool = Field(
        description="Whether F and throughput are a guess: not all of its kernels have run on such a cluster."
    )


class MarketMe(Answer):
    """What the asking tenant has; speedups are over one base PE."""

    weight: float = Field(description="What it is entitled to, relative to the others.")
    entitlement: float = Field(description="Speedup if every cluster were divided by weight; 0 without work.")
    promised_speedup: float = Field(description="Speedup the promised shares are worth.")
    modelled_speedup: float | None = Field(description="Speedup the core-seconds of the last epoch are worth.")
    delivered_over_promised: float | None = Field(
        description="Of the last epoch: what was delivered is worth, over what was promised."
    )
    measured_speedup: float | None = Field(description="What its slices got done in the last epoch, per second.")
    parallel_fraction: float | None = Field(description="F of its work, averaged over its shares; null without work.")
    parallel_fraction_from: str = Field(
        description="`counters`, `assumed` where it is a guess on a cluster it has a share of, or `nothing ran`."
    )
    predicted_progress: float | None = Field(
        description="Of the last epoch: speed over what it would have been alone on all cores, as counters say; null "
        "where progress is not measured."
    )
    promised_progress: float | None = Field(description="The least it was promised; 0 for none.")
    memory_share: float | None = Field(description="Its part of all that went to and from memory from its clusters.")
    shares: list[MarketShare] = Field(description="By cluster; empty without work.")


class MarketAnswer(Answer):
    """The epoch that lasts, or the last one."""

    model_config = _shown(_NOW)

    epoch: int = Field(description="Counts from 0.")
    at_s: float = Field(description="Board time of its start.")
    price_policy: str = Field(description="Policy in force.")
    clusters: list[MarketCluster] = Field(description="Clusters and prices, by slot.")
    me: MarketMe = Field(description="The asking tenant's own.")


class MarketEpoch(MarketAnswer):
    """An epoch that has ended."""

    model_config = _shown({**_NOW, "ended_s": 0.9})

    ended_s: float = Field(description="Board time of its end.")


class MarketHistory(Answer):
    """Epochs that have ended, oldest first."""

    model_config = _shown({"epochs": [{**_NOW, "ended_s": 0.9}]})

    epochs: list[MarketEpoch] = Field(description="Those in which the asking tenant had work.")


class PriceSubmission(Request):
    """Another price policy."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"policy": "entitlement"}]})

    policy: str = Field(
        description="Its name, as `eddy serve --price` takes it.", json_schema_extra={"enum": [*sorted(POLICIES)]}
    )


class PriceInForce(Answer):
    """The price policy in force, and those there are."""

    model_config = _shown({"policy": "market", "allowed": ["entitlement", "market", "themis"]})

    policy: str = Field(description="In force from the next epoch on, which is due at once.")
    allowed: list[str] = Field(description="Names there are.")


_EXPLAINED: dict[str, Any] = {
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
                    **{"epoch": 17, "at_s": 0.85, "price_policy": "market", "clusters": [_EXPLAINED]},
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
