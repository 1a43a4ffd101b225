# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The longest wait for the board follows the board's time alone."""

from __future__ import annotations

import time

import pytest
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.engine.engine_worker import (
    FIRST_S,
    LONG_S,
    MAX_QUANTUM_S,
    MIN_QUANTUM_S,
    WANTED_S,
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
