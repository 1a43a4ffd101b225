# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""When jobs that boards have are planned again, and which are moved: none without gain, none twice in an interval."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from unittest.mock import MagicMock

import pytest
from eddy.core.errors import Conflict
from eddy.policy.place import METHODS
from eddy.pool.jetstream.lease import LeaderLease
from eddy.pool.mirror.estimates import REMEMBERED, Estimates, ItemTimes
from eddy.pool.mirror.mirror import Mirror
from eddy.pool.mirror.open_jobs import OpenJobs
from eddy.pool.placement.leader import Leader
from eddy.pool.placement.placement import PoolView, remaining_s
from eddy.pool.placement.rebalance import PAYS
from eddy.pool.placement.replanning import GAIN_S, ReplanSettings, ReplanState, _off, profitable_moves, replace_moves
from eddy.pool.records.records import AHEAD, JobFenced, JobPart, PoolBoard, PoolJob
from hypothesis import given, settings
from hypothesis import strategies as st

NOW, INTERVAL_S = 1000.0, 10.0
WORKS, KINDS = ("a", "b"), ("slow", "fast")


def job(number: int, board: str = "", state: str = "", work: str = "a", batch: int = 10, **more: object) -> PoolJob:
    asked = {"application": work, "batch": batch, "inputs": {"x": [f"s{number}"]}}
    started = NOW if state == "running" else None
    given = {"started_unix_s": started, "token": 1, **more}
    return PoolJob(number, "ada", asked, 900.0, state or ("placed" if board else "queued"), board, **given)  # type: ignore[arg-type]


def board(name: str, kind: str = "slow", width: int = 1, drained: str = "", session: str = "s") -> PoolBoard:
    return PoolBoard(name, kind, width, 4, WORKS, False, session, drained=drained)


def times(**item_s: float) -> Estimates:
    return Estimates({("a", kind): ItemTimes(3, seconds, 0.0) for kind, seconds in item_s.items()})


def view(given: list[PoolJob], boards: list[PoolBoard], waiting: tuple[PoolJob, ...] = (), **item_s: float) -> PoolView:
    return PoolView(list(waiting), given, boards, times(**(item_s or {"slow": 1.0})), {}, {})


def moved(it: PoolView) -> list[tuple[int, str]]:
    return [(each.job.id, each.board) for each in profitable_moves(it, NOW, INTERVAL_S)]


def test_what_waits_moves_to_a_board_that_has_joined_and_what_runs_stays() -> None:
    on_x = [job(1, "x", "running"), job(2, "x")]
    assert moved(view(on_x, [board("x")])) == []
    assert moved(view(on_x, [board("x"), board("y")])) == [(2, "y")]
    assert moved(view(on_x, [board("x"), board("y", drained="mending")])) == []
    assert moved(view(on_x, [board("x"), board("y")], (job(3),))) == [], "3 takes the place, and 2 ends no sooner"


def test_a_work_that_no_board_runs_takes_no_place() -> None:
    on_x = [job(1, "x", "running"), job(2, "x")]
    assert moved(view(on_x, [board("x"), board("y")], tuple(job(i, work="c") for i in range(3, 9)))) == [(2, "y")]


def test_a_board_gets_no_more_than_it_has_room_for() -> None:
    on = [each for i in range(4) for each in (job(2 * i + 1, f"x{i}", "running"), job(2 * i + 2, f"x{i}"))]
    boards = [board(f"x{i}") for i in range(4)]
    assert moved(view(on, [*boards, board("f", "fast")], slow=1.0, fast=0.1)) == [(8, "f"), (6, "f")]


def test_of_a_queue_the_last_moves() -> None:
    on_x = [job(1, "x", "running"), job(2, "x"), job(3, "x")]
    assert moved(view(on_x, [board("x"), board("y")])) == [(3, "y")]


def test_what_runs_moves_to_a_faster_board_after_the_cost_of_it() -> None:
    on_x, boards = [job(1, "x", "running")], [board("x"), board("f", "fast")]
    assert moved(view(on_x, boards, slow=1.0, fast=0.5)) == [(1, "f")]
    assert moved(view(on_x, boards, slow=1.0, fast=0.85)) == []
    sent = replace(view(on_x, boards, slow=1.0, fast=0.5), sizes={("ada", "s1"): 1 << 29})
    assert moved(sent) == [], "its inputs take 4 s"
    assert moved(replace(sent, there={"f": frozenset({("ada", "s1")})})) == [(1, "f")]
    begun = [replace(on_x[0], started_unix_s=NOW - 6)]
    assert moved(view(begun, boards, slow=1.0, fast=0.5)) == [], "6 s of its 10 would be done again"
    busy = [*on_x, job(2, "f", "running", batch=1)]
    assert moved(view(busy, boards, slow=1.0, fast=0.1)) == [], "what runs moves only to where it begins at once"


