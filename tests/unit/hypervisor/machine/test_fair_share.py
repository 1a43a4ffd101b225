# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Slots between tenants by weight, before any policy's rank: the machine in virtual time under every policy."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import cast

import pytest
from eddy.board.model.model import SHELL, LoadTime, ModelBoard
from eddy.board.model.model_images import model_images
from eddy.board.port.port import BoardDescription
from eddy.core.applications import Application, TaskSpec
from eddy.core.projects import Project, WeightsOf, effective_weights
from eddy.core.records import JobEventKind
from eddy.core.slots import Pool, SlotDescription
from eddy.hypervisor.engine.engine import OVERDUE_S, OverdueJobs
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.messages import JobSpec
from eddy.hypervisor.jobs.slot import Phase
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.machine.virtual import VirtualRun, run_virtual
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.sharing.fair_share import MAX_MISSED, FairMemory

LOAD_S = 8e-3


def chain(name: str, *items_s: float) -> Application:
    tasks = tuple(TaskSpec(i, f"t{i}", f"{name}{i}", (), each_s, 100.0) for i, each_s in enumerate(items_s))
    return Application(name, tasks, tuple((i - 1, i) for i in range(1, len(tasks))), (), 1000)


SHORT, OTHER, LONG = chain("short", *[1e-3] * 3), chain("other", *[1e-3] * 3), chain("long", 0.3, 0.3)
STEADY, BULKY = chain("steady", 0.03, 0.03), chain("bulky", 0.03, 0.03)
ONE, TWO, THREE = chain("one", 5e-3), chain("two", 5e-3), chain("three", 0.02)
HELD = Application(
    "held", (TaskSpec(0, "t0", "slow", (), 5.0, 100.0), TaskSpec(1, "t1", "one0", (), 5e-3, 100.0)), ((0, 1),), (), 1000
)
APPS = (SHORT, OTHER, LONG, STEADY, BULKY, ONE, TWO, THREE, HELD)
ITEMS_S = {task.module: task.estimate_s for app in APPS for task in app.tasks}


class Watch:
    """Sees every step; `until` says whether to go on adding up slot-seconds."""

    def __init__(self, first: Callable[[Machine], None], until: Callable[[Machine], bool]) -> None:
        self.first, self.until = first, until
        self.spent, self._held, self._at_s = defaultdict[str, float](float), Counter[str](), 0.0
        self.begun, self.ended = False, False

    def before(self, machine: Machine, inputs: Sequence[m.Input], now_s: float) -> None:
        if not self.begun:
            self.begun = True
            self.first(machine)
        for tenant, count in self._held.items():
            self.spent[tenant] += count * (now_s - self._at_s) if not self.ended else 0
        self._at_s = now_s

    def after(self, machine: Machine, outcome: m.StepResult) -> None:
        self._held = Counter(slot.tenant for slot in machine.slots.values() if slot.job is not None)
        self.ended = self.ended or not self.until(machine)


def nothing(machine: Machine) -> None:
    """Nothing is done to the machine."""


def run(
    policy: str,
    jobs: Sequence[JobSpec],
    slots: int,
    weights: Mapping[str, float] | None = None,
    first: Callable[[Machine], None] = nothing,
    until: Callable[[Machine], bool] = lambda _: True,
    fits: Mapping[str, Sequence[int]] | None = None,
    scrubs: bool = False,
    watch: Watch | None = None,
    weights_of: WeightsOf | None = None,
) -> tuple[VirtualRun, Watch]:
    """Play jobs; `fits` says which slots alone modules have images for, `scrubs` whether modules stay for others."""
    described = tuple(SlotDescription(index, f"slot{index}", Pool.PIPELINE, 1, 1e8) for index in range(slots))
    board = BoardDescription("model", "test", SHELL, 1e8, described, 1 << 30, 1e9, False)
    times = {index: LoadTime(0.0, LOAD_S) for index in range(slots)}
    watch = watch or Watch(first, until)
    every = model_images(board, ITEMS_S, ITEMS_S if scrubs else ())
    images = [image for image in every if image.slot in (fits or {}).get(image.module, range(slots))]
    model = ModelBoard(board, images, lambda module, _: ITEMS_S[module], load_times=times, real_memory=False)
    load_s = dict.fromkeys(times, LOAD_S)

    def own_weights(tenants: Collection[str]) -> Mapping[str, float]:
        return {tenant: (weights or {}).get(tenant, 1.0) for tenant in tenants}

    made, weights_of = POLICIES[policy](pipelined=True), weights_of or own_weights
    found = run_virtual(model, made, jobs, load_s=load_s, watch=watch, weights_of=weights_of)
    assert all(job.state.value == "succeeded" for job in found.jobs.values())
    return found, watch


