# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Boards that name a job and commit nothing: when they are believed no longer, and that honest slow ones always are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from eddy.pool.mirror.board_drops import MAX_S, NOT_COMMITTED, SILENT_S, BoardDrops
from eddy.pool.mirror.estimates import Estimates, ItemTimes
from eddy.pool.placement.placement import PoolView
from eddy.pool.placement.stall_timeout import MAX_OWN, MIN_S, TIMES, StallTimeout
from eddy.pool.records.records import RUNNING, JobPart, PoolBoard, PoolJob

ITEM_S = 10.0
"""Of work "a" on boards of kind "k", without any spread."""


def board(name: str, kind: str = "k", width: int = 1, **more: Any) -> PoolBoard:
    return PoolBoard(name, kind, width, 4, ("a", "new"), True, "s", **more)


def job(number: int = 1, on: str = "b1", state: str = RUNNING, work: str = "a", **more: Any) -> PoolJob:
    asked = {"application": work, "batch": 64, "inputs": {"x": ["sha"]}}
    return PoolJob(number, "ada", asked, 0.0, state, on, token=1, **more)


@dataclass
class Rig:
    """A head's patience with boards that name all they have."""

    boards: Sequence[PoolBoard] = (board("b1"), board("b2"))
    patience: StallTimeout = field(default_factory=StallTimeout)
    heard_s: float = 0.0

    def ended(self, *jobs: PoolJob, after_s: float) -> list[tuple[PoolJob, str]]:
        """What is taken back after so long; seconds go one by one, as a head sees them."""
        has = {each.name: tuple(job.id for job in jobs if job.board == each.name) for each in self.boards}
        boards = [replace(each, running=has[each.name]) for each in self.boards]
        boards = [replace(each, load=each.load + len(each.running)) for each in boards]
        estimates = Estimates({("a", "k"): ItemTimes(9, ITEM_S, 0.0)})
        view = PoolView((), list(jobs), boards, estimates, {("ada", "sha"): 125_000}, {})
        until_s, found = self.heard_s + after_s, self.patience.jobs_to_recall(view, self.heard_s)
        while self.heard_s < until_s and not found:
            self.heard_s += 1.0
            found = self.patience.jobs_to_recall(view, self.heard_s)
        return found

    def allowed(self, *jobs: PoolJob, allowed_s: float) -> None:
        """See that exactly so long is allowed."""
        assert self.ended(*jobs, after_s=allowed_s) == []
        ((found, why),) = self.ended(*jobs, after_s=1.0)
        assert found == jobs[0]
        assert why.startswith(NOT_COMMITTED)


def part(first: int, items: int, token: int = 1) -> JobPart:
    return JobPart(first, items, {}, "b1", token, 0.0, 1.0)


def test_the_first_item_may_take_eight_times_what_it_should_and_five_minutes() -> None:
    Rig().allowed(job(), allowed_s=MIN_S + TIMES * ITEM_S)


def test_a_later_part_may_take_as_long_as_twice_the_items_of_the_one_before() -> None:
    Rig().allowed(job(parts=(part(0, 1), part(1, 8))), allowed_s=MIN_S + TIMES * 16 * ITEM_S)
    Rig().allowed(job(parts=(part(0, 60),)), allowed_s=MIN_S + TIMES * 4 * ITEM_S)
    Rig().allowed(job(parts=(part(0, 16, token=0),)), allowed_s=MIN_S + TIMES * ITEM_S)


def test_each_commit_begins_the_time_again_and_a_slow_board_is_measured_by_itself() -> None:
    rig, slow_s = Rig(), 370.0
    assert rig.ended(job(), after_s=slow_s) == []
    parts: tuple[JobPart, ...] = ()
    for items in (1, 1, 1, 1):
        parts += (part(len(parts), items),)
        assert rig.ended(job(parts=parts), after_s=5 * slow_s) == [], "185 times slower than its kind, and believed"
    rig.allowed(job(parts=parts), allowed_s=MIN_S + TIMES * 2 * 5 * slow_s - 5 * slow_s)


def test_what_is_not_known_is_waited_for() -> None:
    kernel = replace(job(), request={"kernel": {"kernel": "a"}})
    assert Rig().ended(kernel, after_s=1e5) == []
    assert Rig().ended(job(work="new"), after_s=1e5) == []
    Rig((board("b1", "other"), board("b2"))).allowed(job(), allowed_s=MIN_S + TIMES * 2 * ITEM_S)


