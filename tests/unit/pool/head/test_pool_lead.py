# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the leading head keeps of its own changes, and whom it tells of placements again;
calls at once, in lanes that keep their order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from unittest.mock import MagicMock

import pytest
from eddy.pool.jetstream.lease import LeaderLease
from eddy.pool.mirror.mirror import Mirror
from eddy.pool.mirror.open_jobs import OpenJobs
from eddy.pool.placement.leader import AGAIN_S, Leader, run_in_lanes
from eddy.pool.placement.placement import PlacementDecision
from eddy.pool.records.records import PoolBoard, PoolJob

JOB = PoolJob(1, "ada", {"application": "a", "batch": 4}, 0.0)
BOARD = PoolBoard("b1", "k", 1, 1, ("a",), False, "s")


class Records:
    """Records of jobs; `meanwhile` is done after each change, before whoever changed it goes on."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.jobs, self._meanwhile = {1: JOB}, meanwhile

    def now(self) -> float:
        return 0.0

    async def change(self, number: int, how: Callable[[PoolJob], PoolJob]) -> PoolJob:
        self.jobs[number] = changed = how(self.jobs[number])
        self._meanwhile()
        return changed


@pytest.fixture
def lead(monkeypatch: pytest.MonkeyPatch) -> Leader:
    monkeypatch.setattr(LeaderLease, "is_leader", True)
    monkeypatch.setattr(Mirror, "alive", lambda mirror, name: name in mirror.boards)
    found = Leader(MagicMock(), "head")
    found.mirror.jobs, found.mirror.boards = OpenJobs([JOB]), {"b1": BOARD}
    return found


def telling(lead: Leader, monkeypatch: pytest.MonkeyPatch, records: Records) -> list[int]:
    """Tokens that boards are told."""
    told: list[int] = []

    async def tell(_: str, body: bytes) -> None:
        told.append(int(json.loads(body)["token"]))

    monkeypatch.setattr(lead, "_table", records)
    lead._link.js.publish = tell  # type: ignore[method-assign, assignment]
    return told


def give(lead: Leader) -> None:
    """Place the job as it was at first."""
    asyncio.run(lead._give(JOB, PlacementDecision(1, "b1", 0.0, {})))


def test_a_job_that_is_cancelled_while_it_is_placed_is_not_kept_as_one_that_runs(
    lead: Leader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watch has told of its end before the head goes on. It would have kept a place of its board for ever."""
    records = Records(lambda: lead.mirror.jobs.add_record(JOB.cancelled(0.0)))
    telling(lead, monkeypatch, records)
    give(lead)
    assert records.jobs[1].board == "b1"
    assert lead.mirror.jobs == {}


def test_a_head_knows_of_its_own_placement_before_the_watch_tells(
    lead: Leader, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = Records()
    told = telling(lead, monkeypatch, records)
    give(lead)
    assert lead.mirror.jobs == records.jobs
    assert (lead.mirror.jobs[1].board, told) == ("b1", [1])
    give(lead)
    assert told == [1], "it is not placed twice"


def test_a_board_is_told_again_of_what_it_does_not_name_and_of_nothing_else(
    lead: Leader, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = telling(lead, monkeypatch, Records())
    lead.mirror.jobs = OpenJobs([JOB.place_on("b1", 0.0, {})])

    async def later() -> list[int]:
        told.clear()
        lead._told = {key: at - AGAIN_S - 1.0 for key, at in lead._told.items()}
        await lead._tell_again()
        return list(told)

    async def check() -> None:
        assert await later() == [], "it may only just have been placed"
        assert await later() == [1]
        await lead._tell_again()
        assert told == [1], "not at every look"
        lead.mirror.boards = {"b1": replace(BOARD, running=(1,))}
        assert await later() == [], "it waits on its board for a place"
        lead.mirror.boards = {}
        assert await later() == []

    asyncio.run(check())


def test_a_head_that_leads_anew_measures_inputs_before_it_loses_patience(
    lead: Leader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transfer of 256 MB on a slow link would be begun again elsewhere."""
    job = PoolJob(1, "ada", {"application": "a", "batch": 1, "inputs": {"x": ["sha"]}}, 0.0).place_on("b1", 0.0, {})
    lead.mirror.jobs = OpenJobs([job])
    lead.mirror.boards = {"b1": replace(BOARD, running=(1,)), "b2": replace(BOARD, name="b2")}
    telling(lead, monkeypatch, records := Records())
    records.jobs[1] = job

    async def size(tenant: str, sha256: str) -> int:
        return 256 << 20

    monkeypatch.setattr(lead._blobs, "size", size)

    async def check() -> None:
        for _ in range(1200):
            lead.mirror.heard.s += 1.0
            await lead._take_back()

    asyncio.run(check())
    assert records.jobs[1].board == "b1"


def test_sizes_of_inputs_are_not_kept_without_end(lead: Leader, monkeypatch: pytest.MonkeyPatch) -> None:
    async def size(tenant: str, sha256: str) -> int:
        return 5

    monkeypatch.setattr(lead._blobs, "size", size)
    monkeypatch.setattr("eddy.pool.placement.leader.MAX_SIZES", 10)

    def job(number: int) -> PoolJob:
        return PoolJob(number, "ada", {"application": "a", "batch": 1, "inputs": {"x": [f"s{number}"]}}, 0.0)

    async def check() -> None:
        for number in range(100):
            await lead._measure([job(number)])
            assert lead._sizes["ada", f"s{number}"] == 5
            assert len(lead._sizes) <= 12

    asyncio.run(check())


def test_a_lane_keeps_its_order_while_others_go_on() -> None:
    async def check() -> None:
        done, gate, under_way, most = list[str](), asyncio.Event(), 0, 0

        def call(name: str) -> Callable[[], Awaitable[None]]:
            async def it() -> None:
                nonlocal under_way, most
                under_way += 1
                most = max(most, under_way)
                if name == "a1":
                    await gate.wait()
                await asyncio.sleep(0)
                under_way -= 1
                done.append(name)

            return it

        names = ["a1", "b1", "a2", "b2", "c1", "a3", "b3", "d1"]
        running = asyncio.ensure_future(run_in_lanes([(name[0], call(name)) for name in names], at_once=3))
        for _ in range(100):
            await asyncio.sleep(0)
        assert sorted(done) == ["b1", "b2", "b3", "c1", "d1"], "a waits for its first; nobody waits for a"
        gate.set()
        await running
        assert [name for name in done if name[0] == "a"] == ["a1", "a2", "a3"]
        assert [name for name in done if name[0] == "b"] == ["b1", "b2", "b3"]
        assert most == 3

    asyncio.run(check())


def test_after_a_failure_nothing_begins_and_what_is_under_way_ends() -> None:
    async def check() -> None:
        began, ended, gate = list[str](), list[str](), asyncio.Event()

        async def fails() -> None:
            began.append("fails")
            raise OSError("away")

        async def slow() -> None:
            began.append("slow")
            await gate.wait()
            ended.append("slow")

        async def later() -> None:
            began.append("later")

        calls = [("a", slow), ("b", fails), ("b", later), ("c", later)]
        running = asyncio.ensure_future(run_in_lanes(calls, at_once=2))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not running.done()
        gate.set()
        with pytest.raises(OSError, match="away"):
            await running
        assert (began, ended) == (["slow", "fails"], ["slow"])

    asyncio.run(check())