def test_a_small_gain_moves_nothing() -> None:
    on_x = [job(1, "x", "running", batch=1), job(2, "x", batch=1)]
    assert moved(view(on_x, [board("x"), board("y")], slow=GAIN_S)) == []
    assert moved(view(on_x, [board("x"), board("y")], slow=1.01 * GAIN_S)) == [(2, "y")]


def test_a_job_stays_for_an_interval_after_a_move() -> None:
    for ago_s, wanted in ((9.9, []), (10.0, [(2, "y")]), (-3600.0, [(2, "y")])):
        move = {"from": "z", "because": "", "at_unix_s": NOW - ago_s, "done": 0}
        on_x = [job(1, "x", "running"), job(2, "x", moves=(move,))]
        assert moved(view(on_x, [board("x"), board("y")])) == wanted, ago_s


def test_a_move_takes_the_job_back_once_and_says_why() -> None:
    (move,) = profitable_moves(view([job(1, "x", "running"), job(2, "x")], [board("x"), board("y")]), NOW, INTERVAL_S)
    back = move.recalled_job("y joined")
    now = back.applied(move.job, NOW)
    assert (now.state, now.board, now.token) == ("queued", "", 2)
    assert now.moves[-1]["because"] == "y joined; y would end it 10 s sooner"
    with pytest.raises(Conflict):
        back.applied(now, NOW)
    with pytest.raises(JobFenced):
        back.applied(move.job.start(1, NOW), NOW)
    with pytest.raises(JobFenced):
        now.commit_part(JobPart(0, 1, {}, "x", 1, NOW, NOW))


class Clock:
    s = 0.0

    def __call__(self) -> float:
        return self.s


def test_causes_and_the_interval_between_two() -> None:
    clock, on_x, known = Clock(), [job(1, "x")], times(slow=1.0)
    replans = ReplanState(ReplanSettings(2.0, INTERVAL_S), clock)

    def cause(*boards: PoolBoard) -> str:
        clock.s += 1.0
        said = replans.cause(boards, on_x, known)
        assert replans.cause(boards, on_x, known) == said, "it stays until it is done"
        if said:
            replans.mark_replanned()
        return said

    x, y = board("x"), board("y")
    assert cause(x) == "another head leads"
    assert [cause(x, y) for _ in range(9)] == [""] * 9, "kept for later"
    assert cause(x, y) == "y joined"
    clock.s += INTERVAL_S
    assert cause(x, y) == ""
    assert [cause(x, replace(y, drained="mending")), cause(x, y)] == ["", "y joined"]
    clock.s += INTERVAL_S
    assert [cause(x), cause(x, y)] == ["", "y joined"], "it was away"
    clock.s += INTERVAL_S
    assert cause(x, board("y", session="t")) == "y joined", "it was started again"
    clock.s += INTERVAL_S
    assert cause(x, board("y", session="t"), *[board(f"z{i}") for i in range(4)]) == "4 boards joined"
    assert replans.made == 6


def test_a_cause_names_no_tenants_kernel() -> None:
    """It is told to all whose jobs are moved for it."""
    said = _off({("kernel:eve/secret", "slow"): 1.0}, {("kernel:eve/secret", "slow"): 7.25}, 2.0)
    assert said == "times of a kernel on slow have changed"


@pytest.mark.parametrize(("item_s", "is_cause"), [(0.51, False), (0.5, True), (1.99, False), (2.0, True)])
def test_times_that_leave_what_was_planned_with_are_a_cause_once(item_s: float, is_cause: bool) -> None:
    clock = Clock()
    replans = ReplanState(ReplanSettings(2.0, INTERVAL_S), clock)
    assert replans.cause([board("x")], [job(1, "x")], times(slow=1.0))
    replans.mark_replanned()
    clock.s += INTERVAL_S
    said = replans.cause([board("x")], [job(1, "x")], times(slow=item_s))
    assert said == (f"an item of a takes {item_s:.3g} s on slow, planned with 1 s" if is_cause else "")
    if said:
        replans.mark_replanned()
    clock.s += INTERVAL_S
    assert replans.cause([board("x")], [job(1, "x")], times(slow=item_s)) == ""


