# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Clusters shared core by core when things go wrong: deaths between effects, faults, failed loads, cancellations."""

from __future__ import annotations

import random

import numpy as np
import pytest
from cores_kit import SOURCE, CoresBoard, engine_over, manifest, tenants
from eddy.board.model.model import ModelFaults
from eddy.board.port.port import Cause, Launch
from eddy.core.errors import Conflict, ImageRefused
from eddy.core.jobs import JobState
from eddy.core.records import KERNEL, JobRequest
from eddy.gpu.launches.request import KernelRequest
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.store import Store
from hypervisor_kit import finish, request
from kernel_kit import buffer, step_arrays, stepped
from system.crashes.test_hypervisor_crash import Killer, MortalEffects, deaths

FOUR = manifest(4)
MODULES = {FOUR.module: FOUR}
COUNT = 96


def step_request(store: Store, tenant: str, salt: int) -> JobRequest:
    y, x = step_arrays(COUNT, salt)
    arguments = (buffer(store, tenant, y), buffer(store, tenant, x), 2)
    return JobRequest(
        tenant,
        "",
        kind=KERNEL,
        body=KernelRequest(SOURCE.replace("{name}", "add"), "step", (COUNT,), arguments).to_json(),
    )


def check_step(store: Store, tenant: str, job: int, salt: int) -> None:
    record = store.jobs.get(tenant, job)
    assert (record.state, record.cause, record.detail) == (JobState.SUCCEEDED, "", "")
    y, x = step_arrays(COUNT, salt)
    np.testing.assert_array_equal(np.frombuffer(store.outputs.read(tenant, job, "y"), "u4"), stepped(y, x, 2))


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_death_between_any_two_effects_loses_no_kernel(after: bool) -> None:
    def play(killer: Killer) -> tuple[Store, CoresBoard, int]:
        store, board = Store(":memory:"), CoresBoard(MODULES)
        tenants(store, a=1, b=2)
        engine = engine_over(board, store, MODULES)
        engine.start()
        for salt, tenant in enumerate("ab", start=1):
            engine.intake.accept(step_request(store, tenant, salt))
        died = deaths(lambda: engine_over(MortalEffects(board, killer), MortalEffects(store, killer), MODULES), finish)
        return store, board, died

    counting = Killer()
    _, _, died = play(counting)
    assert died == 0
    assert counting.count > 60
    for at in range(0, counting.count, 5):
        store, board, died = play(Killer(at, after))
        assert died == 1
        for salt, tenant in enumerate("ab", start=1):
            check_step(store, tenant, salt, salt)
        assert board.state().buffers == ()
        store.close()


class FaultyBoard(CoresBoard):
    """Ends some slices with causes that are not theirs."""

    def __init__(self, draw: random.Random, rate: float, loads: frozenset[int] = frozenset()) -> None:
        super().__init__(MODULES, slots=2)
        self._draw, self._rate = draw, rate
        self._bad = dict[str, Cause]()
        self.inject(ModelFaults(self._bad, loads))

    def launch(self, slot: int, launch: Launch) -> None:
        if launch.kernel is not None and self._draw.random() < self._rate:
            self._bad[launch.item] = self._draw.choice([Cause.MODULE_ERROR, Cause.RESPONSE_STALLED])
        super().launch(slot, launch)


def test_a_kernel_whose_slot_failed_begins_with_its_arrays_as_they_came() -> None:
    store = Store(":memory:")
    board = FaultyBoard(random.Random(1), 0.0)
    tenants(store, a=1, b=1)
    engine = engine_over(board, store, MODULES)
    engine.start()
    engine.intake.accept(step_request(store, "a", 1))
    engine.intake.accept(step_request(store, "b", 2))
    while not board.most:
        engine.step()
    board._rate = 1.0
    engine.step()
    board._rate = 0.0
    finish(engine)
    check_step(store, "a", 1, 1)
    check_step(store, "b", 2, 2)
    notes = [e.detail for n in (1, 2) for e in store.events.list_events(None, n)]
    assert any("its slot failed" in note for note in notes)


