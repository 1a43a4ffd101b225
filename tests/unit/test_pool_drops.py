"""Which drops hold a board back, for how long, and what ends that."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from eddy.pool.drops import FIRST_S, LEASE_ENDED, MOST_S, NAMED_WITHIN_S, NOT_WORKED_ON, UNABLE, Drops
from eddy.pool.records import JobPart, PoolBoard, PoolJob

JOB = PoolJob(1, "ada", {"application": "a", "batch": 4}, 0.0)


@dataclass
class Time:
    now_s: float = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def time() -> Time:
    return Time()


def dropped(drops: Drops, job: PoolJob, because: str = LEASE_ENDED, board: str = "b1") -> PoolJob:
    job = job.placed(board, 0.0, {})
    drops.learn(job)
    job = job.taken_back(because, 0.0)
    drops.learn(job)
    return job


def committed(job: PoolJob, board: str = "b1") -> PoolJob:
    job = job.placed(board, 0.0, {})
    return job.committed(JobPart(job.done, 1, {}, board, job.token, 0.0, 1.0))


def test_each_drop_in_a_row_holds_a_board_back_for_twice_as_long(time: Time) -> None:
    drops, job = Drops(time), dropped(Drops(time), JOB)
    drops.learn(job)
    assert drops.held_back_s("b1") == 0, "a board may crash once"
    for times in range(12):
        time.now_s += 1000.0
        job = dropped(drops, job, (LEASE_ENDED, NOT_WORKED_ON, f"{UNABLE}: storage-full")[times % 3])
        assert drops.held_back_s("b1") == min(FIRST_S * 2**times, MOST_S)
        assert drops.held_back_s("b2") == 0
        time.now_s += drops.held_back_s("b1")
        assert drops.held_back_s("b1") == 0


def test_what_is_committed_ends_it_and_what_operators_and_plans_move_is_no_drop(time: Time) -> None:
    drops = Drops(time)
    job = dropped(drops, JOB)
    for because in ("b1 is drained", "b2 joined; b2 would end it 3 s sooner", "b2 has a place free"):
        time.now_s += 10.0
        job = dropped(drops, job, because)
    assert drops.held_back_s("b1") == 0
    job = dropped(drops, job)
    assert drops.held_back_s("b1") > 0
    drops.learn(committed(job))
    assert drops.held_back_s("b1") == 0


def test_all_that_a_board_had_is_one_drop_and_a_record_told_again_is_none(time: Time) -> None:
    drops = Drops(time)
    jobs = [dropped(drops, replace(JOB, id=number)) for number in range(1, 6)]
    assert drops.held_back_s("b1") == 0
    time.now_s += 10.0
    for job in jobs:
        drops.learn(job)
    drops.learn(replace(JOB, id=9, moves=({"from": "b1", "because": LEASE_ENDED},), state="cancelled"))
    assert drops.held_back_s("b1") == 0


def test_a_job_its_board_does_not_name_is_found_in_time(time: Time) -> None:
    drops, job = Drops(time), JOB.placed("b1", 0.0, {})
    board = PoolBoard("b1", "k", 1, 1, ("a",), False, "s")
    named = {"b1": replace(board, running=(1,))}
    assert drops.not_worked_on([job], {"b1": board}) == []
    time.now_s += NAMED_WITHIN_S - 1
    assert drops.not_worked_on([job], {"b1": board}) == []
    again = job.taken_back("", 0.0).placed("b1", 0.0, {})
    time.now_s += 1
    assert drops.not_worked_on([again], {"b1": board}) == [], "a new placement has its own time"
    time.now_s += NAMED_WITHIN_S
    assert drops.not_worked_on([again], {"b1": board}) == [again]
    assert drops.not_worked_on([again], named) == []
    assert drops.not_worked_on([again], {"b1": board}) == []
