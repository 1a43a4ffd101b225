# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Clusters shared core by core, through the whole engine: results, neighbours, faults, and who had how much."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from cores_kit import SOURCE, CoresBoard, add_request, engine_over, manifest, tenants
from eddy.board.model.model import ModelFaults
from eddy.core.jobs import JobState
from eddy.core.records import KERNEL, JobEventKind, JobRequest
from eddy.core.submission_options import Retries, SubmissionOptions
from eddy.gpu.launches.request import KernelRequest
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.hypervisor.intake import kernels
from eddy.policy.price import POLICIES
from eddy.policy.price.view import PriceDecision, PriceView, Traits
from eddy.store import Store
from hypervisor_kit import finish
from kernel_kit import buffer, step_arrays, stepped

FOUR = manifest(4)
MODULES = {FOUR.module: FOUR}


def step_request(store: Store, tenant: str, salt: int, count: int = 512) -> JobRequest:
    y, x = step_arrays(count, salt)
    arguments = (buffer(store, tenant, y), buffer(store, tenant, x), 2)
    return JobRequest(
        tenant,
        "",
        kind=KERNEL,
        body=KernelRequest(SOURCE.replace("{name}", "add"), "step", (count,), arguments).to_json(),
    )


def check_step(store: Store, tenant: str, job: int, salt: int, count: int = 512) -> None:
    record = store.jobs.get(tenant, job)
    assert (record.state, record.cause, record.detail) == (JobState.SUCCEEDED, "", "")
    y, x = step_arrays(count, salt)
    np.testing.assert_array_equal(np.frombuffer(store.outputs.read(tenant, job, "y"), "u4"), stepped(y, x, 2))
    assert sorted(store.outputs.log(tenant, job).split()) == sorted(str(i) for i in range(1, count, 64))


def test_kernels_of_three_tenants_run_at_once_on_one_cluster_and_are_right() -> None:
    board, store = CoresBoard(MODULES), Store(":memory:")
    tenants(store, a=1, b=4, c=1)
    engine = engine_over(board, store, MODULES)
    engine.start()
    for salt, tenant in enumerate(("a", "b", "c"), start=1):
        engine.intake.accept(step_request(store, tenant, salt))
    finish(engine)
    for number, tenant in enumerate(("a", "b", "c"), start=1):
        check_step(store, tenant, number, number)
    assert board.most[1] == 4, "every core was used"
    loads = [e for n in (1, 2, 3) for e in store.events.list_events(None, n) if e.what is JobEventKind.CONFIGURED]
    assert len(loads) == 1, "a core changed hands by a load"
    assert [store.jobs.get(tenant, number).reuses for number, tenant in enumerate("abc", start=1)] == [0, 1, 1]
    assert board.state().buffers == ()


def test_a_kernel_that_goes_wrong_ends_alone() -> None:
    board, store = CoresBoard(MODULES), Store(":memory:")
    tenants(store, a=1, b=1)
    engine = engine_over(board, store, MODULES)
    engine.start()
    engine.intake.accept(step_request(store, "a", 1))
    arguments = (buffer(store, "b", np.zeros(64, "u4")),)
    body = KernelRequest(SOURCE.replace("{name}", "add"), "crooked", (64,), arguments).to_json()
    engine.intake.accept(JobRequest("b", "", kind=KERNEL, body=body))
    finish(engine)
    check_step(store, "a", 1, 1)
    bad = store.jobs.get("b", 2)
    assert (bad.state, bad.cause) == (JobState.FAILED, "misaligned-access")
    assert "crooked+0x" in bad.detail
    assert board.state().buffers == ()


