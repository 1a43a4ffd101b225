# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the state machine promises, on random task graphs, batches, policies and faults."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections import Counter, defaultdict

import pytest
from eddy.board.model.model import SHELL, LoadTime, ModelBoard, ModelFaults
from eddy.board.model.model_images import model_images
from eddy.board.port.port import BoardDescription, Cause
from eddy.core.applications import Application, TaskSpec
from eddy.core.jobs import TRANSITIONS, JobState
from eddy.core.records import JobEvent, JobEventKind, KernelRecord
from eddy.core.slots import Pool, PreemptReason, SlotDescription
from eddy.hypervisor.jobs.messages import JobSpec
from eddy.hypervisor.machine.virtual import VirtualRun, run_virtual
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.fcfs import FirstComeFirstServed
from eddy.policy.dispatch.views.view import Configure, Dispatch, DispatchPolicy, DispatchView, Preempt, Prefetch
from hypothesis import given, settings
from hypothesis import strategies as st

MODULES = ("m0", "m1", "m2", "m3")
TENANTS = ("a", "b")
MISCHIEF = 60
"""Calls after which it ends."""


@dataclasses.dataclass(frozen=True)
class Mischief:
    """First come first served, with preemptions, nonsense and prefetches thrown in; ends its mischief after a while.

    It may give the last slot to a task whose predecessor has none, so it asks to be called again until it has put right
    what it did: the last thing it does is to take every slot in which nothing runs.
    """

    seed: int
    pipelined: bool
    name: str = "mischief"

    def initial(self) -> tuple[int, object]:
        return 0, FirstComeFirstServed().initial()

    def decide(self, view: DispatchView) -> Dispatch:
        count, inner = view.memory
        sane = FirstComeFirstServed(self.pipelined).decide(dataclasses.replace(view, memory=inner))
        decisions = list(sane.decisions)
        rng = random.Random(self.seed * 1_000_003 + count)
        if count < MISCHIEF and view.jobs:
            job, slot = rng.choice(view.jobs), rng.randrange(len(view.slots) + 2)
            wild = (
                Preempt(slot, PreemptReason.RANK),
                Configure(job.id, rng.randrange(9), slot),
                Prefetch(rng.choice(MODULES), slot),
            )
            decisions.insert(rng.randrange(len(decisions) + 1), rng.choice(wild))
        elif count == MISCHIEF:
            decisions = [
                Preempt(slot.index, PreemptReason.RANK)
                for slot in view.slots
                if slot.job is not None and not slot.running
            ]
        wake_s = view.now_s + 1e-3 if count <= MISCHIEF and view.jobs else None
        return Dispatch(tuple(decisions), memory=(count + 1, sane.memory), wake_s=wake_s)


@st.composite
def applications(draw: st.DrawFn, name: str) -> Application:
    count = draw(st.integers(1, 5))
    pairs = list(itertools.combinations(range(count), 2))
    edges = tuple(sorted(draw(st.sets(st.sampled_from(pairs))))) if pairs else ()
    modules = draw(st.lists(st.sampled_from(MODULES), min_size=count, max_size=count))
    tasks = tuple(TaskSpec(i, f"t{i}", module, (), 1e-3, 1.0) for i, module in enumerate(modules))
    return Application(name, tasks, edges)


@dataclasses.dataclass(frozen=True)
class Scenario:
    """Everything a run depends on."""

    jobs: tuple[JobSpec, ...]
    slots: int
    latency: dict[str, float]
    loads: dict[int, LoadTime]
    blocking: bool
    faults: ModelFaults
    cancels: tuple[tuple[float, int], ...]
    arena_jobs: int | None
    policy: DispatchPolicy
    gpu_slots: int = 0
    gpu_policy: DispatchPolicy | None = None

    def run(self) -> VirtualRun:
        pools = [Pool.PIPELINE] * self.slots + [Pool.GPU] * self.gpu_slots
        slots = tuple(SlotDescription(i, f"slot{i}", pool, 1000, 1e8) for i, pool in enumerate(pools))
        board = BoardDescription("model", "test", SHELL, 1e8, slots, 1 << 20, 1e6, False)
        images = model_images(board, MODULES)
        model = ModelBoard(
            board,
            images,
            self.latency,
            load_times=self.loads,
            blocking=self.blocking,
            cache_bytes=3000,
            faults=self.faults,
        )
        return run_virtual(
            model,
            self.policy,
            self.jobs,
            cancels=self.cancels,
            arena_jobs=self.arena_jobs,
            gpu_policy=self.gpu_policy,
        )

    def policy_of(self, job: JobSpec) -> DispatchPolicy:
        """Who decides about a job."""
        return self.policy if job.kernel is None or self.gpu_policy is None else self.gpu_policy

    def pool(self, slot: int) -> Pool:
        """Whose a slot is."""
        return Pool.PIPELINE if slot < self.slots else Pool.GPU