def slowest_s(found: VirtualRun, tenant: str) -> float:
    return max(job.response_s or 0.0 for job in found.jobs.values() if job.tenant == tenant)


LOADS = {
    "the same application": (SHORT, SHORT, 1, 64),
    "another application": (OTHER, SHORT, 1, 64),
    "long batches": (OTHER, SHORT, 80, 3),
    "long items": (LONG, SHORT, 6, 4),
}


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("load", LOADS)
def test_the_slowest_job_beside_a_flood_takes_five_times_its_time_alone_and_one_item(
    load: str, policy: str, slots: int
) -> None:
    hogs, small, batch, count = LOADS[load]
    flood = [JobSpec(number, "hog", hogs, batch, 9, 0.0) for number in range(1, count + 1)]
    single = [JobSpec(1000 + number, "small", small, 1, 1, 0.02 + 0.2 * number) for number in range(3)]
    alone_s = slowest_s(run(policy, single[:1], slots)[0], "small")
    item_s = max(task.estimate_s for task in hogs.tasks)
    found, _ = run(policy, [*flood, *single], slots)
    assert slowest_s(found, "small") <= 5 * alone_s + item_s


@pytest.mark.parametrize("weights", [{}, {"a": 3.0}])
@pytest.mark.parametrize("policy", POLICIES)
def test_slot_seconds_go_by_weight_where_all_have_work(policy: str, weights: Mapping[str, float]) -> None:
    """One has many short jobs of high priority, the other few long ones: neither is an advantage."""
    if weights and policy == "exclusive":
        pytest.skip("it runs one job of a tenant at a time, which cannot use three quarters of the slots")
    jobs = [JobSpec(number, "a", STEADY, 1, 9, 0.0) for number in range(60)]
    jobs += [JobSpec(1000 + number, "b", BULKY, 20, 1, 0.0) for number in range(5)]

    def all_have_work(machine: Machine) -> bool:
        left = Counter(job.spec.tenant for job in machine.jobs.values() if not job.slots)
        return min(left["a"], left["b"]) >= 2

    _, watch = run(policy, jobs, 3, weights, until=all_have_work)
    total_s = sum(watch.spent.values())
    assert total_s > 1.5
    part = weights.get("a", 1.0) / (weights.get("a", 1.0) + 1.0)
    assert watch.spent["a"] / total_s == pytest.approx(part, rel=0.05)


VISION, CHIPS = Project("vision", 1.0, ("a",)), Project("chips", 1.0, ("b0", "b1", "b2", "b3", "b4"))
PROJECT_OF = {tenant: project for project in (VISION, CHIPS) for tenant in project.members}


def of_projects(used: Mapping[str, float]) -> WeightsOf:
    return lambda tenants: effective_weights(dict.fromkeys(tenants, 1.0), PROJECT_OF, used)


def parts_of_projects(policy: str, slots: int, used: Mapping[str, float], busy: Collection[str]) -> Counter[str]:
    """Parts of the slot-seconds that projects have while each of the busy tenants has work; of those of `chips` that
    are not, each has one job."""
    jobs = [JobSpec(number, "a", STEADY, 1, 9, 0.0) for number in range(150)]
    for tenant in CHIPS.members:
        jobs += [JobSpec(len(jobs) + number, tenant, BULKY, 10, 1, 0.0) for number in range(8 if tenant in busy else 1)]

    def all_have_work(machine: Machine) -> bool:
        left = Counter(job.spec.tenant for job in machine.jobs.values() if not job.slots)
        return min(left[tenant] for tenant in busy) >= 2

    _, watch = run(policy, jobs, slots, until=all_have_work, weights_of=of_projects(used))
    total_s = sum(watch.spent.values())
    assert total_s > 1.5
    found = Counter[str]()
    for tenant, spent_s in watch.spent.items():
        found[PROJECT_OF[tenant].id] += spent_s / total_s  # type: ignore[assignment]
    return found


