# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the operator changes while jobs run: slots drained and brought back, another dispatch policy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from eddy.api.dependencies.policy import PRICE, policy_in_force, policy_record
from eddy.cli.boards.serve import _say_kept
from eddy.core.records import SlotStatus
from eddy.store import Store

pytestmark = pytest.mark.anyio


async def test_a_slot_is_drained_and_brought_back_and_only_operators_see_why(server: Any) -> None:
    server.hypervisor.statuses = (SlotStatus(0, "pipeline", "slot0"), SlotStatus(1, "gpu", "slot1"))
    async with server.client("operator") as client, server.client("ada") as ada:
        shown = (await client.put("/v1/admin/slots/1", json={"drained": True, "because": "a new fan"})).json()
        assert (shown["drained"], shown["drained_because"]) == (True, "a new fan")
        again = (await client.put("/v1/admin/slots/1", json={"drained": True})).json()
        assert again["drained_because"] == "drained by the operator"
        for path in ("/v1/slots", "/v1/overview"):
            slots = (await ada.get(path)).json()["slots"]
            assert [(slot["drained"], slot["drained_because"]) for slot in slots] == [(False, ""), (True, "")]
            assert (await client.get(path)).json()["slots"][1]["drained_because"] == "drained by the operator"
        assert 'eddy_slot_drained{slot="1"} 1.0' in (await client.get("/metrics")).text
        shown = (await client.put("/v1/admin/slots/1", json={"drained": False})).json()
        assert (shown["drained"], shown["drained_because"]) == (False, "")
        missing = await client.put("/v1/admin/slots/7", json={"drained": True})
        assert (missing.status_code, missing.json()["allowed"]) == (404, [0, 1])
        for body in ({}, {"drained": "yes"}, {"drained": True, "because": "x" * 201}):
            assert (await client.put("/v1/admin/slots/1", json=body)).status_code == 422


async def test_another_policy_is_put_in_force_and_kept(server: Any) -> None:
    async with server.client("operator") as client:
        assert (await client.get("/v1/admin/policy")).json()["policy"] == "fcfs"
        shown = (await client.put("/v1/admin/policy", json={"policy": "nimblock"})).json()
        assert shown["policy"] == "nimblock"
        assert {"eddy", "fcfs", "nimblock"} <= set(shown["allowed"])
        assert (await client.get("/v1/overview")).json()["policy"] == "nimblock"
        assert 'eddy_policy{policy="nimblock"} 1.0' in (await client.get("/metrics")).text
        wrong = await client.put("/v1/admin/policy", json={"policy": "luck"})
        assert (wrong.status_code, wrong.json()["field"]) == (422, "policy")
        assert "nimblock" in wrong.json()["allowed"]
    assert server.store.meta("policy.live") == "nimblock"


async def test_tenants_may_not_operate(server: Any) -> None:
    async with server.client("ada") as client:
        for method, path, body in (
            ("PUT", "/v1/admin/slots/0", {"drained": True}),
            ("GET", "/v1/admin/policy", None),
            ("PUT", "/v1/admin/policy", {"policy": "fcfs"}),
        ):
            answer = await client.request(method, path, json=body)
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_a_server_says_at_its_start_which_policies_hold_instead_of_those_it_was_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    store = Store(":memory:")
    server: Any = SimpleNamespace(store=store, settings=SimpleNamespace(policy="eddy", price="market"))
    _say_kept(server)
    assert capsys.readouterr().err == ""
    store.remember(*policy_record("themis", PRICE))
    _say_kept(server)
    said = capsys.readouterr().err
    assert "--price themis is in use, not market" in said
    assert "`eddy market set market` changes it" in said
    assert "--policy" not in said
    server.settings.price = "themis"
    _say_kept(server)
    assert capsys.readouterr().err == ""


def test_a_policy_put_in_force_stays_until_the_server_is_told_another() -> None:
    store = Store(":memory:")
    assert policy_in_force(store, "eddy") == "eddy"
    store.remember(*policy_record("nimblock"))
    assert policy_in_force(store, "eddy") == "nimblock"
    assert policy_in_force(store, "fcfs") == "fcfs"
    assert policy_in_force(store, "eddy") == "eddy", "what was said last holds"
    store.remember(*policy_record("a policy of a later version"))
    assert policy_in_force(store, "eddy") == "eddy"


def test_price_policies_are_remembered_apart() -> None:
    store, known = Store(":memory:"), {"market", "themis"}
    assert policy_in_force(store, "market", PRICE, known) == "market"
    store.remember(*policy_record("themis", PRICE))
    assert policy_in_force(store, "market", PRICE, known) == "themis"
    assert policy_in_force(store, "eddy") == "eddy", "that of dispatch is another"
    assert policy_in_force(store, "whole", PRICE, known) == "whole"
    assert policy_in_force(store, "market", PRICE, known) == "market"
