# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Slices of board time: as long as a wait may have them, and short while nobody waits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from eddy.board.remote.boardd_calls import Calls, Wait


class Instant:
    """A board on which time costs nothing; something is at work for 5 ms from `busy_from_s` on."""

    def __init__(self, free_running: bool = False) -> None:
        self.clock = SimpleNamespace(free_running=free_running)
        self.busy_from_s = self.passed_s = 0.0

    @property
    def busy(self) -> bool:
        return self.passed_s < self.busy_from_s + 5e-3

    def now_s(self) -> float:
        return self.passed_s

    def wait(self, until_s: float, acknowledge: int = -1) -> list[Any]:
        self.passed_s = max(self.passed_s, until_s)
        return []

    def advance(self, until_s: float) -> None:
        self.passed_s = until_s


@pytest.mark.parametrize("free_running", [False, True])
def test_time_nobody_waits_for_ends_soon_after_what_was_at_work(free_running: bool) -> None:
    board = Instant(free_running)
    made: Any = Calls(board, SimpleNamespace())  # type: ignore[arg-type]
    while made.advance_wait(Wait(20_000.0, -1, float("inf"))) is None:
        pass
    assert board.passed_s == 20_000.0
    board.busy_from_s = board.passed_s
    while board.busy:
        made.pass_time()
    assert board.passed_s < 20_000.2
