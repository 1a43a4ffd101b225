# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which drops hold a board back, for how long, and what ends that."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from eddy.core.submission_options import ITS_OWN, NOT_ITS_FAULT
from eddy.pool.mirror.board_drops import (
    FIRST_S,
    IN_VAIN,
    LEASE_ENDED,
    MAX_OF_FEW,
    MAX_S,
    MAX_TRIES,
    NAMED_WITHIN_S,
    NOT_COMMITTED,
    NOT_WORKED_ON,
    REFUSED,
    UNABLE,
    BoardDrops,
    after_board_failure,
    after_recall,
    refused_by,
)
from eddy.pool.records.records import JobPart, PoolBoard, PoolJob

JOB = PoolJob(1, "ada", {"application": "a", "batch": 4}, 0.0)


@dataclass
class Time:
    now_s: float = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def time() -> Time:
    return Time()


def dropped(drops: BoardDrops, job: PoolJob, because: str = LEASE_ENDED, board: str = "b1") -> PoolJob:
    job = job.place_on(board, 0.0, {})
    drops.learn(job)
    job = job.recall(because, 0.0)
    drops.learn(job)
    return job


def committed(job: PoolJob, board: str = "b1") -> PoolJob:
    job = job.place_on(board, 0.0, {})
    return job.commit_part(JobPart(job.done, 1, {}, board, job.token, 0.0, 1.0))


def test_each_drop_in_a_row_holds_a_board_back_for_twice_as_long(time: Time) -> None:
    drops, job = BoardDrops(time), dropped(BoardDrops(time), JOB)
    drops.learn(job)
    assert drops.hold_back_s("b1") == 0, "a board may crash once"
    for times in range(12):
        time.now_s += 1000.0
        job = dropped(drops, job, (LEASE_ENDED, NOT_WORKED_ON, f"{UNABLE}: storage-full")[times % 3])
        assert drops.hold_back_s("b1") == min(FIRST_S * 2**times, MAX_S)
        assert drops.hold_back_s("b2") == 0
        time.now_s += drops.hold_back_s("b1")
        assert drops.hold_back_s("b1") == 0


def test_what_is_committed_ends_it_and_what_operators_and_plans_move_is_no_drop(time: Time) -> None:
    drops = BoardDrops(time)
    job = dropped(drops, JOB)
    for because in ("b1 is drained", "b2 joined; b2 would end it 3 s sooner", "b2 has a place free"):
        time.now_s += 10.0
        job = dropped(drops, job, because)
    assert drops.hold_back_s("b1") == 0
    job = dropped(drops, job)
    assert drops.hold_back_s("b1") > 0
    drops.learn(committed(job))
    assert drops.hold_back_s("b1") == 0


def test_all_that_a_board_had_is_one_drop_and_a_record_told_again_is_none(time: Time) -> None:
    drops = BoardDrops(time)
    jobs = [dropped(drops, replace(JOB, id=number)) for number in range(1, 6)]
    assert drops.hold_back_s("b1") == 0
    time.now_s += 10.0
    for job in jobs:
        drops.learn(job)
    drops.learn(replace(JOB, id=9, moves=({"from": "b1", "because": LEASE_ENDED},), state="cancelled"))
    assert drops.hold_back_s("b1") == 0


def test_a_job_its_board_does_not_name_is_found_in_time(time: Time) -> None:
    drops, job = BoardDrops(time), JOB.place_on("b1", 0.0, {})
    board = PoolBoard("b1", "k", 1, 1, ("a",), False, "s")
    named = {"b1": replace(board, running=(1,))}
    assert drops.unnamed_jobs([job], {"b1": board}) == []
    time.now_s += NAMED_WITHIN_S - 1
    assert drops.unnamed_jobs([job], {"b1": board}) == []
    again = job.recall("", 0.0).place_on("b1", 0.0, {})
    time.now_s += 1
    assert drops.unnamed_jobs([again], {"b1": board}) == [], "a new placement has its own time"
    time.now_s += NAMED_WITHIN_S
    assert drops.unnamed_jobs([again], {"b1": board}) == [again]
    assert drops.unnamed_jobs([again], named) == []
    assert drops.unnamed_jobs([again], {"b1": board}) == []


def failed(job: PoolJob, cause: str, board: str = "b1") -> PoolJob:
    job = job.place_on(board, 0.0, {})
    return after_board_failure(job, job.token, {"code": "job-failed", "cause": cause, "message": "why"}, 5.0)


@pytest.mark.parametrize("cause", [*ITS_OWN, "invalid-request", "compilation-failed"])
def test_what_is_a_jobs_own_matter_fails_it(cause: str) -> None:
    assert failed(JOB, cause).state == "failed"


