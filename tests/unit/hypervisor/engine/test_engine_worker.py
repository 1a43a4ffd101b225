# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The longest wait for the board follows the board's time alone; steps give way to those who submit."""

from __future__ import annotations

import time

import pytest
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.engine.engine_worker import (
    FIRST_S,
    LONG_S,
    MAX_QUANTUM_S,
    MAX_STEP_S,
    MIN_QUANTUM_S,
    WANTED_S,
    CpuThrottle,
    EngineWorker,
    Quantum,
)
from eddy.hypervisor.engine.job_subscriptions import JobSubscriptions
from eddy.policy.dispatch.fcfs import FirstComeFirstServed
from eddy.policy.dispatch.views.view import Dispatch, DispatchView
from eddy.store import Store
from hypervisor_kit import CHAIN, MODULES, model_board, request


@pytest.mark.parametrize("rate", [1e-4, 1.0, 500.0])
def test_a_wait_comes_to_take_the_wall_time_that_is_wanted(rate: float) -> None:
    quantum = Quantum()
    for _ in range(60):
        quantum.adapt(quantum.at_s, quantum.at_s / rate)
    assert LONG_S / 2.1 <= quantum.at_s / rate <= LONG_S


def test_waits_that_end_early_with_an_event_make_up_for_one_that_was_held_up() -> None:
    quantum = Quantum()
    for _ in range(40):
        quantum.adapt(quantum.at_s, quantum.at_s)
    before_s = quantum.at_s
    for _ in range(5):
        quantum.adapt(1e-3, 2 * LONG_S)
    assert quantum.at_s < before_s / 16
    for _ in range(20):
        quantum.adapt(1e-3, 1e-3)
    assert quantum.at_s == pytest.approx(WANTED_S)


def test_it_stays_within_bounds_and_learns_nothing_where_nobody_waited() -> None:
    quantum = Quantum()
    quantum.adapt(0.0, 10.0)
    assert quantum.at_s == FIRST_S
    for _ in range(100):
        quantum.adapt(1e-9, 2 * LONG_S)
    assert quantum.at_s == MIN_QUANTUM_S
    for _ in range(100):
        quantum.adapt(quantum.at_s, 0.0)
    assert quantum.at_s == MAX_QUANTUM_S


class Slow(FirstComeFirstServed):
    """Takes its time, as any policy does on a processor that has other things to do."""

    def decide(self, view: DispatchView) -> Dispatch:
        """As its parent, later."""
        time.sleep(1.2 * LONG_S)
        return super().decide(view)


def test_decisions_that_take_long_are_no_reason_to_wait_for_less_of_the_boards_time() -> None:
    store = Store(":memory:")
    try:
        engine = Engine(model_board(), Slow(), store, {CHAIN.name: CHAIN}, MODULES)
        worker = EngineWorker(engine, store, JobSubscriptions(), lambda: False)
        engine.start()
        engine.intake.accept(request(store, batch=2))
        for _ in range(12):
            worker._step()
        assert worker._quantum.at_s > FIRST_S
    finally:
        store.close()


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
