# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the board did over hours, for operators."""

from __future__ import annotations

import time
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.api.service.history_recorder import LOOK_S, LOOKS, HistoryRecorder
from eddy.core.errors import StorageFull
from eddy.core.records import SlotStatus
from eddy.store.board_tables.samples import Sample

pytestmark = pytest.mark.anyio


async def test_an_operator_sees_the_hours_asked_for_in_so_many_points(server: Any) -> None:
    now = int(time.time())
    for minute in range(600):
        server.store.samples.add(Sample(now - 60 * minute, 2, 1.0, 1.0, 4.0, 1, 0, {"0": 0.25}, 40.0))
    async with server.client("operator") as client:
        found = (await client.get("/v1/history?hours=1")).json()["points"]
        assert len(found) in (60, 61)
        assert found[-1] == {
            **{"unix_s": now, "slots": 2, "busy": 1.0, "running": 1.0, "waiting": 4.0, "ended": 1, "failed": 0},
            **{"prices": {"0": 0.25}, "celsius": 40.0, "shares": {}},
        }
        found = (await client.get("/v1/history?hours=100&points=10")).json()["points"]
        assert len(found) == 10
        assert sum(point["ended"] for point in found) == 600
        refused = await client.get("/v1/history?hours=1000")
        assert (refused.status_code, refused.json()["field"]) == (422, "hours")


async def test_it_is_the_operators_alone(server: Any) -> None:
    async with server.client("ada") as client:
        assert (await client.get("/v1/history")).status_code == 403


def test_a_slot_counts_for_whom_it_works_or_who_leased_it() -> None:
    slots = (
        SlotStatus(0, "pipeline", "slot0", tenant="ada", phase="running"),
        SlotStatus(1, "pipeline", "slot1", tenant="ada", phase="loading"),
        SlotStatus(2, "pipeline", "slot2", tenant="grace", phase="idle"),
        SlotStatus(3, "pipeline", "slot3", tenant="edsger", phase="empty", lease="l1"),
        SlotStatus(4, "gpu", "slot4", phase="running"),
    )
    store = SimpleNamespace(
        jobs=SimpleNamespace(unfinished_by_state=lambda: {}), happened=SimpleNamespace(ended=Counter())
    )
    context: Any = SimpleNamespace(hypervisor=SimpleNamespace(slots=lambda: slots, price=None), store=store)
    seen = HistoryRecorder(context).look()
    assert (seen.busy, seen.shares) == (3, {"ada": 2, "edsger": 1})


async def test_what_is_seen_is_kept_by_minutes(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2 * LOOKS + 1:
            raise KeyboardInterrupt  # as good as any end

    monkeypatch.setattr("eddy.api.service.history_recorder.anyio.sleep", sleep)
    await server.submit("ada")
    store, real = server.store, server.store.samples.add
    store.happened.ended["succeeded"] += 1
    recorder = HistoryRecorder(server.app.state.context)
    store.happened.ended["succeeded"] += 2
    store.happened.ended["failed"] += 1
    kept: list[Sample] = []

    def full_once(sample: Sample) -> None:
        kept.append(sample)
        if len(kept) == 1:
            raise StorageFull("the disk is full")
        real(sample)

    monkeypatch.setattr(store.samples, "add", full_once)
    with pytest.raises(KeyboardInterrupt):
        await recorder.run()
    assert set(slept) == {LOOK_S}
    assert [(each.ended, each.failed) for each in kept] == [(2, 1), (0, 0)], "since it began, each once"
    assert kept[0].waiting + kept[0].running == 1.0
    assert kept[0].slots == len(server.app.state.context.hypervisor.slots())
    assert [each.unix_s for each in store.samples.since(0)] == [kept[1].unix_s], "a full disk ends nothing"