def kernel_job(number: int, tenant: str, slices: int, arrival_s: float, module: str, memory: bool) -> JobSpec:
    """A kernel job of so many slices."""
    record = KernelRecord("k", module, 4 * slices, 4)
    app = Application(f"kernel:{module}", (TaskSpec(0, "k", module, (), 1e-3, 1.0),), ())
    return JobSpec(number, tenant, app, slices, 1, arrival_s, None, memory, record, pool=Pool.GPU)


@st.composite
def policies(draw: st.DrawFn, pipelined: bool) -> DispatchPolicy:
    chosen = draw(st.sampled_from(["mischief", *sorted(POLICIES)]))
    return Mischief(draw(st.integers(0, 999)), pipelined) if chosen == "mischief" else POLICIES[chosen](pipelined)


@st.composite
def scenarios(draw: st.DrawFn, faulty: bool, gpu: bool = False) -> Scenario:
    apps = [draw(applications(f"app{i}")) for i in range(draw(st.integers(1, 3)))]
    times = st.sampled_from([0.001, 0.002, 0.005, 0.02, 0.05])
    jobs, arrival_s = [], 0.0
    for number in range(draw(st.integers(1, 6))):
        arrival_s += draw(st.sampled_from([0.0, 0.001, 0.03]))
        app, batch = draw(st.sampled_from(apps)), draw(st.integers(1, 4))
        tenant, memory = draw(st.sampled_from(TENANTS)), draw(st.booleans())
        if gpu and draw(st.booleans()):
            jobs.append(kernel_job(number, tenant, batch, arrival_s, draw(st.sampled_from(MODULES)), memory))
        else:
            jobs.append(JobSpec(number, tenant, app, batch, 1, arrival_s, None, memory))
    slots, gpu_slots = draw(st.integers(1, 4)), draw(st.integers(1, 2)) if gpu else 0
    items = [f"{j.id}.{t.id}.{i}" for j in jobs for t in j.application.tasks for i in range(j.batch)]
    causes = st.sampled_from([Cause.TIME_LIMIT, Cause.CLOCK_LOST, Cause.ILLEGAL_BURST])
    faults, cancels = ModelFaults(), tuple[tuple[float, int], ...]()
    if faulty:
        bad = draw(st.dictionaries(st.sampled_from(items), causes, max_size=2))
        faults = ModelFaults(bad, frozenset(draw(st.sets(st.integers(0, 12), max_size=5))))
        cancels = tuple((draw(times) + arrival_s, job.id) for job in jobs if draw(st.integers(0, 3)) == 0)
    policy = draw(policies(draw(st.booleans())))
    return Scenario(
        jobs=tuple(jobs),
        slots=slots,
        latency={module: draw(times) for module in MODULES},
        loads={i: LoadTime(draw(times), draw(times)) for i in range(slots + gpu_slots)},
        blocking=draw(st.booleans()),
        faults=faults,
        cancels=cancels,
        arena_jobs=draw(st.sampled_from([None, 1, 2])),
        policy=policy,
        gpu_slots=gpu_slots,
        gpu_policy=draw(policies(True)) if gpu else None,
    )


def check_slots(scenario: Scenario, log: tuple[JobEvent, ...]) -> None:
    """One load at a time; one task in a slot of its pool; taken between items; no tenant finds another's module."""
    pools = {job.id: job.pool for job in scenario.jobs}
    holder: dict[int, tuple[int, int]] = {}
    runs: set[int] = set()
    modules = {(job.id, task.id): task.module for job in scenario.jobs for task in job.application.tasks}
    inside: dict[int, tuple[str, str]] = {}
    loading: int | None = None
    for event in log:
        slot, key = event.slot, (event.job, event.task or 0)
        if slot is None:
            continue
        assert scenario.pool(slot) is pools[event.job], "a slot of the other pool"
        if event.what is JobEventKind.CONFIGURE:
            assert slot not in holder, "two tasks in a slot"
            holder[slot] = key
            if event.detail == "resident":
                assert inside[slot] == (event.tenant, modules[key]), "served without a load that it needed"
            else:
                assert loading is None, "two loads at a time"
                loading = slot
            inside[slot] = (event.tenant, modules[key])
            continue
        assert holder[slot] == key
        if event.what is JobEventKind.CONFIGURED:
            loading = None if event.detail != "resident" else loading
        elif event.what is JobEventKind.CONFIGURATION_FAILED:
            loading = None
            del inside[slot]
        elif event.what is JobEventKind.LAUNCH:
            assert slot not in runs
            assert loading != slot
            runs.add(slot)
        elif event.what in (JobEventKind.ITEM_DONE, JobEventKind.ITEM_FAILED):
            runs.remove(slot)
            if event.what is JobEventKind.ITEM_FAILED:
                del inside[slot]
        elif event.what in (JobEventKind.RELEASE, JobEventKind.PREEMPT):
            assert slot not in runs, "taken while an item ran"
            del holder[slot]
    assert not holder
    assert not runs


