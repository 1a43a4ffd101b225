"""A crowd that submits without end holds nobody's work up, on boards whose time passes only where it is waited for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from eddy.core.records import JobEventKind
from eddy.hypervisor.engine import Engine
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from hypervisor_kit import CHAIN, MODULES, TENANT, model_board, request


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
    done = [event for event in store.events.of(TENANT, first.id) if event.what is JobEventKind.ITEM_DONE]
    assert len(done) >= 2
    assert engine.now_s > 0
