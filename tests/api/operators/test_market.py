# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/market`: what a tenant sees of it, that it sees nobody else's, and that the operator changes the policy."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from eddy.api.routes import market
from eddy.core.tenants import TenantRecord
from eddy.hypervisor.cores.core_accounts import CoreAccount
from eddy.hypervisor.cores.epoch_totals import SliceMeasurement
from eddy.hypervisor.cores.market_loop import ClusterKind, PriceLoop, PriceSettings
from eddy.hypervisor.jobs.messages import CorePartition, KernelVariant
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.policy.price import POLICIES
from hypervisor_kit import CHAIN

pytestmark = pytest.mark.anyio
FITS = {"gpu_4c": {2: "image"}}


def live_loop() -> PriceLoop:
    """Two tenants for three epochs on one cluster of four cores."""
    weights = {"ada": 1.0, "bob": 3.0}
    kinds = {"gpu_4c": ClusterKind(4, 4, 1e8)}
    loop = PriceLoop(
        POLICIES["market"](),
        kinds,
        lambda names: {name: weights.get(name, 1.0) for name in names},
        PriceSettings(epoch_s=0.1),
    )
    account = CoreAccount([None] * 4)
    loop.attach({2: account})
    spread = CorePartition("k", {"gpu_4c": KernelVariant(CHAIN, 100, 4)})
    for name in weights:
        loop.add_arrival(name, spread, 0.0)
    slots = [MachineSlot(2, 1e-3, module="gpu_4c")]
    for epoch in range(3):
        loop.refresh(0.1 * epoch, slots, FITS, set(weights))
        for name, seconds in (("ada", 0.1), ("bob", 0.3)):
            account.delivered_s[name] = account.delivered_s.get(name, 0.0) + seconds
            loop.record_slice(name, spread, SliceMeasurement(2, "gpu_4c", 10, seconds))
    return loop


async def test_a_tenant_sees_prices_and_its_own_shares(server: Any) -> None:
    server.hypervisor.price = live_loop()
    async with server.client() as client:
        found = (await client.get("/v1/market")).json()
    assert (found["epoch"], found["price_policy"]) == (2, "market")
    assert found["clusters"] == [{"slot": 2, "module": "gpu_4c", "cores": 4, "price": pytest.approx(0.25)}]
    me = found["me"]
    assert me["weight"] == 1.0
    (share,) = me["shares"]
    assert (share["slot"], share["pes"]) == (2, pytest.approx(1.0))
    assert share["core_seconds"] == pytest.approx(0.1)
    assert share["bid"] == pytest.approx(0.25)
    assert me["promised_speedup"] == pytest.approx(me["entitlement"])
    assert me["modelled_speedup"] == pytest.approx(1.0)
    assert me["parallel_fraction"] == pytest.approx(0.8)
    assert me["parallel_fraction_from"] == "assumed"


async def test_nothing_of_another_tenant_is_in_any_answer(server: Any) -> None:
    server.hypervisor.price = live_loop()
    async with server.client() as client:
        answers = [(await client.get(path)).json() for path in ("/v1/market", "/v1/market/history")]
    assert "bob" not in json.dumps(answers)
    numbers = {float(x) for x in _numbers(answers)}
    assert not {3.0, 0.75, 0.3} & numbers, "bob's weight, bid or core-seconds"


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for entry in value.values() for number in _numbers(entry)]
    if isinstance(value, list):
        return [number for entry in value for number in _numbers(entry)]
    return [value] if isinstance(value, (int, float)) else []


async def test_the_history_has_the_epochs_that_ended(server: Any) -> None:
    server.hypervisor.price = live_loop()
    async with server.client() as client:
        every = (await client.get("/v1/market/history")).json()["epochs"]
        later = (await client.get("/v1/market/history", params={"after": 0})).json()["epochs"]
        last = (await client.get("/v1/market/history", params={"limit": 1})).json()["epochs"]
        newest = (await client.get("/v1/market")).json()["epoch"]
        assert (await client.get("/v1/market/history", params={"after": newest})).json()["epochs"] == []
        for after in (newest + 1, 1 << 60):
            refused = await client.get("/v1/market/history", params={"after": after})
            assert (refused.status_code, refused.json()["code"]) == (410, "unknown-cursor")
    assert [epoch["epoch"] for epoch in every] == [0, 1]
    assert [epoch["epoch"] for epoch in later] == [1] == [epoch["epoch"] for epoch in last]
    assert np.allclose([e["ended_s"] - e["at_s"] for e in every], 0.1)
    assert [e["me"]["shares"][0]["core_seconds"] for e in every] == pytest.approx([0.1, 0.1])


async def test_who_has_no_work_sees_prices_and_no_shares(server: Any) -> None:
    server.hypervisor.price = live_loop()
    server.hypervisor.price.refresh(0.3, [MachineSlot(2, 1e-3, module="gpu_4c")], FITS, {"bob"})
    server.hypervisor.price.refresh(0.5, [MachineSlot(2, 1e-3, module="gpu_4c")], FITS, {"bob"})
    async with server.client() as client:
        found = (await client.get("/v1/market")).json()
    assert found["clusters"][0]["price"] == pytest.approx(0.25)
    assert found["me"]["shares"] == []
    assert found["me"]["entitlement"] == 0.0


async def test_the_operator_changes_the_policy_and_nobody_else_does(server: Any) -> None:
    server.hypervisor.price = live_loop()
    async with server.client() as client:
        refused = await client.put("/v1/admin/price", json={"policy": "entitlement"})
    assert refused.status_code == 403
    async with server.client("operator") as client:
        unknown = await client.put("/v1/admin/price", json={"policy": "nobody"})
        assert unknown.status_code == 422
        assert "market" in unknown.json()["allowed"]
        changed = await client.put("/v1/admin/price", json={"policy": "entitlement"})
        assert changed.json()["policy"] == "entitlement"
        assert (await client.get("/v1/admin/price")).json() == changed.json()


async def test_without_price_there_is_no_market(server: Any) -> None:
    async with server.client() as client:
        answer = await client.get("/v1/market")
    assert answer.status_code == 404
    assert "--price" in answer.json()["detail"]


def test_a_weight_that_will_not_do_is_one(server: Any) -> None:

    for name, weight in (("four", 4), ("text", "4"), ("none", None), ("minus", -1), ("nan", float("nan"))):
        server.store.tenants.put(TenantRecord(name, key_hash=name, attributes={"weight": weight}))
    names = ("four", "text", "none", "minus", "nan", "unknown")
    assert [server.store.tenants.weight(name) for name in names] == [4.0, 4.0, 1.0, 1.0, 1.0, 1.0]


def test_a_policy_that_the_board_cannot_have_is_a_documented_refusal() -> None:
    """Found by schemathesis: 409 where `eddy calibrate` has not measured this board."""
    (route,) = [each for each in market.admin.routes if getattr(each, "operation_id", "") == "set_price_policy"]
    assert 409 in {int(status) for status in getattr(route, "responses", {})}
