# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A crowd that submits without end holds nobody's work up, on boards whose time passes only where it is waited for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from eddy.core.applications import Application
from eddy.core.records import JobEventKind
from eddy.hypervisor.engine.board_events import BOARD_STEPS
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.slots.resident_images import ResidentImages
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from hypervisor_kit import CHAIN, MODULES, TENANT, model_board, request
from machine_kit import FITS, ONE, TWO, Script


@pytest.fixture
def store() -> Iterator[Store]:
    made = Store(":memory:")
    yield made
    made.close()


def test_items_end_while_jobs_come_before_every_step(store: Store) -> None:
    engine = Engine(model_board(), POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES)
    engine.start()
    first = engine.intake.accept(request(store, batch=2))
    for _ in range(50):
        engine.intake.accept(request(store, batch=1))
        engine.step()
    done = [event for event in store.events.list_events(TENANT, first.id) if event.what is JobEventKind.ITEM_DONE]
    assert len(done) >= 2
    assert engine.now_s > 0


def test_most_steps_are_for_the_board_whatever_comes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    board, waits = model_board(), 0
    engine = Engine(board, POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES)
    engine.start()
    engine.intake.accept(request(store, batch=30))
    for _ in range(10):
        engine.step()
    assert engine.machine.busy
    for _ in range(5 * (BOARD_STEPS + 1)):
        engine.intake.accept(request(store, batch=1))
        engine.step()
        waits += engine.events.waited[0] > 0
    assert waits >= 4 * BOARD_STEPS
    assert len(store.jobs.unfinished()) == len(engine.machine.jobs), "what comes meanwhile is dealt with all the same"


def test_of_jobs_alike_that_come_at_once_only_the_first_has_images_read() -> None:
    near = ResidentImages(20, {0: 10, 1: 10}, {0: 1.0, 1: 1.0})
    machine = Machine({0: 0.1, 1: 0.1}, Script(), FITS, near=near)
    machine.step(0.0, [])

    def reads(now_s: float, *applications: Application) -> int:
        arrivals = [
            m.Arrive(m.JobSpec(next(numbers), "a", application, 1, 1, now_s, None, False))
            for application in applications
        ]
        commands = machine.step(now_s, arrivals).commands
        return sum(isinstance(command, m.ReadAhead) for command in commands)

    numbers = itertools.count(1)
    assert reads(0.5, *[TWO] * 5) == 1
    assert reads(0.5, TWO) == 0, "at the same time nothing else is known"
    assert reads(0.5, ONE) == 1
    assert reads(0.6, TWO) == 1
