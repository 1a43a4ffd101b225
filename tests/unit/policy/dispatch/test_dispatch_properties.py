# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What holds under every dispatch policy, on random applications, tenants, pools and load times."""

from __future__ import annotations

import dataclasses

import pytest
from eddy.board.model.model import SHELL, LoadTime, ModelBoard, ModelFaults
from eddy.board.model.model_images import model_images
from eddy.board.port.port import BoardDescription
from eddy.core.jobs import PRIORITIES, JobState
from eddy.core.slots import Pool, SlotDescription
from eddy.hypervisor.jobs.messages import JobSpec
from eddy.hypervisor.machine.virtual import VirtualRun, run_virtual
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.eddy import Eddy
from eddy.policy.dispatch.views.view import Configure, Dispatch, DispatchPolicy, DispatchView, Preempt, Prefetch
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.hypervisor.machine.test_machine_properties import MODULES, TENANTS, Scenario, applications, check

MAKERS = {
    **POLICIES,
    "eddy, impatient": lambda pipelined: Eddy(pipelined=pipelined, patience_s=1e-3),
}
"""What makes the policies, and one with a constant that these short items reach."""


@dataclasses.dataclass(frozen=True)
class Watched:
    """A policy under observation: what it is shown, whether it answers twice alike, what it asks for."""

    policy: DispatchPolicy
    slots: frozenset[int]

    @property
    def name(self) -> str:
        return self.policy.name

    @property
    def pipelined(self) -> bool:
        return self.policy.pipelined

    def initial(self) -> object:
        return self.policy.initial()

    def decide(self, view: DispatchView) -> Dispatch:
        self._check_view(view)
        answer = self.policy.decide(view)
        assert answer == self.policy.decide(view), "the same view, another answer"
        for decision in answer.decisions:
            assert isinstance(decision, Configure | Preempt | Prefetch)
            assert decision.slot in self.slots, "a slot of another pool"
        if answer.wake_s is not None:
            assert answer.wake_s > view.now_s, "time would stand still"
        return answer

    def _check_view(self, view: DispatchView) -> None:
        assert {slot.index for slot in view.slots} <= self.slots, "not the slots of the pipeline pool"
        assert len({job.tenant for job in view.jobs}) <= 1, "it is asked for one tenant at a time"
        ages = [(job.arrival_s, job.id) for job in view.jobs]
        assert ages == sorted(ages)
        assert all(arrival_s <= view.now_s for arrival_s, _ in ages), "it sees what has not arrived"
        held = {(job.id, task.id): task.slot for job in view.jobs for task in job.tasks if task.slot is not None}
        shown = {(slot.job, slot.task): slot.index for slot in view.slots if slot.job in {job.id for job in view.jobs}}
        assert held == shown, "jobs and slots tell different stories"


@dataclasses.dataclass(frozen=True)
class Pools(Scenario):
    """A scenario on a board some of whose slots belong to the `gpu` pool."""

    pools: tuple[Pool, ...] = ()

    def run(self) -> VirtualRun:
        slots = tuple(SlotDescription(i, f"slot{i}", pool, 1000, 1e8) for i, pool in enumerate(self.pools))
        board = BoardDescription("model", "test", SHELL, 1e8, slots, 1 << 20, 1e6, False)
        model = ModelBoard(
            board,
            model_images(board, MODULES),
            self.latency,
            load_times=self.loads,
            blocking=self.blocking,
            cache_bytes=3000,
        )
        return run_virtual(model, self.policy, self.jobs, arena_jobs=self.arena_jobs)


@st.composite
def scenarios(draw: st.DrawFn, name: str) -> Pools:
    apps = [draw(applications(f"app{i}")) for i in range(draw(st.integers(1, 3)))]
    times = st.sampled_from([0.001, 0.002, 0.005, 0.02, 0.05])
    jobs, arrival_s = [], 0.0
    for number in range(draw(st.integers(1, 8))):
        arrival_s += draw(st.sampled_from([0.0, 0.001, 0.03]))
        deadline_s = draw(st.sampled_from([None, arrival_s, arrival_s + 0.05, arrival_s + 1.0]))
        spec = JobSpec(
            id=number,
            tenant=draw(st.sampled_from(TENANTS)),
            application=draw(st.sampled_from(apps)),
            batch=draw(st.integers(1, 4)),
            priority=draw(st.sampled_from(PRIORITIES)),
            arrival_s=arrival_s,
            deadline_s=deadline_s,
            needs_memory=draw(st.booleans()),
        )
        jobs.append(spec)
    pools = draw(st.lists(st.sampled_from([Pool.PIPELINE, Pool.PIPELINE, Pool.GPU]), min_size=1, max_size=5))
    if Pool.PIPELINE not in pools:
        pools.append(Pool.PIPELINE)
    owned = frozenset(index for index, pool in enumerate(pools) if pool is Pool.PIPELINE)
    return Pools(
        jobs=tuple(jobs),
        slots=len(pools),
        latency={module: draw(times) for module in MODULES},
        loads={i: LoadTime(draw(times), draw(times)) for i in range(len(pools))},
        blocking=draw(st.booleans()),
        faults=ModelFaults(),
        cancels=(),
        arena_jobs=draw(st.sampled_from([None, 1, 2])),
        policy=Watched(MAKERS[name](pipelined=draw(st.booleans())), owned),
        pools=tuple(pools),
    )


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_every_job_ends_and_the_promises_hold(name: str) -> None:
    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(scenarios(name))
    def holds(scenario: Pools) -> None:
        run = check(scenario)
        assert {record.state for record in run.jobs.values()} == {JobState.SUCCEEDED}
        assert all(record.items_done == record.batch for record in run.jobs.values())

    holds()


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_the_same_seed_gives_the_same_trace(name: str) -> None:
    @settings(max_examples=15, deadline=None, derandomize=True)
    @given(scenarios(name))
    def holds(scenario: Pools) -> None:
        first, second = scenario.run(), scenario.run()
        assert first.log == second.log
        assert first.jobs == second.jobs

    holds()
