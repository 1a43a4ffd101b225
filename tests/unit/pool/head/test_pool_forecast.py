# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a head expects of jobs: where the line says, as often as it says, and never of what nobody can run."""

from __future__ import annotations

import heapq
import random
from dataclasses import replace

import pytest
from eddy.pool.mirror.estimates import UNKNOWN_S, Estimates
from eddy.pool.placement.forecast import LOOKED_AT, OLDEST_MISSING_S, OLDEST_S, Forecasts, forecast
from eddy.pool.placement.placement import PoolView
from eddy.pool.records.records import RUNNING, JobPart, PoolBoard, PoolJob

NOW = 1000.0


def board(name: str, kind: str = "k", width: int = 1, **more: object) -> PoolBoard:
    return PoolBoard(name, kind, width, 4, ("a",), False, "s", **more)  # type: ignore[arg-type]


def job(number: int, tenant: str = "ada", batch: int = 10, **more: object) -> PoolJob:
    return PoolJob(number, tenant, {"application": "a", "batch": batch}, NOW, **more)  # type: ignore[arg-type]


def learned(times: list[float], kind: str = "k") -> Estimates:
    found = Estimates()
    parts = tuple(JobPart(i, 1, {}, "b", 1, 0.0, seconds) for i, seconds in enumerate(times))
    found.learn(PoolJob(0, "t", {"application": "a", "batch": len(parts)}, 0.0, parts=parts), {"b": kind})
    return found


def view(waiting: list[PoolJob], given: list[PoolJob], boards: list[PoolBoard], estimates: Estimates) -> PoolView:
    return PoolView(waiting, given, boards, estimates, {}, {})


def test_each_waits_for_those_before_it() -> None:
    even = learned([0.5, 0.5, 0.5])
    running = job(1, state=RUNNING, board="b1", started_unix_s=NOW - 2.0)
    found = forecast(view([job(3), job(4, "grace"), job(5)], [running, job(2, board="b1")], [board("b1")], even), NOW)
    assert found[1].start is None
    assert [each.end.mean_s for each in found.values()] == pytest.approx([3.0, 8.0, 13.0, 18.0, 23.0])
    assert [found[n].start.mean_s for n in (2, 3, 4, 5)] == pytest.approx([3.0, 13.0, 8.0, 18.0])  # type: ignore[union-attr]
    order = [(each.place, each.own_place) for _, each in sorted(found.items())]
    assert order == [(None, None), (None, None), (2, 1), (1, 1), (3, 2)], "grace has nothing on boards, so comes first"


def test_what_no_board_can_run_and_what_is_far_behind_is_not_told() -> None:
    other = PoolJob(1, "ada", {"application": "other", "batch": 1}, NOW)
    assert forecast(view([other], [], [board("b1")], Estimates()), NOW) == {}
    assert forecast(view([job(1)], [], [board("b1", drained="x")], Estimates()), NOW) == {}
    unknown = forecast(view([job(1)], [], [board("b1")], Estimates()), NOW)[1]
    assert (unknown.known, unknown.end.mean_s) == (False, 10 * UNKNOWN_S)
    many = forecast(view([job(i) for i in range(1, LOOKED_AT + 9)], [], [board("b1")], Estimates()), NOW)
    assert len(many) == LOOKED_AT


def test_the_faster_kind_is_taken_until_it_is_full() -> None:
    estimates = learned([0.1, 0.1], "fast")
    estimates.known |= learned([0.4, 0.4], "slow").known
    boards = [board("b1", "slow"), board("b2", "fast")]
    found = forecast(view([job(i) for i in range(1, 6)], [], boards, estimates), NOW)
    assert [found[i].end.mean_s for i in range(1, 6)] == pytest.approx([1.0, 2.0, 3.0, 4.0, 4.0])


def test_nine_in_ten_end_before_what_is_said() -> None:
    """Jobs on two boards, each of a time drawn at random, that wait in one line: of what is expected after 40 of them
    were seen, half end before p50 and nine in ten before p90."""
    rng = random.Random(5)
    before: dict[str, list[bool]] = {"start_p50": [], "start_p90": [], "end_p50": [], "end_p90": []}
    for _ in range(300):
        estimates = learned([max(rng.gauss(1.0, 0.3), 0.05) for _ in range(40)])
        waiting = [job(number, batch=1) for number in range(1, 11)]
        found = forecast(view(waiting, [], [board("b1"), board("b2")], estimates), NOW)
        free = [0.0, 0.0]
        for each in waiting:
            start = heapq.heappop(free)
            end = start + max(rng.gauss(1.0, 0.3), 0.05)
            heapq.heappush(free, end)
            told = found[each.id].shown(0.0, everyone=False)
            if each.id > 2:
                before["start_p50"].append(start <= (told.start_p50_s or 0.0))
                before["start_p90"].append(start <= (told.start_p90_s or 0.0))
            before["end_p50"].append(end <= told.end_p50_s)
            before["end_p90"].append(end <= told.end_p90_s)
    shares = {name: sum(found) / len(found) for name, found in before.items()}
    assert all(0.4 <= shares[name] <= 0.7 for name in ("start_p50", "end_p50")), shares
    assert all(0.85 <= shares[name] <= 0.99 for name in ("start_p90", "end_p90")), shares


def test_a_forecast_is_kept_for_a_second() -> None:
    clock, asked = [0.0], []
    waiting = [job(1)]

    def now() -> PoolView:
        asked.append(clock[0])
        return view([*waiting], [], [board("b1")], learned([0.5, 0.5]))

    forecasts = Forecasts(now, lambda: NOW + 3.0, lambda: clock[0])
    told = forecasts.expect_job(job(1), everyone=True)
    assert told is not None
    assert (told.at_s, told.position, told.start_p50_s, told.end_p50_s) == (3.0, 1, 3.0, 8.0)
    waiting.append(job(2))
    assert forecasts.expect_job(job(2), everyone=True) is None
    clock[0] += 1.5 * OLDEST_MISSING_S
    assert forecasts.expect_job(job(2), everyone=True) is not None
    assert len(asked) == 2
    clock[0] += 0.9 * OLDEST_S
    assert forecasts.expect_job(job(1), everyone=True) is not None
    assert len(asked) == 2
    assert forecasts.expect_job(replace(job(1), state="succeeded"), everyone=True) is None
    trial, takes_s = forecasts.trial(job(9, batch=4), everyone=False)
    assert trial is not None
    assert (trial.start_p50_s, takes_s, trial.position) == (10.0, 2.0, 3)
    assert forecasts.trial(PoolJob(9, "ada", {"application": "other"}, NOW), everyone=False) == (None, 0.0)
