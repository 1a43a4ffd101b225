# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The head's decision: estimates, links and what boards have already go into the policy; boards get what they have
room for."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from eddy.policy.place import METHODS
from eddy.pool.connection.token_bucket import TokenBucket
from eddy.pool.mirror.board_drops import REFUSED
from eddy.pool.mirror.estimates import UNKNOWN_S, Estimates
from eddy.pool.placement.placement import HORIZON, MIN_S, PoolView, decide, instance_of, next_planned, remaining_s
from eddy.pool.records.records import GUEST, JobPart, PoolBoard, PoolJob


def board(name: str, kind: str = "slow", width: int = 1, **more: object) -> PoolBoard:
    return PoolBoard(name, kind, width, 4, ("a", "b"), True, "s", **more)  # type: ignore[arg-type]


def job(number: int, work: str = "a", batch: int = 10, **more: object) -> PoolJob:
    return PoolJob(number, "ada", {"application": work, "batch": batch, "inputs": {"x": [f"s{number}"]}}, 0.0, **more)  # type: ignore[arg-type]


def learned(**item_s: float) -> Estimates:
    found = Estimates()
    for kind, seconds in item_s.items():
        parts = tuple(JobPart(i, 1, {}, kind, 1, 0.0, seconds) for i in range(3))
        found.learn(PoolJob(99, "ada", {"application": "a", "batch": 3}, 0.0, parts=parts), {kind: kind})
        found.seen.clear()
    return found


def view(jobs: list[PoolJob], boards: list[PoolBoard], estimates: Estimates | None = None, **more: object) -> PoolView:
    given = {"given": [], "sizes": {}, "there": {}, **more}
    return PoolView(jobs, boards=boards, estimates=estimates or Estimates(), **given)  # type: ignore[arg-type]


def test_estimates_are_of_parts_and_each_counts_once() -> None:
    found = Estimates()
    parts = (JobPart(0, 2, {}, "b", 1, 0.0, 2.0), JobPart(2, 1, {}, "b", 1, 0.0, 3.0))
    for _ in range(2):
        found.learn(PoolJob(1, "t", {"application": "a", "batch": 4}, 0.0, parts=parts), {"b": "slow"})
    mean, p90 = found.item_s("a", "slow")
    assert mean == pytest.approx(2.0)
    assert p90 == pytest.approx(2.0 + 1.2816 * math.sqrt(2.0))
    assert found.item_s("a", "fast") == pytest.approx((2.0, 4.0))
    assert found.item_s("other", "slow")[0] == UNKNOWN_S


def test_the_batch_goes_where_it_ends_first() -> None:
    boards = [board("f", "fast"), board("s", "slow")]
    gives = decide(view([job(1)], boards, learned(fast=0.1, slow=1.0)), METHODS["default"])
    assert [(give.job, give.board) for give in gives] == [(1, "f")]
    assert gives[0].why["kinds"]["slow"]["p50_s"] == pytest.approx(10.0)


def test_boards_get_what_they_run_and_one_job_ahead() -> None:
    gives = decide(view([job(i) for i in range(1, 20)], [board("x", width=2), board("y")]), METHODS["sjf"])
    assert sorted(give.board for give in gives) == ["x"] * 3 + ["y"] * 2


def test_what_runs_makes_a_board_ready_later() -> None:
    running = job(5, batch=100, board="x", state="running", token=1)
    it = instance_of(view([job(1)], [board("x", width=2)], given=[running]), [job(1)], [board("x", width=2)])
    assert it.ready_s.tolist() == [100 * UNKNOWN_S, 0.0]


def test_a_drained_board_and_one_that_cannot_run_it_get_nothing() -> None:
    boards = [board("x", drained="mending"), board("y")]
    assert [give.board for give in decide(view([job(1)], boards), METHODS["default"])] == ["y"]
    assert decide(view([job(1, work="unknown")], boards), METHODS["default"]) == []


def test_bytes_that_are_there_are_not_counted_and_links_bound_the_rates() -> None:
    sizes = {("ada", "s1"): 1_000_000, ("ada", "s2"): 1_000_000}
    boards = [board("x", link_bps=8e6)]
    both = view([job(1), job(2)], boards, sizes=sizes, there={"x": frozenset({("ada", "s1")})})
    it = instance_of(both, both.waiting, boards)
    assert it.size_bits is not None
    assert it.size_bits.tolist() == [0.0, 8e6]
    rates = {give.job: give.bps for give in decide(both, METHODS["default"])}
    assert rates[1] == 0.0
    assert 0 < rates[2] <= 8e6 * (1 + 1e-9)