def test_times_that_change_after_a_long_while_are_a_cause_soon() -> None:
    clock, known = Clock(), Estimates({("a", "slow"): ItemTimes()})
    spread = known.known["a", "slow"]
    for _ in range(10_000):
        spread.add(1.0)
    replans = ReplanState(ReplanSettings(2.0, INTERVAL_S), clock)
    assert replans.cause([board("x")], [job(1, "x")], known)
    replans.mark_replanned()
    clock.s += INTERVAL_S
    parts = 0
    while not replans.cause([board("x")], [job(1, "x")], known):
        spread.add(3.0)
        parts += 1
    assert REMEMBERED / 2 < parts < REMEMBERED, "half of what is remembered says 3 s"


def test_what_is_remembered_has_the_mean_and_deviation_of_the_last() -> None:
    spread, draws = ItemTimes(), random.Random(7)
    for _ in range(5000):
        spread.add(draws.gauss(9.0, 4.0))
    for _ in range(5000):
        spread.add(draws.gauss(3.0, 0.5))
    assert spread.mean_s == pytest.approx(3.0, abs=4 * 0.5 / REMEMBERED**0.5)
    assert spread.deviation_s == pytest.approx(0.5, rel=0.4)


def test_a_board_that_joins_an_empty_pool_is_no_cause() -> None:
    clock = Clock()
    replans = ReplanState(ReplanSettings(), clock)
    assert replans.cause([board("x")], [], Estimates()) == ""
    assert replans.cause([board("x"), board("y")], [job(1)], Estimates()) == "", "nothing is on a board"
    assert replans.cause([board("x"), board("y")], [job(1, "x")], Estimates()) == ""
    assert replans.made == 0


@st.composite
def pools(draw: st.DrawFn) -> PoolView:
    """Boards of two kinds, some drained, some that run one work only; jobs that run and wait there, or at the head."""
    boards = []
    for i in range(draw(st.integers(1, 5))):
        made = board(
            f"b{i}", draw(st.sampled_from(KINDS)), draw(st.integers(1, 3)), draw(st.sampled_from(("", "", "x")))
        )
        boards.append(replace(made, applications=draw(st.sampled_from((WORKS, ("a",), ("b",))))))
    number, on_boards, waiting = 0, [], []
    for each in boards:
        for turn in range(draw(st.integers(0, each.width + AHEAD))):
            number += 1
            state = "running" if turn < each.width and draw(st.booleans()) else "placed"
            at_s = draw(st.none() | st.floats(NOW - 20, NOW))
            moves = () if at_s is None else ({"from": "z", "because": "", "at_unix_s": at_s, "done": 0},)
            work = draw(st.sampled_from(each.applications))
            on_boards.append(job(number, each.name, state, work, draw(st.integers(1, 30)), moves=moves))
    for _ in range(draw(st.integers(0, 3))):
        number += 1
        waiting.append(job(number, work=draw(st.sampled_from(WORKS))))
    seconds = st.floats(0.01, 10.0)
    known = {(work, kind): ItemTimes(3, draw(seconds), 0.0) for work in WORKS for kind in KINDS}
    sizes = {("ada", f"s{i}"): draw(st.integers(0, 1 << 30)) for i in range(1, number + 1)}
    return PoolView(waiting, on_boards, boards, Estimates(known), sizes, {})


@settings(deadline=None)
@given(pools())
def test_no_move_without_gain_and_none_to_where_a_job_may_not_go(it: PoolView) -> None:
    boards = {each.name: each for each in it.boards}
    found = profitable_moves(it, NOW, INTERVAL_S)
    assert len({move.job.id for move in found}) == len(found), "a job moves once"
    gets: dict[str, int] = {}
    for move in found:
        to = boards[move.board]
        assert to.runs(move.job)
        assert not to.drained
        assert to.name != move.job.board
        assert move.there_s <= PAYS * move.here_s
        assert move.here_s - move.there_s > GAIN_S
        assert move.there_s >= remaining_s(move.job, to, it.estimates), "all that is not committed is done again"
        assert all(NOW - each["at_unix_s"] >= INTERVAL_S for each in move.job.moves)
        gets[to.name] = gets.get(to.name, 0) + 1
        has = sum(each.board == to.name for each in it.given)
        assert has + gets[to.name] <= to.width + AHEAD