@pytest.mark.parametrize(
    ("cause", "because"),
    [
        *((cause, UNABLE) for cause in (*NOT_ITS_FAULT, "storage-full", "server-unreachable", "unauthorized")),
        *((cause, REFUSED) for cause in ("quota-exceeded", "rate-limited", "memory-exhausted", "payload-too-large")),
        ("stopped", REFUSED),
        ("", REFUSED),
    ],
)
def test_what_is_not_gives_it_back(cause: str, because: str) -> None:
    job = failed(JOB, cause)
    assert (job.state, job.board) == ("queued", "")
    assert job.moves[0]["because"] == f"{because}: {cause or 'job-failed'}"


def test_a_job_that_breaks_every_board_is_ended_in_the_end_and_says_why() -> None:
    job, reasons = JOB, (LEASE_ENDED, f"{UNABLE}: storage-full", NOT_WORKED_ON)
    for tried in range(MAX_TRIES):
        assert job.state == "queued", "boards of one lab lose power together"
        job = after_recall(job.place_on(f"b{tried % 3}", 0.0, {}).recall(reasons[tried % 3], 7.0), 7.0)
    assert (job.state, job.ended_unix_s) == ("failed", 7.0)
    assert (job.error or {})["cause"] == IN_VAIN
    for told in ("b0: its lease ended", "b1: it cannot run anything: storage-full", f"b2: {NOT_WORKED_ON}"):
        assert told in (job.error or {})["message"]


def test_of_one_board_that_comes_and_goes_more_is_borne() -> None:
    job = JOB
    for tried in range(MAX_OF_FEW):
        assert job.state == "queued", tried
        job = after_recall(job.place_on("b1", 0.0, {}).recall(LEASE_ENDED, 7.0), 7.0)
    assert job.state == "failed"


def test_a_job_that_one_board_always_refuses_is_ended() -> None:
    job = JOB
    for _ in range(MAX_TRIES):
        assert job.state == "queued"
        job = failed(job, "memory-exhausted")
    assert job.state == "failed"
    assert "memory-exhausted" in (job.error or {})["message"]


def test_tries_count_from_the_last_commit_and_moves_of_operators_do_not() -> None:
    job = JOB
    for tried in range(3 * MAX_TRIES):
        job = committed(job, f"b{tried % 3}") if tried == MAX_TRIES - 1 else job.place_on(f"b{tried % 3}", 0.0, {})
        because = (LEASE_ENDED, "b1 is drained", f"{NOT_COMMITTED} in 300 s")[tried % 3]
        job = after_recall(job.recall(because, 1.0), 1.0)
        assert job.state == "queued"


def test_a_board_that_refuses_one_job_is_not_held_back_and_is_remembered_until_something_is_committed(
    time: Time,
) -> None:
    drops, job = BoardDrops(time), JOB
    for _ in range(3):
        time.now_s += 10.0
        drops.learn(job)
        job = failed(job, "quota-exceeded")
    drops.learn(job)
    assert drops.hold_back_s("b1") == 0
    assert refused_by(job) == {"b1"}
    assert refused_by(committed(job, "b2")) == frozenset()


def history(*moves: tuple[float, str], parts: tuple[JobPart, ...] = (), number: int = 1) -> PoolJob:
    told = tuple({"from": "b1", "because": because, "at_unix_s": at, "done": 0} for at, because in moves)
    return replace(JOB, id=number, moves=told, parts=parts)


def test_a_head_that_starts_holds_boards_back_as_one_that_saw_it_all(time: Time) -> None:
    seen, drops = BoardDrops(time), [(1000.0 + 300 * times, NOT_WORKED_ON) for times in range(7)]
    for times in range(1, 8):
        time.now_s = drops[times - 1][0]
        seen.learn(history(*drops[:times]))
    later = BoardDrops(time, date=lambda: time.now_s)
    for number, each in enumerate([drops[3:5], drops[:3], drops[5:]]):  # records come in any order
        later.learn(history(*each, number=number), news=False)
    assert later.hold_back_s("b1") == seen.hold_back_s("b1") == FIRST_S * 2**5


def test_what_was_long_ago_or_before_a_commit_holds_nobody_back_at_a_heads_start(time: Time) -> None:
    time.now_s = 1e6
    drops = BoardDrops(time, date=lambda: time.now_s)
    drops.learn(history((1e6 - 3 * 86400, NOT_COMMITTED)), news=False)
    assert drops.hold_back_s("b1") == 0
    done = JobPart(0, 1, {}, "b1", 1, 1e6 - 60, 1e6 - 50)
    drops.learn(history(parts=(done,), number=2), news=False)
    drops.learn(history((1e6 - 70, LEASE_ENDED), (1e6 - 60, LEASE_ENDED), (1e6 - 1, LEASE_ENDED), number=3), news=False)
    assert drops.hold_back_s("b1") == 0, "one since then"
    drops.learn(history((1e6 + 86400, LEASE_ENDED), number=4), news=False)
    assert drops.hold_back_s("b1") == FIRST_S, "a date that is wrong is no later than now"
