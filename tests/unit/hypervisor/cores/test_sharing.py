# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""When kernels on shared cores start and end: by hand, and as the engine ran them."""

from __future__ import annotations

import math

import pytest
from cores_kit import SOURCE, CoresBoard, engine_over, manifest, tenants
from eddy.core.records import KERNEL, JobRequest
from eddy.gpu.launches.request import KernelRequest
from eddy.hypervisor.forecast.cores import picture_cores
from eddy.hypervisor.forecast.estimator_feed import pictures
from eddy.hypervisor.forecast.outlook import outlook
from eddy.hypervisor.forecast.trial import try_job
from eddy.model.estimates.sharing import CoreWork, fluid_times
from eddy.store import Store
from hypervisor_kit import finish
from kernel_kit import buffer, step_arrays

FOUR = manifest(4)
MODULES = {FOUR.module: FOUR}


def times(kernels: list[CoreWork], shares: dict[str, float], cores: float) -> dict[int, tuple[float, float]]:
    found = fluid_times(kernels, shares, cores)
    return {number: (round(start_s, 9), round(end_s, 9)) for number, (start_s, end_s) in found.items()}


def test_cores_are_shared_and_what_one_cannot_use_goes_to_the_others() -> None:
    both = [CoreWork(1, "a", 4.0, 8.0), CoreWork(2, "b", 4.0, 8.0)]
    assert fluid_times(both, {"a": 2.0, "b": 2.0}, 4.0) == {1: (0.0, 2.0), 2: (0.0, 2.0)}
    assert fluid_times(both, {"a": 3.0, "b": 1.0}, 4.0)[1] == pytest.approx((0.0, 4.0 / 3.0))
    assert fluid_times(both, {"a": 3.0, "b": 1.0}, 4.0)[2] == pytest.approx((0.0, 2.0)), "it has all once a is done"
    narrow = [CoreWork(1, "a", 1.0, 1.0), CoreWork(2, "b", 3.0, 8.0)]
    assert times(narrow, {"a": 2.0, "b": 2.0}, 4.0) == {1: (0.0, 1.0), 2: (0.0, 1.0)}


def test_a_tenants_kernels_stand_in_line() -> None:
    line = [CoreWork(1, "a", 2.0, 2.0), CoreWork(2, "a", 2.0, 2.0), CoreWork(3, "a", 1.0, 1.0)]
    assert times(line, {"a": 2.0}, 2.0) == {1: (0.0, 1.0), 2: (1.0, 2.0), 3: (2.0, 3.0)}
    begun = [CoreWork(1, "a", 2.0, 2.0, begun=True)]
    assert times(begun, {}, 2.0) == {1: (0.0, 1.0)}


def test_nothing_is_said_behind_what_nobody_knows_the_length_of() -> None:
    line = [CoreWork(1, "a", math.inf, 2.0), CoreWork(2, "a", 1.0, 1.0), CoreWork(3, "b", 1.0, 1.0)]
    assert times(line, {"a": 1.0, "b": 1.0}, 2.0) == {3: (0.0, 1.0)}
    assert fluid_times(line, {}, 0.0) == {}


def step_request(store: Store, tenant: str, salt: int, count: int) -> JobRequest:
    y, x = step_arrays(count, salt)
    arguments = (buffer(store, tenant, y), buffer(store, tenant, x), 2)
    source = SOURCE.replace("{name}", "add")
    return JobRequest(tenant, "", kind=KERNEL, body=KernelRequest(source, "step", (count,), arguments).to_json())


def test_a_kernel_that_ran_before_is_told_when_it_ends() -> None:
    board, store = CoresBoard(MODULES), Store(":memory:")
    tenants(store, a=1, b=1)
    engine = engine_over(board, store, MODULES)
    engine.start()
    engine.intake.accept(step_request(store, "a", 1, 512))
    finish(engine)
    again, other = (engine.intake.accept(step_request(store, who, 2, 512)) for who in ("a", "b"))
    engine.step(0.0)
    estimator = engine.estimates.estimator
    found = outlook(estimator, pictures(engine.machine, engine.now_s))
    told = found.estimate_of(again.id)
    assert told is not None
    assert told.known
    assert found.estimate_of(other.id) is None, "what it takes is not learned from another tenant's"
    expected = picture_cores(engine.machine.clusters, engine.now_s).forecast().jobs[again.id]  # type: ignore[arg-type]
    spec = engine.machine.jobs[again.id].spec
    trial = try_job(engine.machine, engine.now_s, spec)(estimator)
    assert trial.core_s == pytest.approx(store.jobs.get("a", 1).kernel.core_seconds, rel=0.2)  # type: ignore[union-attr]
    began_s = engine.now_s
    finish(engine)
    came = store.jobs.get("a", again.id)
    assert came.ended_s is not None
    assert expected.end_s - began_s == pytest.approx(came.ended_s - began_s, rel=0.6)
