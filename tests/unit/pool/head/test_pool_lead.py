# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the leading head keeps of its own changes, and whom it tells of placements again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from unittest.mock import MagicMock

import pytest
from eddy.pool.jetstream.lease import LeaderLease
from eddy.pool.mirror.mirror import Mirror
from eddy.pool.mirror.open_jobs import OpenJobs
from eddy.pool.placement.leader import AGAIN_S, Leader
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
