# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a head decides beside placing: what waits for other jobs, what is too late, what a rebalance moves."""

from __future__ import annotations

import pytest
from eddy.pool.mirror.board_drops import FLOODS, HELD_BACK
from eddy.pool.mirror.estimates import Estimates
from eddy.pool.mirror.mirror import PoolObservations, ServerClock
from eddy.pool.mirror.open_jobs import OpenJobs
from eddy.pool.placement.placement import PoolView
from eddy.pool.placement.rebalance import jobs_to_move
from eddy.pool.records.records import JobFenced, JobPart, PoolBoard, PoolJob


def job(number: int, board: str = "", state: str = "", batch: int = 10, **request: object) -> PoolJob:
    asked = {"application": "a", "batch": batch, "inputs": {"x": [f"s{number}"]}, **request}
    return PoolJob(number, "ada", asked, 100.0, state or ("placed" if board else "queued"), board)


def board(name: str, kind: str = "slow", width: int = 1, drained: str = "") -> PoolBoard:
    return PoolBoard(name, kind, width, 4, ("a",), False, "s", drained=drained)


def view(
    given: list[PoolJob], boards: list[PoolBoard], waiting: list[PoolJob] | None = None, **item_s: float
) -> PoolView:
    estimates = Estimates()
    for kind, seconds in item_s.items():
        parts = tuple(JobPart(i, 1, {}, kind, 1, 0.0, seconds) for i in range(3))
        estimates.learn(PoolJob(99, "ada", {"application": "a", "batch": 3}, 0.0, parts=parts), {kind: kind})
        estimates.seen.clear()
    return PoolView(waiting or [], given, boards, estimates, {("ada", "s1"): 1 << 30}, {})


def test_a_job_waits_for_those_it_comes_after_and_fails_with_them() -> None:
    jobs = [job(1, "x", "running"), job(2, after=[1]), job(3, after=[7]), job(4, after=[7, 8]), job(5)]
    found = OpenJobs([*jobs, job(8, state="failed")])
    assert [each.id for each in found.placeable_jobs] == [3, 5], "7 has ended well"
    (ending,) = found.jobs_to_end(101.0)
    assert (ending.job.id, ending.error["cause"]) == (4, "dependency-failed")
    assert ending.job.stop(ending.error, 102.0, ending.state).state == "failed"
    assert [each.state for each in OpenJobs([job(1, waits=[[7, "afternotok", False]])]).jobs_to_end(101.0)] == [
        "cancelled"
    ]


def test_a_deadline_ends_what_asked_for_that_wherever_it_is() -> None:
    jobs = [
        job(1, "x", "running", deadline_s=5.0, late="end"),
        job(2, deadline_s=5.0),
        job(3, deadline_s=9.0, late="end"),
        job(4, deadline_s=5.0, late="end", after=[1]),
    ]
    found = OpenJobs(jobs)
    assert found.jobs_to_end(105.0) == []
    failing = [(each.job.id, each.error["cause"]) for each in found.jobs_to_end(105.1)]
    assert failing == [(1, "deadline-passed"), (4, "deadline-passed")]
    assert found.jobs_to_end(104.0) == [], "the date was wrong, and is right again"
    ended = jobs[0].stop(found.jobs_to_end(105.1)[0].error, 105.1)
    assert ended.token > jobs[0].token, "its board drops it"


def test_what_waits_on_a_board_moves_to_a_free_place_and_no_further() -> None:
    given = [job(1, "x", "running"), job(2, "x"), job(3, "x"), job(4, "y", "running")]
    found = jobs_to_move(view(given, [board("x"), board("y"), board("z")]), False)
    assert [(each.job.id, each.because) for each in found] == [(3, "z has a place free")]
    taken = [job(9)]
    assert jobs_to_move(view(given, [board("x"), board("y"), board("z")], taken), False) == [], "9 goes to z"
    assert jobs_to_move(view(given, [board("x"), board("y"), board("z", drained="mending")]), False) == []


def test_a_drained_board_keeps_what_it_runs_alone() -> None:
    given = [job(1, "x", "running"), job(2, "x")]
    found = jobs_to_move(view(given, [board("x", drained="mending")]), False)
    assert [each.job.id for each in found] == [2]


def test_a_running_job_moves_where_that_pays_with_its_inputs_sent_again() -> None:
    given = [job(1, "x", "running", batch=20), job(2, "y", "running", batch=20)]
    boards = [board("x"), board("y"), board("f", "fast")]
    assert jobs_to_move(view(given, boards, slow=1.0, fast=0.5), False) == []
    found = jobs_to_move(view(given, boards, slow=1.0, fast=0.5), True)
    assert [(each.job.id, each.because) for each in found] == [(2, "f would end it sooner")], "1 has a gigabyte to send"
    assert jobs_to_move(view(given, boards, slow=1.0, fast=0.9), True) == []


def test_what_was_seen_counts_once() -> None:
    seen, before = PoolObservations(), job(1, "x", "running")
    after = before.commit_part(JobPart(0, 10, {}, "x", 0, 0.0, 1.0, sent_bytes=5))
    for was, now in ((None, before), (before, before), (before, after), (after, after)):
        seen.add_record(was, now)
    assert (seen.items, seen.sent_bytes, dict(seen.ended), seen.moves) == (10, 5, {"succeeded": 1}, 0)


def test_running_jobs_leave_a_board_that_an_operator_drained_and_none_that_is_held_back() -> None:
    given = [job(1, "x", "running"), job(2, "x")]
    drained, free = board("x", drained="stolen"), board("y")
    assert [each.job.id for each in jobs_to_move(view(given, [drained, free]), False)] == [2]
    found = jobs_to_move(view(given, [drained, free]), True)
    assert {each.job.id: each.because for each in found} == {1: "x is drained", 2: "x is drained"}
    assert [each.job.id for each in jobs_to_move(view(given, [drained]), True)] == [2], "no other can run it"
    for why in (HELD_BACK, f"{FLOODS} leases"):
        found = jobs_to_move(view(given, [board("x", drained=why), free]), True)
        assert {each.job.id: each.because for each in found} == {2: "x is held back"}


def test_a_job_that_has_ended_meanwhile_is_not_ended_again_and_stops_nothing_else() -> None:
    with pytest.raises(JobFenced):
        job(1, "x", "succeeded").stop({}, 1.0)


def test_a_date_that_jumps_forward_makes_no_job_late() -> None:
    clock = [7.0]
    date = ServerClock(lambda: clock[0])
    assert date.earliest_now(5000.0) == 5000.0, "before anything was heard"
    date.observe(1000.0)
    clock[0] += 20.0
    assert date.earliest_now(1000.0 + 86400.0) == 1020.0
    assert date.earliest_now(1000.0) == 1000.0
    late = OpenJobs([job(1, deadline_s=950.0, late="end")])
    assert late.jobs_to_end(date.earliest_now(1000.0 + 86400.0)) == []
    clock[0] += 100.0
    assert [each.job.id for each in late.jobs_to_end(date.earliest_now(1000.0 + 86400.0))] == [1]