def test_a_higher_priority_is_given_first() -> None:
    urgent = PoolJob(9, "ada", {"application": "a", "batch": 10, "priority": 9}, 0.0)
    gives = decide(view([job(1), job(2), job(3), urgent], [board("x")]), METHODS["default"])
    assert gives[0].job == 9


@pytest.mark.parametrize("rate_bps", [1e5, 1e6, 3.3e6])
def test_a_token_bucket_keeps_its_rate(rate_bps: float) -> None:
    bucket, now_s, sent = TokenBucket(rate_bps, 1e4, 0.0), 0.0, 0.0
    for _ in range(1000):
        now_s += bucket.wait_s(8e3, now_s)
        sent += 8e3
    assert sent - 1e4 <= rate_bps * now_s * (1 + 1e-9)
    assert sent / now_s == pytest.approx(rate_bps, rel=0.02)


def test_no_rate_is_no_bound_and_a_pause_saves_at_most_a_burst() -> None:
    assert TokenBucket(0.0, 1.0, 0.0).wait_s(1e12, 0.0) == 0.0
    bucket = TokenBucket(100.0, 50.0, 0.0)
    assert bucket.wait_s(50, 1000.0) == 0.0
    assert bucket.wait_s(100, 1000.0) == pytest.approx(1.0)


def test_the_table_is_each_job_on_each_board() -> None:
    """Rows and columns that are alike are computed once; here they are compared one by one."""
    boards = [board("f", "fast"), board("s", "slow", width=2), board("k", "odd"), board("g", "fast")]
    boards[3] = PoolBoard("g", "fast", 1, 4, ("b",), False, "s")
    kernel = PoolJob(7, "ada", {"kernel": {"kernel": "k"}}, 0.0)
    jobs = [job(1), job(2, batch=3), job(3, work="b"), job(4), kernel]
    estimates = learned(fast=0.1, slow=1.0)
    it = instance_of(view(jobs, boards, estimates), jobs, boards)
    wanted = [[remaining_s(each, board, estimates) for board in boards for _ in range(board.width)] for each in jobs]
    assert it.time_s.tolist() == wanted
    assert math.isinf(wanted[0][4])
    assert min(min(row) for row in wanted) > MIN_S


def test_of_very_many_jobs_the_first_are_planned() -> None:
    jobs = [job(i) for i in range(1, 3 * HORIZON)]
    jobs[-1] = job(3 * HORIZON, batch=1)
    first = PoolJob(9999, "ada", {"application": "a", "batch": 1, "priority": 9}, 0.0)
    gives = decide(view([*jobs, first], [board("x")]), METHODS["sjf"])
    assert [give.job for give in gives] == [9999, 1]
    full = [job(i, state="running", board="x") for i in (10001, 10002)]
    assert decide(view(jobs, [board("x")], given=full), METHODS["sjf"]) == []


@pytest.mark.parametrize("seed", range(20))
def test_of_those_that_are_planned_alone_the_same_is_made_as_of_all(seed: int) -> None:
    """So a head measures the inputs of these alone, however many wait."""
    chance = random.Random(seed)
    boards = [
        board(f"b{i}", chance.choice(("slow", "fast")), width=chance.randint(1, 3), guests=chance.randint(0, 2))
        for i in range(8)
    ]
    boards[0] = replace(boards[0], applications=("b",))
    jobs = [
        replace(
            job(i, work=chance.choice("abz"), batch=chance.randint(1, 9)),
            tenant=chance.choice(("ada", "grace", "edsger")),
            request={**job(i, work=chance.choice("abz")).request, "priority": chance.choice((1, 1, 1, 3))},
        )
        for i in range(1, 2 * HORIZON)
    ]
    given = [job(i, state="running", board=f"b{i % 8}") for i in range(1001, 1001 + chance.randint(0, 12))]
    whole = view(jobs, boards, learned(fast=0.5, slow=1.0), given=given, weights={"ada": 3.0})
    first = next_planned(whole)
    assert 0 < len(first) <= HORIZON + 2 < len(jobs)
    for method in ("prompt", "sjf"):
        gives = decide(replace(whole, waiting=first), METHODS[method])
        assert gives == decide(whole, METHODS[method])
        assert gives