@pytest.mark.parametrize("busy", [("a", *CHIPS.members), ("a", "b0", "b1")])
@pytest.mark.parametrize("slots", [2, 3])
@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "exclusive"])
def test_projects_of_equal_shares_have_half_each_however_many_tenants_they_have(
    policy: str, slots: int, busy: tuple[str, ...]
) -> None:
    found = parts_of_projects(policy, slots, {}, busy)
    assert found["vision"] == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize("used", [1.0, 0.5])
def test_a_project_that_used_much_has_less_and_catches_up_as_that_is_forgotten(used: float) -> None:
    """It had the whole board: 2 ** -(1 / 0.5), a quarter of its weight; a half-life later one half."""
    left = 2.0 ** -(used / 0.5)
    found = parts_of_projects("eddy", 3, {"a": used}, ("a", *CHIPS.members))
    assert found["vision"] == pytest.approx(left / (1.0 + left), rel=0.05)


@pytest.mark.parametrize(("slots", "weights"), [(2, (2.0, 1.0, 4.0)), (4, (1.0, 3.0, 1.0))])
@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "exclusive"])
def test_three_tenants_are_within_a_quantum_and_an_item_on_each_slot(
    policy: str, slots: int, weights: tuple[float, float, float]
) -> None:
    """Whatever their applications, batches and priorities: drawn, the same for each policy."""
    chance = random.Random(f"{slots} {weights}")
    kinds = {tenant: (chance.choice((LONG, STEADY, BULKY)), chance.choice((1, 4, 20))) for tenant in "abc"}
    jobs = list[JobSpec]()
    for tenant, (kind, batch) in kinds.items():
        count = max(6, int(3.0 * slots / (batch * sum(task.estimate_s for task in kind.tasks))))
        priority = chance.choice((1, 3, 9))
        jobs += [JobSpec(len(jobs) + number, tenant, kind, batch, priority, 0.0) for number in range(min(count, 150))]

    def all_have_work(machine: Machine) -> bool:
        left = Counter(job.spec.tenant for job in machine.jobs.values() if not job.slots)
        return min(left[tenant] for tenant in kinds) >= slots

    _, watch = run(policy, jobs, slots, dict(zip("abc", weights, strict=True)), until=all_have_work)
    total_s = sum(watch.spent.values())
    assert total_s > 1.5
    bound_s = slots * (2 * LOAD_S + max(task.estimate_s for kind, _ in kinds.values() for task in kind.tasks))
    for tenant, weight in zip("abc", weights, strict=True):
        assert abs(watch.spent[tenant] - total_s * weight / sum(weights)) <= bound_s


def test_what_one_cannot_use_the_others_have() -> None:
    """Work is conserved: no slot is free while the port is, and somebody has a task that could start."""
    jobs = [JobSpec(number, "abc"[number % 3], (SHORT, OTHER)[number % 2], 3, 1, 1e-3 * number) for number in range(60)]
    idle: list[float] = []

    class Looking(Watch):
        def after(self, machine: Machine, outcome: m.StepResult) -> None:
            free = [slot for slot in machine.slots.values() if slot.phase is Phase.FREE]
            if not free or machine.state.port.loading is not None:
                return
            waiting = [job for job in machine.jobs.values() if not job.slots and not any(job.items.done)]
            idle.extend([machine.state.now_s] * len(waiting))

    described = tuple(SlotDescription(index, f"slot{index}", Pool.PIPELINE, 1, 1e8) for index in range(4))
    board = BoardDescription("model", "test", SHELL, 1e8, described, 1 << 30, 1e9, False)
    images = model_images(board, ITEMS_S)
    times = {index: LoadTime(0.0, LOAD_S) for index in range(4)}
    model = ModelBoard(board, images, lambda module, _: ITEMS_S[module], load_times=times, real_memory=False)
    watch = Looking(nothing, lambda _: True)
    run_virtual(model, POLICIES["fcfs"](pipelined=True), jobs, load_s=dict.fromkeys(times, LOAD_S), watch=watch)
    assert not idle


