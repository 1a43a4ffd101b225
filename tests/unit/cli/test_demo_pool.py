# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The parts of `eddy demo --pool` that need no pool: its jobs, what is checked of them, the picture."""

from __future__ import annotations

from pathlib import Path

from eddy.cli.demo.demo_pool import BOARDS, VICTIM, PoolReport, _job, orders
from eddy.cli.pools.pool_picture import Mark, draw, lanes

PARTS = [
    {"job": 1, "tenant": "ada", "board": "rtl-1", "first": 0, "items": 2, "start_s": 0.0, "end_s": 1.0},
    {"job": 2, "tenant": "grace", "board": "rtl-1", "first": 0, "items": 1, "start_s": 0.5, "end_s": 2.0},
    {"job": 1, "tenant": "ada", "board": "rtl-1", "first": 2, "items": 1, "start_s": 1.0, "end_s": 3.0},
]


def test_three_tenants_submit_jobs_and_a_board_that_is_there_is_killed() -> None:
    assert {order.tenant for order in orders()} == {"ada", "grace", "edsger"}
    assert VICTIM in BOARDS
    assert sorted(BOARDS.values()) == ["model", "model", "rtl"]


def test_parts_that_overlap_have_lanes_of_their_own_and_a_job_keeps_its_lane() -> None:
    assert lanes(PARTS) == [0, 1, 0]


def test_an_item_that_counted_twice_or_never_is_seen() -> None:
    order = orders()[2]
    assert order.batch == 4

    def once(*ranges: tuple[int, int]) -> bool:
        parts = [{"board": "b", "first": first, "items": items} for first, items in ranges]
        entry = {"id": 1, "parts": parts, "moves": [], "state": "succeeded"}
        return bool(_job(entry, order, True)["once"])

    assert once((0, 1), (1, 3))
    assert not once((0, 2), (1, 3))
    assert not once((0, 1), (2, 2))
    assert not once((0, 3))


def test_one_wrong_result_makes_the_report_wrong(tmp_path: Path) -> None:
    good = {"verified": True, "once": True}
    for other in ({"verified": False, "once": True}, {"verified": True, "once": False}):
        assert not PoolReport([good, other], [], {}, 1.0, tmp_path).verified
    assert PoolReport([good], [], {}, 1.0, tmp_path).verified


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    draw(PARTS, ["rtl-1", "model-1"], [Mark("model-1", 1.5, "killed")], tmp_path / "out" / "pool.png")
    assert (tmp_path / "out" / "pool.png").stat().st_size > 5000