@settings(deadline=None)
@given(pools())
def test_what_was_moved_is_not_moved_again_within_the_interval(it: PoolView) -> None:
    """Each job goes where it was to go; the pool is looked at again, with all that was learned the same."""
    found = {move.job.id: move for move in profitable_moves(it, NOW, INTERVAL_S)}

    def after(each: PoolJob) -> PoolJob:
        move = found.get(each.id)
        return each if move is None else move.recalled_job("").applied(each, NOW).place_on(move.board, 0.0, {})

    again = profitable_moves(replace(it, given=[after(each) for each in it.given]), NOW + 1, INTERVAL_S)
    assert not {move.job.id for move in again} & found.keys()


@settings(deadline=None)
@given(st.integers(2, 5), st.integers(1, 3), st.integers(1, 4), st.integers(1, 30), st.floats(0.01, 10.0))
def test_nothing_moves_between_equal_boards(boards: int, width: int, jobs: int, batch: int, item_s: float) -> None:
    on = [
        job(i * jobs + turn + 1, f"b{i}", "running" if turn < width else "placed", batch=batch)
        for i in range(boards)
        for turn in range(jobs)
    ]
    assert moved(view(on, [board(f"b{i}", width=width) for i in range(boards)], slow=item_s)) == []


@pytest.mark.parametrize("policy", ["prompt", "default", "ljf"])
@settings(deadline=None)
@given(it=pools())
def test_what_is_moved_goes_where_it_was_to_go_whatever_the_policy(policy: str, it: PoolView) -> None:
    moves = profitable_moves(it, NOW, INTERVAL_S)
    gives = replace_moves(it, moves, METHODS[policy])
    assert sorted((give.job, give.board) for give in gives) == sorted((move.job.id, move.board) for move in moves)
    boards = len({give.board for give in gives})
    assert all(give.bps <= it.egress_bps / boards * (1 + 1e-9) for give in gives)
    assert all(give.why["policy"] and give.why["kinds"] for give in gives)


class Records:
    """Records of jobs in memory, changed as the pool's are."""

    def __init__(self, jobs: list[PoolJob]) -> None:
        self.jobs = {each.id: each for each in jobs}

    def now(self) -> float:
        return NOW

    async def change(self, number: int, how: Callable[[PoolJob], PoolJob]) -> PoolJob:
        self.jobs[number] = how(self.jobs[number])
        return self.jobs[number]


def test_the_head_moves_what_is_as_it_was_decided_on_and_tells_the_board(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two that wait on full boards, one begins while it is decided; that one stays."""
    jobs = [job(1, "x", "running"), job(2, "x"), job(3, "z", "running"), job(4, "z")]
    records, told = Records(jobs), []
    lead = Leader(MagicMock(), "head", replan=ReplanSettings(2.0, INTERVAL_S))

    async def tell(placed: PoolJob) -> None:
        told.append((placed.id, placed.board, placed.token))

    async def measure(_: object) -> None:
        records.jobs[4] = records.jobs[4].start(1, NOW)

    for name, what in (("_table", records), ("_tell", tell), ("_measure", measure)):
        monkeypatch.setattr(lead, name, what)
    monkeypatch.setattr(LeaderLease, "is_leader", True)
    monkeypatch.setattr(Mirror, "alive", lambda mirror, name: name in mirror.boards)
    lead.mirror.jobs = OpenJobs(jobs)
    lead.mirror.boards = {name: board(name, width=1) for name in "xz"} | {"y": board("y", width=2)}
    lead.mirror.estimates = times(slow=1.0)
    asyncio.run(lead._replan())
    after = dict(records.jobs)
    assert {number: each.board for number, each in after.items()} == {1: "x", 2: "y", 3: "z", 4: "z"}
    assert (after[2].state, after[2].token) == ("placed", 3)
    assert after[2].moves[-1]["because"] == "another head leads; y would end it 10 s sooner"
    assert told == [(2, "y", 3)]
    assert (lead.replans.made, lead.replans.moved) == (1, 1)
    asyncio.run(lead._replan())
    assert (after, lead.replans.made) == (records.jobs, 1), "there is no cause any more"
