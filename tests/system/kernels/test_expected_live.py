# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Estimates and dry runs of a hypervisor that runs: from its own queue, by its own policy."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from eddy.board.model.model import ModelBoard
from eddy.core.errors import InvalidRequest, QuotaExceeded
from eddy.core.jobs import JobState
from eddy.core.records import JobRecord
from eddy.core.tenants import Quota, TenantRecord
from eddy.hypervisor import Hypervisor
from eddy.hypervisor.forecast.estimator import JobEstimate
from eddy.hypervisor.forecast.estimator_feed import KEPT
from eddy.policy.dispatch.fcfs import FirstComeFirstServed
from eddy.policy.dispatch.views.view import Dispatch, DispatchView
from eddy.store import Store
from hypervisor_kit import CHAIN, MODULES, TENANT, ended, model_board, request

pytestmark = pytest.mark.anyio
SLOTS = 3


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "eddy.sqlite")


@asynccontextmanager
async def serving(store: Store, board: ModelBoard) -> AsyncIterator[Hypervisor]:
    hypervisor = Hypervisor(board, GatedPolicy(pipelined=True), store, {CHAIN.name: CHAIN}, MODULES)
    async with anyio.create_task_group() as group:
        group.start_soon(hypervisor.run)
        yield hypervisor
        group.cancel_scope.cancel()


class GatedPolicy(FirstComeFirstServed):
    """First come, first served, once its gate is open."""

    shut = True

    def decide(self, view: DispatchView) -> Dispatch:
        return (
            Dispatch((), view.memory) if GatedPolicy.shut else super().decide(dataclasses.replace(view, changed=None))
        )


@pytest.fixture(autouse=True)
def shut() -> Iterator[None]:
    GatedPolicy.shut = True
    yield
    GatedPolicy.shut = True


async def waiting(hypervisor: Hypervisor, store: Store, count: int) -> list[JobRecord]:
    """Jobs that cannot start: the policy gives them nothing."""
    return [await hypervisor.submit(request(store, batch=1 + number)) for number in range(count)]


async def let_go(hypervisor: Hypervisor) -> None:
    """The policy begins to decide; it is asked because something happens."""
    GatedPolicy.shut = False
    await hypervisor.operator.drain(0, "a test")
    await hypervisor.operator.drain(0, "")


async def told(hypervisor: Hypervisor, jobs: list[JobRecord]) -> list[JobEstimate]:
    """What jobs are told, once the engine has taken all of them in."""
    with anyio.fail_after(180):
        while True:
            outlook = await hypervisor.estimates(fresh=True)
            found = [estimate for job in jobs if (estimate := outlook.estimate_of(job.id)) is not None]
            if len(found) == len(jobs):
                return found
            await anyio.sleep(0.001)


async def test_every_job_that_waits_is_told_a_place_and_times(store: Store) -> None:
    async with serving(store, model_board(slots=SLOTS)) as hypervisor:
        jobs = await waiting(hypervisor, store, 4)
        found = await told(hypervisor, jobs)
        assert [estimate.position for estimate in found] == [1, 2, 3, 4]
        for estimate in found:
            assert estimate.start is not None
            assert estimate.at_s <= estimate.start.p50_s <= estimate.start.p90_s <= estimate.end.p90_s
            assert not estimate.known, "nothing of it was ever seen"
        await let_go(hypervisor)
        for job in jobs:
            assert (await ended(hypervisor, store, job)).state is JobState.SUCCEEDED
        assert (await hypervisor.estimates(fresh=True)).estimate_of(jobs[0].id) is None
    kept = store.meta(KEPT)
    assert '"seen":8' in kept, "four starts and four ends were judged, and are kept"


async def test_a_later_life_knows_what_an_earlier_one_learned(store: Store) -> None:
    async with serving(store, model_board(slots=SLOTS)) as hypervisor:
        GatedPolicy.shut = False
        for number in range(4):
            await ended(hypervisor, store, await hypervisor.submit(request(store, batch=4, salt=number)))
    async with serving(store, model_board(slots=SLOTS)) as hypervisor:
        await hypervisor.wait_ready()
        GatedPolicy.shut = True
        assert (await told(hypervisor, await waiting(hypervisor, store, 1)))[0].known


async def test_what_cannot_be_read_is_learned_again(store: Store) -> None:
    store.remember(KEPT, '{"calibration": 7}')
    GatedPolicy.shut = False
    async with serving(store, model_board(slots=SLOTS)) as hypervisor:
        job = await ended(hypervisor, store, await hypervisor.submit(request(store)))
    assert job.state is JobState.SUCCEEDED


async def test_a_dry_run_knows_loads_and_cost_and_keeps_nothing(store: Store) -> None:
    GatedPolicy.shut = False
    async with serving(store, model_board(slots=SLOTS)) as hypervisor:
        await hypervisor.wait_ready()
        trial = await hypervisor.try_out(request(store, batch=2))
        assert store.lists.page(None) == ()
        assert hypervisor.slots() == () or all(status.job is None for status in hypervisor.slots())
    assert trial.estimate is not None
    assert trial.estimate.position == 1
    assert [given.task for given in trial.given] == [0, 1, 2]
    assert all(given.load_s > 0 for given in trial.given)
    work_s = 2 * sum(task.estimate_s for task in CHAIN.tasks)
    assert trial.slot_s == pytest.approx(work_s + sum(given.load_s for given in trial.given))


async def test_a_dry_run_is_admitted_as_a_submission_is(store: Store) -> None:
    store.tenants.put(TenantRecord(TENANT, "", quota=Quota(max_jobs=1)))
    async with serving(store, model_board(slots=SLOTS)) as hypervisor:
        await waiting(hypervisor, store, 1)
        with pytest.raises(QuotaExceeded):
            await hypervisor.try_out(request(store))
        with pytest.raises(InvalidRequest):
            await hypervisor.try_out(dataclasses.replace(request(store, tenant="bob"), application="nothing"))


async def test_a_job_that_waits_is_explained_and_one_that_ended_is_compared(store: Store) -> None:
    async with serving(store, model_board(slots=SLOTS)) as hypervisor:
        first, second = await waiting(hypervisor, store, 2)
        await told(hypervisor, [first, second])
        standing = await hypervisor.job_standing(second.id)
        assert standing.wait.cause == "slot"
        helps = {each.what: each.saves_s for each in standing.would_help}
        assert set(helps) == {"priority", "slot", "resident", "alone"}
        await let_go(hypervisor)
        done = [await ended(hypervisor, store, job) for job in (first, second)]
        ideal = await hypervisor.solo_times(done[0], CHAIN)
        assert 0 < ideal.resident_s < ideal.takes_s
        assert done[0].response_s is not None
        assert ideal.takes_s < 2 * done[0].response_s