@pytest.mark.parametrize("seed", range(10))
def test_whatever_goes_wrong_every_job_ends_and_leaves_nothing(seed: int) -> None:
    draw, store = random.Random(seed), Store(":memory:")
    loads = frozenset(draw.sample(range(12), 3))
    board = FaultyBoard(draw, draw.choice([0.0, 0.02, 0.1]), loads)
    tenants(store, a=1, b=4, c=0.5)
    price = draw.choice(["market", "entitlement", "equal_speedup", "mtf", "themis"])
    engine = engine_over(board, store, MODULES, price, PriceSettings(epoch_s=draw.choice([2e-3, 20e-3])))
    engine.start()
    owners: dict[int, str] = {}
    for number in range(1, 16):
        owners[number] = draw.choice("abc")
        engine.intake.accept(step_request(store, owners[number], number))
        for _ in range(draw.randrange(8)):
            engine.step()
        if draw.random() < 0.2:
            try:
                engine.intake.cancel(owners[victim := draw.randint(1, number)], victim)
            except Conflict:
                assert store.jobs.get(owners[victim], victim).state.is_final
        if draw.random() < 0.1:
            engine = engine_over(board, store, MODULES, price)
            engine.start()
    finish(engine)
    ends = set()
    for number, owner in owners.items():
        record = store.jobs.get(owner, number)
        ends.add(record.state)
        assert record.state.is_final
        if record.state is JobState.SUCCEEDED:
            check_step(store, owner, number, number)
        elif record.state is JobState.FAILED:
            assert record.cause in ("module-error", "response-stalled"), record.detail
        done = [
            event
            for event in store.events.list_events(None, number)
            if event.state is not None and event.state.is_final
        ]
        assert len(done) == 1, "it ended once"
    assert JobState.SUCCEEDED in ends
    assert board.state().buffers == ()
    assert engine.price is not None
    assert not any(account.running for account in engine.price.accounts.values())
    shares = [sum(account.lags.values()) for account in engine.price.accounts.values()]
    assert shares == pytest.approx([0.0] * len(shares), abs=1e-9), "time was made or lost"


class RefusesASlot(CoresBoard):
    """No image is good for slot 2."""

    launches = 0

    def load(self, slot: int, image: str) -> None:
        if slot == 2:
            raise ImageRefused("The image is damaged.")
        super().load(slot, image)

    def launch(self, slot: int, launch: Launch) -> None:
        self.launches += 1
        super().launch(slot, launch)


def test_time_goes_on_where_no_cluster_is_left_to_be_shared() -> None:
    store, board = Store(":memory:"), RefusesASlot(MODULES, slots=2)
    tenants(store, a=1, b=2)
    engine = engine_over(board, store, MODULES, settings=PriceSettings(quantum_s=1e-4))
    engine.start()
    for salt, tenant in enumerate("abab", start=1):
        engine.intake.accept(step_request(store, tenant, salt))
    while board.launches < 6:
        engine.step()
    engine.intake.drain(1, "for repair")
    for _ in range(100):
        engine.step()
    assert engine.price is not None
    assert {epoch.policy for epoch in engine.price.history.list_epochs()} == {"market"}, "it never failed"
    epochs = [epoch.number for epoch in engine.price.history.list_epochs()]
    assert len(set(epochs)) == len(epochs), "each ends once"
    job = engine.intake.accept(request(store, tenant="c"))
    for _ in range(3000):
        engine.step()
        if store.jobs.get("c", job.id).state is JobState.SUCCEEDED:
            break
    assert store.jobs.get("c", job.id).state is JobState.SUCCEEDED, "an application goes on"
    engine.intake.drain(1, "")
    finish(engine)
    for number, (tenant, salt) in enumerate(zip("abab", range(1, 5), strict=True), start=1):
        check_step(store, tenant, number, salt)