def test_a_board_that_nobody_could_replace_keeps_its_job() -> None:
    for others in ((), (board("b2", drained="mending"),), (replace(board("b2"), applications=("other",)),)):
        assert Rig((board("b1"), *others)).ended(job(), after_s=1e4) == []


def test_jobs_of_its_own_slow_a_board_and_a_number_that_makes_no_sense_does_not_stop_its_time() -> None:
    most_s = MIN_S + TIMES * ITEM_S
    Rig((board("b1", load=3), board("b2"))).allowed(job(), allowed_s=4 * most_s)
    Rig((board("b1", load=10**15), board("b2"))).allowed(job(), allowed_s=(1 + MAX_OWN) * most_s)
    assert Rig((board("b1", width=2), board("b2"))).ended(job(1), job(2), after_s=most_s) == []
    assert len(Rig((board("b1", width=2), board("b2"))).ended(job(1), job(2), after_s=most_s + 1)) == 2
    assert Rig().ended(job(1), job(2), after_s=2 * most_s) == [], "two on one place have half of it each"


def test_time_in_which_no_lease_would_be_heard_counts_for_nobody() -> None:
    rig = Rig()
    assert rig.ended(job(), after_s=100.0) == []
    for _ in range(1000):
        assert rig.ended(job(), after_s=0.0) == []
    rig.allowed(job(), allowed_s=MIN_S + TIMES * ITEM_S - 100.0)


def test_a_new_placement_has_its_own_time_and_twice_as_much_each_time() -> None:
    rig = Rig()
    it, most_s = job(), MIN_S + TIMES * ITEM_S
    for tries in range(4):
        rig.allowed(it, allowed_s=most_s * 2**tries)
        it = it.recall(f"{NOT_COMMITTED} in 381 s", 0.0).place_on("b1", 0.0, {}).start(it.token + 2, 0.0)


def test_a_job_that_is_never_taken_up_is_missed_too_unless_the_board_has_no_place_for_it() -> None:
    placed = job(state="placed")
    Rig().allowed(placed, allowed_s=MIN_S + TIMES * 1.0)
    kernel = replace(job(2), request={"kernel": {"kernel": "a"}})
    assert Rig().ended(placed, kernel, after_s=1e4) == [], "it waits behind what runs"
    Rig((board("b1", width=2), board("b2"))).allowed(placed, kernel, allowed_s=MIN_S + TIMES * 1.0)


def test_one_that_does_not_name_the_job_or_is_away_is_another_matter() -> None:
    patience, view = StallTimeout(), PoolView((), [job()], [board("b1"), board("b2")], Estimates(), {}, {})
    assert [
        patience.jobs_to_recall(replace(view, boards=each), t) for t in (0.0, 1e6) for each in (view.boards, [])
    ] == [[]] * 4


def test_such_a_board_is_held_back_at_once_whatever_else_it_commits() -> None:
    now = [0.0]
    drops, it = BoardDrops(lambda: now[0]), job()
    for times in range(6):
        it = it.recall(f"{NOT_COMMITTED} in 400 s", 0.0)
        drops.learn(it)
        drops.learn(replace(job(2), parts=tuple(part(first, 1) for first in range(times + 1))))
        assert drops.hold_back_s("b1") == min(SILENT_S * 2**times, MAX_S)
        assert drops.hold_back_s("b2") == 0
        now[0] += MAX_S
        assert drops.hold_back_s("b1") == 0
        it = it.place_on("b1", 0.0, {})
    now[0] += 3600.0
    drops.learn(it.recall(f"{NOT_COMMITTED} in 400 s", 0.0))
    assert drops.hold_back_s("b1") == SILENT_S, "an hour without is forgiven"


def test_a_board_that_says_a_smaller_width_later_keeps_nothing_for_longer() -> None:
    """What it was given at a width of 40 would wait for places that it says it has no more."""
    jobs = [job(number, state="placed") for number in range(1, 41)]
    rig = Rig()
    assert rig.ended(*[replace(each, state=RUNNING) if each.id == 1 else each for each in jobs], after_s=MIN_S) == []
    found = rig.ended(*[replace(each, state=RUNNING) if each.id == 1 else each for each in jobs], after_s=60.0)
    assert {each.id for each, _ in found} == set(range(2, 41))
    running = [replace(each, state=RUNNING) for each in jobs]
    assert len(Rig().ended(*running, after_s=MIN_S + 2 * TIMES * ITEM_S)) == 40
