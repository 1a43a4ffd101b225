# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Maintenance windows over HTTP: planned, announced, kept by the calendar, told, and cancelled."""

from __future__ import annotations

import time
from typing import Any

import pytest
from api.operators.test_notices import LAB, Outbox, subscribe
from eddy.api.service.calendar_service import CalendarService
from eddy.core.records import SlotStatus
from eddy.store.board_tables import maintenance as table
from receiver_kit import Receiver

pytestmark = pytest.mark.anyio
SLOTS = (SlotStatus(0, "pipeline", "slot0"), SlotStatus(1, "pipeline", "slot1", drained="a dead fan"))


async def plan(server: Any, **fields: Any) -> dict[str, Any]:
    body = {"title": "a new fan", "begins_unix_s": time.time() + 600, "lasts_s": 300, "drain_s": 60, **fields}
    async with server.client("operator") as client:
        answer = await client.post("/v1/admin/maintenance", json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def drained(server: Any) -> list[str]:
    return [status.drained for status in server.hypervisor.statuses]


async def test_a_window_is_announced_to_everyone_and_planned_by_operators(server: Any) -> None:
    server.hypervisor.statuses = SLOTS
    made = await plan(server, slots=[0])
    async with server.client() as client:
        assert (await client.get("/v1/maintenance")).json() == {"windows": [made]}
        body = {"title": "x", "begins_unix_s": time.time() + 9, "lasts_s": 1}
        assert (await client.post("/v1/admin/maintenance", json=body)).status_code == 403
        assert (await client.delete(f"/v1/admin/maintenance/{made['id']}")).status_code == 403
    assert (made["stage"], made["slots"]) == ("planned", [0])
    async with server.client("operator") as client:
        for wrong, field in (({"slots": [7]}, "slots"), ({"begins_unix_s": 5.0}, "begins_unix_s")):
            answer = await client.post("/v1/admin/maintenance", json={**body, **wrong})
            assert field == "slots" or "over at 1970-01-01T00:00:06Z; it is 20" in answer.json()["detail"]
            assert (answer.status_code, answer.json()["field"]) == (422, field)
        assert (await client.delete("/v1/admin/maintenance/w0")).status_code == 404
        (entry,) = (await client.get("/v1/admin/audit")).json()["entries"]
    assert (entry["action"], entry["facts"]["window"]) == ("plan-maintenance", made["id"])


async def test_the_calendar_closes_slots_before_and_opens_them_after(server: Any) -> None:
    server.hypervisor.statuses = SLOTS
    made = await plan(server)
    now_s = made["drains_unix_s"] - 10
    calendar = CalendarService(server.app.state.context, lambda: now_s)
    await calendar.keep()
    assert drained(server) == ["", "a dead fan"]
    assert {s: (round(at), w) for s, (at, w) in server.hypervisor.closing.items()} == dict.fromkeys(
        (0, 1), (10, made["id"])
    )
    now_s += 11
    await calendar.keep()
    assert drained(server) == [f"maintenance {made['id']}: a new fan", "a dead fan"]
    now_s = made["ends_unix_s"] + 1
    await calendar.keep()
    assert drained(server) == ["", "a dead fan"]
    assert server.hypervisor.closing == {}
    acted = [(entry.action, entry.facts.get("by")) for entry in server.store.audit.entries()][1:]
    assert acted == [("drain-slot", "calendar"), ("undrain-slot", "calendar")]


async def test_a_server_that_slept_over_a_window_leaves_nothing_closed(server: Any) -> None:
    server.hypervisor.statuses = SLOTS[:1]
    made = await plan(server)
    now_s = made["begins_unix_s"] + 1
    await CalendarService(server.app.state.context, lambda: now_s).keep()
    assert drained(server)[0].startswith("maintenance ")
    now_s = made["ends_unix_s"] + 999
    await CalendarService(server.app.state.context, lambda: now_s).keep()  # as a new start has it
    assert drained(server) == [""]


async def test_a_window_that_is_ended_early_gives_its_slots_back(server: Any) -> None:
    server.hypervisor.statuses = SLOTS[:1]
    made = await plan(server, begins_unix_s=time.time() - 5)
    calendar = CalendarService(server.app.state.context)
    await calendar.keep()
    assert drained(server)[0] != ""
    async with server.client("operator") as client:
        for _ in range(2):
            answer = await client.delete(f"/v1/admin/maintenance/{made['id']}")
            assert (answer.status_code, answer.json()["stage"]) == (200, "ended")
    await calendar.keep()
    assert drained(server) == [""]


async def test_each_step_of_a_window_is_told(start: Any) -> None:
    server = start(notices=LAB)
    server.hypervisor.statuses = SLOTS[:1]
    kinds = [f"maintenance.{each}" for each in ("planned", "began", "ended", "cancelled")]
    with Receiver() as hook:
        await subscribe(server, hook.url, kinds=kinds)
        made, other = await plan(server), await plan(server, title="never")
        async with server.client("operator") as client:
            await client.delete(f"/v1/admin/maintenance/{other['id']}")
        outbox = Outbox(server)
        for at_s in (outbox.now_s, made["drains_unix_s"] + 1, made["begins_unix_s"] + 1, made["ends_unix_s"] + 1):
            outbox.now_s = at_s
            for _ in range(3):
                await outbox.look()
        told = [(each["type"].partition(".")[2], each["data"]["title"]) for each in hook.bodies()]
    assert sorted(told[:2]) == [("cancelled", "never"), ("planned", "a new fan")]
    assert told[2:] == [("began", "a new fan"), ("ended", "a new fan")]


async def test_windows_that_are_over_make_room_for_those_to_come(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MAX_WINDOWS", 2)
    first = await plan(server)
    async with server.client("operator") as client:
        await client.delete(f"/v1/admin/maintenance/{first['id']}")
        names = [(await plan(server))["id"] for _ in range(2)]
        assert [each["id"] for each in (await client.get("/v1/maintenance")).json()["windows"]] == names
        body = {"title": "x", "begins_unix_s": time.time() + 9, "lasts_s": 1}
        answer = await client.post("/v1/admin/maintenance", json=body)
    assert (answer.status_code, answer.json()["code"]) == (429, "quota-exceeded")
