# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What tenants had of the board, and what they may have."""

from __future__ import annotations

import time
from typing import Any

import pytest
from eddy.store.account_tables.usage import ACCOUNTED, ACCOUNTED_BEFORE, ACCOUNTED_FROM, ACCOUNTED_SLOTS, UsageRow

pytestmark = pytest.mark.anyio
DAYS = ("2026-11-21", "2026-11-22")


def fill(server: Any) -> None:
    rows = [UsageRow(day, who, 0, "slot", 40 if who else 20) for day in DAYS for who in ("ada", "grace", "")]
    board = {ACCOUNTED: "300", ACCOUNTED_FROM: "200", ACCOUNTED_SLOTS: "1", ACCOUNTED_BEFORE: "100"}
    server.store.usage.add(rows, board)


async def test_the_operators_accounts_add_up_to_the_boards_time(server: Any) -> None:
    fill(server)
    async with server.client("operator") as client:
        found = (await client.get("/v1/usage")).json()
        board = found["board"]
        assert board == {"from_ns": 200, "to_ns": 300, "slots": 1, "before_ns": 100}
        charged = sum(entry["slot_ns"] + entry["shared_ns"] for entry in found["entries"])
        assert charged == board["before_ns"] + board["slots"] * (board["to_ns"] - board["from_ns"])
        assert [(entry["day"], entry["tenant"]) for entry in found["entries"]] == [
            (day, who) for day in DAYS for who in ("", "ada", "grace")
        ]
        one = (await client.get("/v1/usage?tenant=grace&from=2026-11-22&to=2026-11-22")).json()["entries"]
        assert [(entry["day"], entry["tenant"], entry["slot_ns"]) for entry in one] == [(DAYS[1], "grace", 40)]


async def test_a_tenant_sees_its_own_accounts_alone(server: Any) -> None:
    fill(server)
    async with server.client("ada") as client:
        found = (await client.get("/v1/usage")).json()
        assert {entry["tenant"] for entry in found["entries"]} == {"ada"}
        assert found["board"] is None
        refused = await client.get("/v1/usage?tenant=grace")
        assert (refused.status_code, refused.json()["field"]) == (403, "tenant")
        for query, field in (("from=yesterday", "from"), ("from=2026-13-01", "from"), ("to=0000-00-00", "to")):
            refused = await client.get(f"/v1/usage?{query}")
            assert (refused.status_code, refused.json()["field"]) == (422, field), query
        turned = await client.get("/v1/usage?from=2026-11-22&to=2026-11-21")
        assert (turned.status_code, turned.json()["field"]) == (422, "from")


async def test_a_quota_shows_what_is_used(server: Any) -> None:
    await server.submit("ada")
    async with server.client("ada") as client:
        found = (await client.get("/v1/quota")).json()
    assert (found["tenant"], found["jobs"], found["blob_bytes"]) == ("ada", 1, 6)
    assert found["quota"]["max_jobs"] == 3
    assert (found["weight"], found["slot_s"], found["core_s"]) == (1.0, 0.0, 0.0)


async def test_a_bound_that_is_no_whole_number_is_told_as_the_schema_says(server: Any) -> None:
    today = time.strftime("%Y-%m-%d", time.gmtime())
    server.store.usage.add([UsageRow(today, "ada", 0, "slot", 10**9)], {})
    async with server.client("operator") as client:
        await client.patch("/v1/admin/tenants/ada", json={"quota": {"max_slot_s": 0.25}})
        schemas = (await client.get("/openapi.json")).json()["components"]["schemas"]
    body = {"application": "invert", "inputs": {"image": [await server.put(bytes(range(6)))]}}
    async with server.client("ada") as client:
        refused = await client.post("/v1/jobs", json=body)
    problem = refused.json()
    assert (refused.status_code, problem["limit"]) == (429, 0.25)
    told = schemas["Problem"]["properties"]
    kinds: dict[str, tuple[type, ...]] = {"number": (int, float), "integer": (int,), "string": (str,)}
    for name, value in problem.items():
        assert isinstance(value, kinds[told[name].get("type", "number")]), name


async def test_accounts_add_up_while_time_is_written_down(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """More is charged after each thing that is read."""
    fill(server)
    usage, read, to_ns = server.store.usage, server.store.usage._db.rows, [300]

    def charged_afterwards(query: str, *arguments: object) -> Any:
        rows = read(query, *arguments)
        if "usage" in query or "meta" in query:
            to_ns[0] += 7
            usage.add([UsageRow(DAYS[1], "ada", 0, "slot", 7)], {ACCOUNTED: str(to_ns[0])})
        return rows

    monkeypatch.setattr(usage._db, "rows", charged_afterwards)
    async with server.client("operator") as client:
        found = (await client.get("/v1/usage")).json()
    board, had = found["board"], sum(entry["slot_ns"] + entry["shared_ns"] for entry in found["entries"])
    assert had == board["before_ns"] + board["slots"] * (board["to_ns"] - board["from_ns"])
