# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Steps give way: over any stretch in which somebody waits they take their share of a processor, and no more."""

from __future__ import annotations

import pytest
from eddy.hypervisor.engine.engine_worker import MAX_STEP_S, CpuThrottle


class Clock:
    """Wall time that a test moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize("late_s", [0.0, 0.004])
def test_steps_take_their_share_whatever_each_takes_and_however_late_they_wake(late_s: float) -> None:
    clock = Clock()
    giving_way = CpuThrottle(0.25, clock)
    spent_s = 0.0
    for number in range(4000):
        took_s = 0.0005 * (1 + number % 7)
        clock.now_s += took_s
        spent_s += took_s
        pause_s = giving_way.throttle_s(took_s)
        clock.now_s += pause_s + (late_s if pause_s else 0.0)
    assert spent_s / clock.now_s == pytest.approx(0.25, abs=0.01)


def test_what_is_saved_up_while_nobody_waits_is_soon_spent() -> None:
    clock = Clock()
    giving_way = CpuThrottle(0.5, clock)
    clock.now_s = 1000.0
    assert giving_way.throttle_s(MAX_STEP_S) == 0.0
    assert giving_way.throttle_s(0.01) == pytest.approx(0.02)
