# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which board floods a pool, from what heads hear of it."""

from __future__ import annotations

from eddy.cli.pools.pool import _state
from eddy.pool.mirror.flood_guard import LEASES, NAMED_S, REQUESTS, WINDOW_S, FloodGuard

MOST = 100


class Time:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_board_that_renews_as_it_should_is_never_named_nor_one_whose_renewals_come_late_at_once() -> None:
    time = Time()
    floods = FloodGuard(time)
    for second in range(600):
        time.now_s = float(second)
        assert not floods.count_and_check("b1", LEASES)
        assert not floods.describe_flood("b1")
    assert not any(floods.count_and_check("b2", LEASES) for _ in range(MOST // 2))
    assert floods.came == {("b1", LEASES): 600, ("b2", LEASES): MOST // 2}


def test_one_that_floods_is_named_for_a_time_with_what_and_no_other_is() -> None:
    time = Time()
    floods = FloodGuard(time)
    for number in range(20 * MOST):
        time.now_s = number / 200
        assert floods.count_and_check("b1", LEASES) == (number % (200 * WINDOW_S) >= MOST)
        floods.count_and_check("b2", REQUESTS) if number % 100 == 0 else None
    assert floods.describe_flood("b1") == "200 leases a second"
    assert not floods.describe_flood("b2")
    for _ in range(50 * MOST):
        assert not floods.count_and_check("b1", REQUESTS)
    assert floods.describe_flood("b1") == "200 leases a second"
    assert floods.count_and_check("b1", REQUESTS)
    assert floods.describe_flood("b1") == f"200 leases a second and {50 * MOST + 1} requests a second"
    time.now_s += NAMED_S
    assert not floods.describe_flood("b1")


def test_an_operator_is_told_what_to_do_whether_the_board_is_there_or_not() -> None:
    board = {"name": "b1", "drained": "", "held_back_s": 3.0, "floods": "200 leases a second"}
    for present in (True, False):
        assert _state({**board, "present": present}) == (
            "floods the pool with 200 leases a second: `eddy pool revoke b1` ends that"
        )
    assert _state({**board, "present": True, "floods": ""}).startswith("held back for 3 s")