def check_items(scenario: Scenario, run: VirtualRun) -> None:
    """Precedence, order, and every item once."""
    done: dict[int, Counter[int]] = defaultdict(Counter)
    jobs = {job.id: job for job in scenario.jobs}
    for event in run.log:
        spec, task = jobs[event.job], event.task
        if event.what is JobEventKind.LAUNCH and task is not None:
            assert event.item == done[event.job][task], "out of order, or run twice"
            needed = event.item + 1 if scenario.policy_of(spec).pipelined else spec.batch
            for before in spec.application.predecessors(task):
                assert done[event.job][before] >= needed, "started before its predecessor was done"
        elif event.what is JobEventKind.ITEM_DONE and task is not None:
            done[event.job][task] += 1
    for number, record in run.jobs.items():
        if record.state is JobState.SUCCEEDED:
            spec = jobs[number]
            assert all(done[number][task.id] == spec.batch for task in spec.application.tasks), "an item was lost"


def check_jobs(scenario: Scenario, run: VirtualRun) -> None:
    """Every job ends, along the table, all its time booked, its memory given back."""
    assert set(run.jobs) == {job.id for job in scenario.jobs}
    assert not run.holding
    for record in run.jobs.values():
        assert record.state.is_final
        assert record.response_s is not None
        booked_s = record.waited_s + record.reconfiguring_s + record.running_s
        assert booked_s == pytest.approx(record.response_s, abs=1e-9)
        moves = [event.state for event in run.log if event.job == record.id and event.state is not None]
        assert all(after in TRANSITIONS[before] for before, after in itertools.pairwise([JobState.QUEUED, *moves]))
        assert moves[-1] is record.state
        assert (record.cause != "") == (record.state is JobState.FAILED)


def check(scenario: Scenario) -> VirtualRun:
    run = scenario.run()
    times = [event.at_s for event in run.log]
    assert times == sorted(times), "the log is not in time order"
    check_slots(scenario, run.log)
    check_items(scenario, run)
    check_jobs(scenario, run)
    return run


@settings(max_examples=150, deadline=None, derandomize=True)
@given(scenarios(faulty=False))
def test_without_faults_every_job_succeeds_and_the_promises_hold(scenario: Scenario) -> None:
    run = check(scenario)
    assert {record.state for record in run.jobs.values()} == {JobState.SUCCEEDED}
    assert all(record.items_done == record.batch for record in run.jobs.values())


@settings(max_examples=250, deadline=None, derandomize=True)
@given(scenarios(faulty=True))
def test_with_faults_and_cancellations_every_job_ends_and_the_promises_hold(scenario: Scenario) -> None:
    run = check(scenario)
    touched = {int(name.split(".")[0]) for name in scenario.faults.items} | {job for _, job in scenario.cancels}
    if not scenario.faults.loads:
        for number, record in run.jobs.items():
            assert record.state is JobState.SUCCEEDED or number in touched, "a fault disturbed another job"


@settings(max_examples=100, deadline=None, derandomize=True)
@given(scenarios(faulty=False, gpu=True))
def test_two_pools_keep_every_promise(scenario: Scenario) -> None:
    run = check(scenario)
    assert {record.state for record in run.jobs.values()} == {JobState.SUCCEEDED}


@settings(max_examples=150, deadline=None, derandomize=True)
@given(scenarios(faulty=True, gpu=True))
def test_two_pools_keep_every_promise_when_things_go_wrong(scenario: Scenario) -> None:
    check(scenario)


@pytest.mark.parametrize("memory", [False, True])
def test_neither_pool_keeps_the_configuration_port_from_the_other(memory: bool) -> None:
    apps = [Application(f"app{i}", (TaskSpec(0, "t", MODULES[i], (), 1e-3, 1.0),), ()) for i in range(2)]
    # Each is another tenant's: none finds its module.
    jobs = [JobSpec(i, f"t{i}", apps[i % 2], 1, 1, 0.0, None, memory) for i in range(12)]
    jobs += [kernel_job(12 + i, f"t{12 + i}", 1, 0.0, "m2", memory) for i in range(4)]
    scenario = Scenario(
        jobs=tuple(jobs),
        slots=1,
        latency=dict.fromkeys(MODULES, 1e-4),
        loads={0: LoadTime(0.0, 0.01), 1: LoadTime(0.0, 0.01)},
        blocking=False,
        faults=ModelFaults(),
        cancels=(),
        arena_jobs=None,
        policy=POLICIES["fcfs"](),
        gpu_slots=1,
        gpu_policy=POLICIES["fcfs"](),
    )
    loads = [event.slot for event in check(scenario).log if event.what is JobEventKind.CONFIGURE]
    assert loads[:8] == [0, 1] * 4


@settings(max_examples=40, deadline=None, derandomize=True)
@given(scenarios(faulty=True))
def test_the_same_inputs_give_the_same_trace(scenario: Scenario) -> None:
    first, second = scenario.run(), scenario.run()
    assert first.log == second.log
    assert first.jobs == second.jobs