def test_a_kernel_is_tried_again_from_its_arrays_as_they_came() -> None:
    board, store = CoresBoard(MODULES), Store(":memory:")
    tenants(store, a=1, b=1)
    engine = engine_over(board, store, MODULES)
    engine.start()
    engine.intake.accept(step_request(store, "a", 1))
    arguments = (buffer(store, "b", np.zeros(64, "u4")),)
    body = KernelRequest(SOURCE.replace("{name}", "add"), "crooked", (64,), arguments).to_json()
    asked = SubmissionOptions(retries=Retries(2, ("misaligned-access",)))
    engine.intake.accept(JobRequest("b", "", kind=KERNEL, body=body, asked=asked))
    finish(engine)
    check_step(store, "a", 1, 1)
    bad = store.jobs.get("b", 2)
    assert (bad.state, bad.cause, bad.retried) == (JobState.FAILED, "misaligned-access", 2)
    assert board.state().buffers == ()
    assert bad.waited_s + bad.reconfiguring_s + bad.running_s == pytest.approx(bad.response_s)


def test_a_kernel_is_cancelled_while_its_slices_run() -> None:
    board, store = CoresBoard(MODULES), Store(":memory:")
    tenants(store, a=1, b=1)
    engine = engine_over(board, store, MODULES)
    engine.start()
    engine.intake.accept(add_request(store, "a", 4096))
    engine.intake.accept(step_request(store, "b", 2))
    for _ in range(12):
        engine.step()
    engine.intake.cancel("a", 1)
    finish(engine)
    assert store.jobs.get("a", 1).state is JobState.CANCELLED
    check_step(store, "b", 2, 2)


@pytest.mark.parametrize("price", ["market", "entitlement", "equal_speedup", "mtf", "gandiva", "themis"])
def test_every_price_policy_shares_live_clusters(price: str) -> None:
    board, store = CoresBoard(MODULES, slots=2), Store(":memory:")
    tenants(store, a=1, b=2)
    engine = engine_over(board, store, MODULES, price, PriceSettings(epoch_s=10e-3))
    engine.start()
    for number in range(4):
        engine.intake.accept(step_request(store, "ab"[number % 2], number + 1, 256))
    finish(engine)
    for number in range(4):
        check_step(store, "ab"[number % 2], number + 1, number + 1, 256)
    assert {epoch.policy for epoch in engine.price.history.list_epochs()} == {price}  # type: ignore[union-attr]


def test_slices_stay_away_from_a_time_limit_that_is_shorter_than_a_quantum() -> None:
    board, store = CoresBoard(MODULES), Store(":memory:")
    tenants(store, a=1)
    engine = engine_over(board, store, MODULES, "entitlement", PriceSettings(quantum_s=5e-3))
    engine.start()
    for salt in (1, 2):
        engine.intake.accept(replace(step_request(store, "a", salt), time_limit_s=1e-3))
        finish(engine)
        check_step(store, "a", salt, salt)


def test_a_policy_is_told_how_much_work_there_is() -> None:
    board, store = CoresBoard(MODULES), Store(":memory:")
    tenants(store, a=1)
    engine = engine_over(board, store, MODULES, "entitlement", PriceSettings(epoch_s=2e-3))
    engine.start()
    engine.intake.accept(step_request(store, "a", 1))
    finish(engine)
    engine.intake.accept(step_request(store, "a", 2))
    finish(engine)
    assert engine.price is not None
    waiting = [float(epoch.view.waiting_s[0]) for epoch in engine.price.history.list_epochs()]
    assert waiting[0] == float("inf"), "nothing was measured yet"
    later = [seconds for seconds in waiting if seconds < float("inf")]
    assert len(later) > 2
    # 256 work-groups of two work-items; 0.1 ms each, and what starts of slices add to it.
    assert 256e-4 < max(later) < 256e-4 * 1.5
    assert min(later) < max(later)


SLOW, FAST = manifest(2, threads=2), manifest(2, threads=4)
BOTH = {SLOW.module: SLOW, FAST.module: FAST}