@pytest.mark.parametrize("policy", POLICIES)
def test_with_one_tenant_nothing_is_different(policy: str) -> None:
    """The same trace, entry for entry, as with the policy alone."""
    apps, priorities = (SHORT, OTHER, LONG), (1, 3, 9)
    jobs = [
        JobSpec(number, "a", apps[number % 3], 1 + number % 4, priorities[number % 5 % 3], 4e-3 * number)
        for number in range(40)
    ]

    def alone(machine: Machine) -> None:
        machine.state.pools[Pool.PIPELINE].switch(POLICIES[policy](pipelined=True))

    shared, plain = run(policy, jobs, 3)[0], run(policy, jobs, 3, first=alone)[0]
    assert shared.log == plain.log


@pytest.mark.parametrize("policy", ["eddy", "nimblock", "round_robin"])
def test_an_overdue_job_is_next_whatever_its_priority(policy: str) -> None:
    """A tenant's own jobs of a higher priority keep coming; the one that is overdue has the next slot all the same."""
    jobs = [JobSpec(1, "a", SHORT, 1, 1, 1e-3)]
    jobs += [JobSpec(2 + number, "a", OTHER, 1, 9, 1e-3 * number) for number in range(300)]

    class Telling(Watch):
        def before(self, machine: Machine, inputs: Sequence[m.Input], now_s: float) -> None:
            if now_s > 0.05 and not self.begun and isinstance(inputs, list) and 1 in machine.jobs:
                assert machine.jobs[1].started_s is None, "the others come first, else the test shows nothing"
                self.begun = True
                cast(list[m.Input], inputs).append(m.Overdue(1))

    described = tuple(SlotDescription(index, f"slot{index}", Pool.PIPELINE, 1, 1e8) for index in range(2))
    board = BoardDescription("model", "test", SHELL, 1e8, described, 1 << 30, 1e9, False)
    times = {index: LoadTime(0.0, LOAD_S) for index in range(2)}
    images = model_images(board, ITEMS_S)
    model = ModelBoard(board, images, lambda module, _: ITEMS_S[module], load_times=times, real_memory=False)
    watch = Telling(nothing, lambda _: True)
    found = run_virtual(model, POLICIES[policy](pipelined=True), jobs, load_s=dict.fromkeys(times, LOAD_S), watch=watch)
    assert watch.begun
    begun_s = min(each.at_s for each in found.log if each.job == 1 and each.what is JobEventKind.CONFIGURE)
    assert begun_s <= 0.05 + 4 * LOAD_S


def reasons(found: VirtualRun) -> set[str]:
    """Why slots were taken, as the event log has it."""
    return {event.detail for event in found.log if event.what is JobEventKind.PREEMPT}


def test_a_slot_that_is_taken_for_a_tenants_share_says_so() -> None:
    jobs = [JobSpec(number, "a", ONE, 200, 9, 0.0) for number in (1, 2)] + [JobSpec(3, "b", TWO, 20, 1, 0.05)]
    found, _ = run("fcfs", jobs, 2)
    assert reasons(found) == {"fair-share"}


def test_a_slot_that_is_taken_for_a_tenants_own_overdue_job_says_so() -> None:
    class Late(Watch):
        def before(self, machine: Machine, inputs: Sequence[m.Input], now_s: float) -> None:
            if now_s > 0.05 and not self.begun and isinstance(inputs, list):
                self.begun = True
                cast(list[m.Input], inputs).append(m.Overdue(3))

    jobs = [JobSpec(number, "a", ONE, 200, 9, 0.0) for number in (1, 2)] + [JobSpec(3, "a", TWO, 1, 1, 1e-3)]
    watch = Late(nothing, lambda _: True)
    found, _ = run("fcfs", jobs, 2, watch=watch)
    assert watch.begun
    assert reasons(found) == {"overdue"}


def test_a_job_is_overdue_after_a_minute_without_a_slot_by_the_wall_clock() -> None:
    now_s = [0.0]
    made = Machine({0: LOAD_S}, POLICIES["nimblock"](pipelined=True), {each: {0: each} for each in ITEMS_S})
    overdue = OverdueJobs(lambda: now_s[0])
    made.step(0.0, [m.Arrive(JobSpec(number, "a", SHORT, 1, 1)) for number in (1, 2)])
    for number in (1, 2):
        overdue.watch(number)
    assert made.jobs[1].slots
    now_s[0] = OVERDUE_S - 1
    assert overdue.take_overdue(made.jobs) == []
    now_s[0] = OVERDUE_S
    assert overdue.take_overdue(made.jobs) == [m.Overdue(2)], "the first has a slot: it is looked at again"
    made.step(0.0, [m.Overdue(2)])
    assert made.view().jobs.job(2).overdue
    assert overdue.take_overdue(made.jobs) == []


