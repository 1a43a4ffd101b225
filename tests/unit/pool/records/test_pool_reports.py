# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What boards say is kept as what was understood of it: the rest would be told to operators, and added up."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from eddy.pool.mirror.mirror import Mirror
from eddy.pool.placement.shares import WeightRounds
from eddy.pool.records.record_json import board_from_json
from eddy.pool.records.records import PoolBoard, PoolJob
from eddy.pool.records.reports import kept_board_read, lease_read

FACTS = PoolBoard("b1", "k", 1, 1, ("a",), True, "s")
CLUSTER: Mapping[str, Any] = {"slot": 0, "module": "m", "cores": 4, "price": 0.25}
SHARE = {
    **{"slot": 0, "pes": 1.5, "core_seconds": 0.1, "bid": 0.5, "parallel_fraction": 0.9, "throughput": 1.0},
    "assumed": False,
}
ME = {
    **{"weight": 1, "entitlement": 1.0, "promised_speedup": 1.0, "modelled_speedup": None, "measured_speedup": None},
    **{"delivered_over_promised": None, "parallel_fraction": None, "parallel_fraction_from": "counters"},
    **{"predicted_progress": None, "promised_progress": None, "memory_share": None, "shares": [SHARE]},
}
MARKET: Mapping[str, Any] = {
    **{"epoch": 1, "at_s": 1.0, "price_policy": "market", "clusters": [CLUSTER], "own": 0.0},
    "tenants": {"ada": {"me": ME, "had": 1.0, "promised": 2}},
}


def read(market: Any) -> PoolBoard:
    return lease_read("b1", json.dumps({**dataclasses.asdict(FACTS), "market": market}).encode())


def test_labels_are_an_operators_and_a_board_that_does_not_say_computes_by_its_adapter() -> None:
    said = {**dataclasses.asdict(FACTS), "labels": {"rack": "1"}}
    assert lease_read("b1", json.dumps(said).encode()).labels == {}, "a stolen key would attract jobs"
    assert kept_board_read("b1", json.dumps(said).encode()).labels == {"rack": "1"}
    del said["computes"]
    for kind, computes in (("model/kv260", False), ("pynq/kv260", True)):
        for read_as in (lease_read, kept_board_read):
            assert read_as("b1", json.dumps({**said, "kind": kind}).encode()).computes is computes
        assert board_from_json(json.dumps({**said, "kind": kind}).encode()).computes is computes


def test_a_report_is_kept_without_what_nobody_knows_of() -> None:
    assert read(MARKET).market == MARKET
    more = {**MARKET, "x": [{}], "y": float("nan"), "tenants": {"ada": {**MARKET["tenants"]["ada"], "z": 1e300}}}
    assert read(more).market == MARKET


@pytest.mark.parametrize(
    "wrong",
    [
        *({"clusters": [{**CLUSTER, "cores": cores}]} for cores in ("4", 4.0, True, -1, 1 << 40, None)),
        *({"clusters": [{**CLUSTER, "price": price}]} for price in (float("nan"), float("inf"), 1e300)),
        *({"own": own} for own in (-1.0, "0", 1e300)),
        {"clusters": [CLUSTER] * 5000},
        {"x": "\ud800"},
        {"clusters": [{**CLUSTER, "module": "m" * 1000}]},
        {"price_policy": "\ud800"},
        {"tenants": {"\ud800": {"me": ME, "had": 1.0, "promised": 2.0}}},
        {"tenants": {"ada": {"me": {**ME, "weight": float("nan")}, "had": 1.0, "promised": 2.0}}},
    ],
    ids=lambda wrong: json.dumps(wrong)[:60],
)
def test_a_report_that_makes_no_sense_says_nothing(wrong: dict[str, Any]) -> None:
    """One that could not be added up ended the agents of all boards that asked for weights."""
    board = read({**MARKET, **wrong})
    assert board.market == {}
    told = json.dumps(dataclasses.asdict(board), allow_nan=False, ensure_ascii=False).encode()
    assert told, "an operator can be told of it"
    mirror = SimpleNamespace(
        live_boards=[board], jobs=SimpleNamespace(jobs_on_boards=[PoolJob(1, "ada", {}, 0.0, board="b1")]), weights={}
    )
    assert WeightRounds(cast(Mirror, mirror)).reports() == {}