def test_another_configuration_is_loaded_slot_by_slot_once_what_runs_there_has_ended() -> None:
    board, store = CoresBoard(BOTH, slots=2), Store(":memory:")
    tenants(store, a=1, b=1)
    settings = PriceSettings(epoch_s=5e-3, configure_s=10e-3)
    engine = engine_over(board, store, BOTH, "entitlement", settings)
    assert engine.price is not None
    # As if the fabric had been left with the slow ones; entitlement changes nothing.
    engine.price.offers.wanted = {1: SLOW.module, 2: SLOW.module}
    engine.start()
    for number in range(12):
        engine.intake.accept(step_request(store, "ab"[number % 2], number + 1, 256))
    held: list[tuple[str, str]] = []
    phases, switched = set(), False
    while not engine.is_idle:
        engine.step()
        if not switched and engine.now_s > 8e-3:
            assert held[-1] == (SLOW.module, SLOW.module)
            engine.intake.switch_price(POLICIES["market"]())
            assert engine.price.policy_name == "entitlement", "until the engine takes it from its inbox"
            engine.step()
            assert engine.price.policy_name == "market"
            assert engine.price.now is not None
            assert engine.price.now.policy == "market", "at once, not when the epoch is due"
            switched = True
        status = {slot.slot: slot for slot in engine.status}
        now = (status[1].module, status[2].module)
        phases.add((status[1].phase, status[2].phase))
        if not held or held[-1] != now:
            held.append(now)
    for number in range(12):
        check_step(store, "ab"[number % 2], number + 1, number + 1, 256)
    assert held[-1] == (FAST.module, FAST.module), held
    mixed = {(SLOW.module, FAST.module), (FAST.module, SLOW.module)}
    assert mixed & set(held), "one by one"
    assert phases & {("loading", "running"), ("running", "loading")}, "the other went on"


@dataclass
class MovingPolicy:
    """Gives tenant a the first cluster until a time, and the second from then on; b the other one."""

    at_s: float
    name: str = "moving"
    traits: ClassVar[Traits] = Traits()

    def initial(self) -> None:
        return None

    def decide(self, view: PriceView) -> PriceDecision:
        first = float(view.now_s < self.at_s)
        of = {"a": (first, 1 - first), "b": (1 - first, first)}
        shares = np.array([of[tenant] for tenant in view.tenants]) * view.present.capacity
        return PriceDecision(shares, np.zeros(len(view.present.clusters)))