class OverdueWatch(Watch):
    """Says after a while that job 1 is overdue."""

    def before(self, machine: Machine, inputs: Sequence[m.Input], now_s: float) -> None:
        if now_s > 0.012 and not self.begun:
            self.begun = True
            cast(list[m.Input], inputs).append(m.Overdue(1))


@pytest.mark.parametrize("policy", POLICIES)
def test_an_overdue_job_is_next_though_a_flood_of_its_tenant_finds_its_module_and_others_are_there(policy: str) -> None:
    flood = [JobSpec(2 + number, "a", ONE, 1, 9, 1e-4 * number) for number in range(200)]
    jobs = [JobSpec(1, "a", TWO, 1, 1, 0.011), *flood, JobSpec(5000, "b", THREE, 100, 1, 0.0)]
    found, _ = run(policy, jobs, 2, watch=OverdueWatch(nothing, lambda _: True))
    begun_s = next(entry.at_s for entry in found.log if entry.job == 1 and entry.what is JobEventKind.CONFIGURE)
    if policy == "exclusive":
        assert begun_s < 0.1, "once the job of its tenant ends that is at work"
    else:
        assert begun_s < 0.03


@pytest.mark.parametrize("policy", POLICIES)
def test_who_fits_one_slot_alone_is_not_held_back_by_who_has_it(policy: str) -> None:
    """Another tenant has the slots that it could take and cannot use."""
    jobs = [JobSpec(number, "c", THREE, 40, 1, 0.0) for number in range(1, 21)]
    jobs += [JobSpec(100 + number, "b", TWO, 100, 1, 0.0) for number in range(5)] + [JobSpec(1000, "a", ONE, 1, 1, 0.5)]
    found, _ = run(policy, jobs, 3, fits={"three0": [0, 2], "two0": [1], "one0": [1]})
    assert slowest_s(found, "a") < 0.1


@pytest.mark.parametrize("weights", [{}, {"h": 3.0}])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_module_in_anothers_slot_is_waited_for_and_not_for_long(policy: str, weights: Mapping[str, float]) -> None:
    """What its last items should take says nothing of when they begin: they wait for an item of 5 s. A slot is free."""
    jobs = [JobSpec(1, "h", HELD, 3, 1, 0.0), JobSpec(2, "s", ONE, 1, 1, 6.5)]
    found, _ = run(policy, jobs, 4, weights, scrubs=True)
    assert slowest_s(found, "s") < 2 * LOAD_S + LOAD_S + 2 * 5e-3
    soon = [JobSpec(1, "h", ONE, 100, 1, 0.0), JobSpec(2, "s", ONE, 1, 1, LOAD_S + 0.495)]
    loads = [entry for entry in run(policy, soon, 4, scrubs=True)[0].log if entry.what is JobEventKind.CONFIGURED]
    assert [(entry.job, entry.detail) for entry in loads] == [(1, ""), (2, "scrub")], "it is given back in 5 ms"


class Memories(Watch):
    """Sees how much is remembered for who is not asked."""

    most = 0

    def after(self, machine: Machine, outcome: m.StepResult) -> None:
        memory = machine.state.pools[Pool.PIPELINE].memory
        assert isinstance(memory, FairMemory)
        self.most = max([self.most, *[len(lane.seen) for lane in memory.lanes.values()]])


def test_what_is_remembered_for_who_waits_long_is_bounded() -> None:
    jobs = [JobSpec(1, "a", SHORT, 1000, 1, 0.0), JobSpec(2, "c", HELD, 1, 1, 0.0), JobSpec(3, "b", TWO, 1, 1, 0.05)]
    fits = {"slow": [1], "one0": [1], "two0": [1], **{f"short{number}": [0] for number in range(3)}}
    _, watch = run("fcfs", jobs, 2, fits=fits, watch=Memories(nothing, lambda _: True))
    assert isinstance(watch, Memories)
    assert 0 < watch.most <= MAX_MISSED