def test_a_tenant_without_a_job_on_a_board_is_a_guest_where_all_are_full() -> None:
    """It waited for the end of another's job, however long that was."""
    boards = [board("f", "fast", guests=1), board("s", "slow", guests=1), board("z", "slow")]
    given = [job(i, state="running", board=name) for i, name in enumerate("fsz" * 2, 100)]
    waiting = [
        job(1),
        *(replace(job(i), tenant=name) for i, name in ((2, "grace"), (3, "grace"), (4, "edsger"), (5, "alan"))),
    ]
    now = view(waiting, boards, learned(fast=0.1, slow=1.0), given=given, weights={"edsger": 9.0})
    gives = decide(now, METHODS["prompt"])
    assert [(give.job, give.board) for give in gives] == [(4, "f"), (5, "s")], "one of a tenant, one for each board"
    assert gives[0].why["kinds"]["fast"]["p50_s"] == pytest.approx(1.0)
    given += [replace(waiting[3].place_on("f", 0.0, gives[0].why)), replace(waiting[4], state="running", board="s")]
    assert given[-2].is_guest
    assert not decide(replace(now, given=given, waiting=waiting[:3]), METHODS["prompt"]), "no board takes another"
    free = replace(now, given=given[1:3], waiting=waiting)
    assert not any(give.why["policy"] == GUEST for give in decide(free, METHODS["prompt"])), "there is room"
    drained = [replace(each, drained="mending") for each in boards]
    assert decide(replace(now, boards=drained), METHODS["prompt"]) == []


def test_jobs_of_a_full_board_hold_nothing_back_that_another_can_run() -> None:
    """However many of them came first."""
    full, free = replace(board("x"), applications=("a",)), replace(board("y"), applications=("b",))
    jobs = [*(job(i) for i in range(1, 3 * HORIZON)), job(3 * HORIZON, work="b")]
    has = [job(i, state="running", board="x") for i in (10001, 10002)]
    gives = decide(view(jobs, [full, free], given=has), METHODS["prompt"])
    assert [(give.job, give.board) for give in gives] == [(3 * HORIZON, "y")]


def test_boards_that_have_the_same_and_run_the_same_count_as_one() -> None:
    """The least that is missing on any board that can run a job, as a look at every board finds it."""
    chance = random.Random(7)
    shas = [f"s{i}" for i in range(6)]
    sizes = {("ada", sha): chance.randint(1, 100) for sha in shas}
    for _ in range(200):
        boards = [replace(board(f"b{i}"), applications=tuple(chance.choice(("a", "b", "ab")))) for i in range(6)]
        there = {f"b{i}": frozenset(("ada", sha) for sha in chance.sample(shas, 3)) for i in range(5)}
        jobs = [
            replace(job(i), request={"application": chance.choice("ab"), "inputs": {"x": chance.sample(shas, 2)}})
            for i in range(1, 6)
        ]
        jobs = [each for each in jobs if any(one.runs(each) for one in boards)]
        if not jobs:
            continue
        it = instance_of(view(jobs, boards, sizes=sizes, there=there), jobs, boards)
        missing = [
            min(
                sum(sizes["ada", sha] for sha in each.blobs if ("ada", sha) not in there.get(one.name, frozenset()))
                for one in boards
                if one.runs(each)
            )
            for each in jobs
        ]
        assert it.size_bits is not None
        assert it.size_bits.tolist() == [8.0 * bytes_ for bytes_ in missing]


def refused(number: int, *boards: str) -> PoolJob:
    moves = tuple(
        {"from": name, "because": f"{REFUSED}: quota-exceeded", "at_unix_s": 0.0, "done": 0} for name in boards
    )
    return job(number, moves=moves)


@pytest.mark.parametrize("method", ["prompt", "default", "sjf"])
def test_a_job_goes_to_boards_that_have_not_refused_it(method: str) -> None:
    boards, times = [board("f", "fast"), board("s", "slow")], learned(fast=0.1, slow=1.0)

    def given(jobs: list[PoolJob], **more: object) -> dict[int, str]:
        return {give.job: give.board for give in decide(view(jobs, boards, times, **more), METHODS[method])}

    assert given([refused(1, "f")]) == {1: "s"}
    assert given([refused(1, "f", "s")]) == {1: "f"}, "all have: they are asked again"
    full = [job(number, state="running", board="s", token=1) for number in (8, 9)]
    assert given([refused(1, "f"), job(2)], given=full) == {2: "f"}, "it waits, and keeps nothing from others"


def test_estimates_of_a_moment_are_read_while_others_are_learned() -> None:
    found = Estimates()
    done = PoolJob(
        1, "t", {"application": "a", "batch": 1}, 0.0, "succeeded", parts=(JobPart(0, 1, {}, "b", 1, 0.0, 2.0),)
    )
    found.learn(done, {"b": "slow"})
    assert found.seen == {}, "jobs that have ended leave nothing but times"
    now = found.now()
    for _ in now.known:
        found.learn(replace(done, id=2, request={"application": "b", "batch": 1}), {"b": "slow"})
    assert now.item_s("b", "slow")[0] == UNKNOWN_S
    assert found.item_s("b", "slow")[0] == 2.0