@pytest.mark.parametrize("alone", [True, False])
def test_a_kernel_whose_tenant_has_no_share_of_its_cluster_any_more_gets_on_elsewhere(
    alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins again there, unless it may run on both clusters at the same time."""
    monkeypatch.setattr(kernels, "MAX_SPREAD", 0.0 if alone else 1.0)
    board, store = CoresBoard(MODULES, slots=2), Store(":memory:")
    tenants(store, a=1, b=1)
    engine = engine_over(board, store, MODULES, settings=PriceSettings(epoch_s=0.5e-3))
    assert engine.price is not None
    engine.intake.switch_price(MovingPolicy(5e-3))
    engine.start()
    engine.intake.accept(step_request(store, "a", 1, 384))
    for salt in range(2, 18):
        engine.intake.accept(step_request(store, "b", salt, 256))
    engine.step()
    while engine.machine.jobs.get(1) is not None:
        engine.step()
    assert len(engine.machine.jobs) > 1, "b had always more to do"
    check_step(store, "a", 1, 1, 384)
    assert alone == any(
        "its tenant's shares are elsewhere" in event.detail for event in store.events.list_events("a", 1)
    )
    finish(engine)
    for salt in range(2, 18):
        check_step(store, "b", salt, salt, 256)
    assert not board.state().buffers


def test_no_slice_starts_on_the_cluster_before_the_one_it_is_laid_out_for() -> None:
    """A slot that waits for the configuration port still holds what it held, while kernels are bound to it already."""
    board, store = CoresBoard(MODULES), Store(":memory:")
    tenants(store, a=1)
    engine = engine_over(board, store, MODULES)
    engine.start()
    engine.intake.accept(step_request(store, "a", 1))
    clusters = engine.machine.clusters
    assert clusters is not None
    while not clusters.work.startable_slices(1):
        engine.step()
    slot = engine.machine.slots[1]
    held, slot.module = slot.module, "gpu_before"
    assert not clusters.work.startable_slices(1)
    assert not list(clusters.queues.ready(1, "a"))
    slot.module = held
    assert clusters.work.startable_slices(1)
    finish(engine)
    check_step(store, "a", 1, 1)


def test_a_job_says_what_it_had_of_cores_and_what_it_paid() -> None:
    board, store = CoresBoard(MODULES), Store(":memory:")
    tenants(store, a=1)
    engine = engine_over(board, store, MODULES)
    engine.start()
    engine.intake.accept(step_request(store, "a", 1))
    finish(engine)
    record = store.jobs.get("a", 1)
    assert record.kernel is not None
    # 256 work-groups of 0.1 ms, and what the starts of slices take; all four cores cost 1 a second.
    assert 25.6e-3 < record.kernel.core_seconds < 33e-3
    assert record.kernel.paid == pytest.approx(record.kernel.core_seconds / 4)
    assert record.reconfiguring_s > 0


def test_a_job_cancelled_while_its_cluster_is_loaded_ends_and_the_next_one_runs() -> None:
    board, store = CoresBoard(MODULES), Store(":memory:")
    tenants(store, a=1, b=1)
    engine = engine_over(board, store, MODULES)
    engine.start()
    engine.intake.accept(step_request(store, "a", 1))
    engine.step()
    assert store.jobs.get("a", 1).state is JobState.RECONFIGURING
    engine.intake.cancel("a", 1)
    engine.intake.accept(step_request(store, "b", 2))
    finish(engine)
    assert store.jobs.get("a", 1).state is JobState.CANCELLED
    check_step(store, "b", 2, 2)


def test_an_image_that_cannot_be_loaded_fails_its_jobs_and_no_others() -> None:
    board, store = CoresBoard(MODULES), Store(":memory:")
    tenants(store, a=1)
    board.inject(ModelFaults(loads=frozenset(range(3))))
    engine = engine_over(board, store, MODULES)
    engine.start()
    engine.intake.accept(step_request(store, "a", 1))
    finish(engine)
    record = store.jobs.get("a", 1)
    assert (record.state, record.cause) == (JobState.FAILED, "image-refused")
    assert board.state().buffers == ()
    engine.intake.accept(step_request(store, "a", 2))
    finish(engine)
    check_step(store, "a", 2, 2)


@pytest.mark.parametrize("refused", [(1,), (1, 2, 3), (0, 2, 4), (0, 1, 2)])
def test_a_kernel_whose_cluster_cannot_be_loaded_while_it_runs_on_another_is_right(refused: tuple[int, ...]) -> None:
    board, store = CoresBoard(MODULES, slots=2), Store(":memory:")
    tenants(store, a=1, b=1)
    board.inject(ModelFaults(loads=frozenset(refused)))
    engine = engine_over(board, store, MODULES)
    engine.start()
    for salt in range(1, 7):
        engine.intake.accept(step_request(store, "ab"[salt % 2], salt, 1024))
    finish(engine)
    for salt in range(1, 7):
        check_step(store, "ab"[salt % 2], salt, salt, 1024)
    assert board.state().buffers == ()


ONE = """
kernel void one(global uint *y, global uint *sum, uint n) {
  uint i = get_global_id(0);
  for (uint k = 0; k < n; k++) y[i] = y[i] * 1664525u + i;
  ADD
  if (i % 64 == 1) printf("%u\\n", i);
}
"""


def run_one(slots: int, add: str = "") -> tuple[dict[int, int], bytes, list[str]]:
    """A kernel alone on clusters of one kind: most slices at once by slot, its output, what it printed."""
    board, store = CoresBoard(MODULES, slots=slots), Store(":memory:")
    tenants(store, a=1)
    engine = engine_over(board, store, MODULES)
    engine.start()
    y, _ = step_arrays(512)
    arguments = (buffer(store, "a", y), buffer(store, "a", np.zeros(1, "u4")), 3)
    body = KernelRequest(ONE.replace("ADD", add), "one", (512,), arguments).to_json()
    engine.intake.accept(JobRequest("a", "", kind=KERNEL, body=body))
    finish(engine)
    assert store.jobs.get("a", 1).state is JobState.SUCCEEDED
    assert not board.state().buffers
    return dict(board.most), store.outputs.read("a", 1, "y"), sorted(store.outputs.log("a", 1).split())


def test_one_kernel_runs_on_all_clusters_of_a_kind_at_once_with_the_same_results() -> None:
    alone, together = run_one(1), run_one(3)
    assert alone[0] == {1: 4}
    assert together[0] == {1: 4, 2: 4, 3: 4}
    assert together[1:] == alone[1:]


def test_a_kernel_with_atomics_stays_on_one_cluster() -> None:
    most, _, _ = run_one(2, "atomic_add(sum, i);")
    assert len(most) == 1


def test_a_kernel_on_two_clusters_is_cancelled_on_both() -> None:
    board, store = CoresBoard(MODULES, slots=2), Store(":memory:")
    tenants(store, a=1)
    engine = engine_over(board, store, MODULES)
    engine.start()
    engine.intake.accept(step_request(store, "a", 1, 2048))
    while len(board.most) < 2:
        engine.step()
    engine.intake.cancel("a", 1)
    finish(engine)
    assert store.jobs.get("a", 1).state is JobState.CANCELLED
    assert board.state().buffers == ()
    assert not any(slot.items for slot in board.state().slots)


def test_a_drained_cluster_gets_no_more_of_a_kernel_bound_to_another() -> None:
    board, store = CoresBoard(MODULES, slots=2), Store(":memory:")
    tenants(store, a=1)
    engine = engine_over(board, store, MODULES)
    engine.start()
    engine.intake.accept(step_request(store, "a", 1, 2048))
    while len(board.most) < 2:
        engine.step()
    home, other = 1, 2
    for drained in (other, home):
        engine.intake.drain(drained, "maintenance")
        engine.step()
        before = board.started[drained]
        for _ in range(5):
            engine.step()
        assert board.started[drained] == before
        assert engine.machine.jobs, "it goes on elsewhere"
        engine.intake.drain(drained, "" if drained == other else "maintenance")
    finish(engine)
    check_step(store, "a", 1, 1, 2048)


def test_a_kernel_that_begins_again_on_an_idle_cluster_is_right() -> None:
    small = manifest(2)
    modules = {FOUR.module: FOUR, small.module: small}
    board, store = CoresBoard(modules, slots=2, group_s=2e-3), Store(":memory:")
    tenants(store, heavy=1, light=1e-6)
    engine = engine_over(board, store, modules, "market", PriceSettings(epoch_s=0.02))
    assert engine.price is not None
    engine.price.offers.wanted = {1: FOUR.module, 2: small.module}
    engine.price.offers.named = {"the only one": dict(engine.price.offers.wanted)}
    engine.start()
    assert engine.machine.clusters is not None
    numbers = [
        engine.intake.accept(step_request(store, tenant, salt, count)).id
        for salt, (tenant, count) in enumerate((("heavy", 2048), ("heavy", 256), ("light", 128)), start=1)
    ]
    homes = list[int]()
    while not engine.is_idle:
        engine.step()
        found = engine.machine.clusters.queues.progress.get(numbers[2])
        if found is not None and found.slot not in homes[-1:]:
            homes.append(found.slot)
    again = [event for event in store.events.list_events("light", numbers[2]) if event.what is JobEventKind.RECOVERED]
    check_step(store, "heavy", numbers[0], 1, 2048)
    check_step(store, "heavy", numbers[1], 2, 256)
    check_step(store, "light", numbers[2], 3, 128)
    assert homes == [1, 2]
    assert len(again) == 1
