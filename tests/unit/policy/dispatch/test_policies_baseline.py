# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The two simplest policies, decision by decision."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.exclusive import Exclusive
from eddy.policy.dispatch.fcfs import FirstComeFirstServed
from eddy.policy.dispatch.views.view import Configure, DispatchPolicy, DispatchView, Jobs, JobView, SlotView, TaskView


def task(number: int, done: int = 0, slot: int | None = None, before: tuple[int, ...] = (), **more: Any) -> TaskView:
    return TaskView(number, f"m{number}", 1e-3, done, slot, before, **more)


def job(number: int, *tasks: TaskView, batch: int = 2, tenant: str = "a") -> JobView:
    return JobView(number, f"app{number}", tenant, batch, 1, float(number), None, 3, tasks)


def free(index: int, module: str = "", tenant: str = "") -> SlotView:
    return SlotView(index, module, tenant, None, None, False, False, 0.1)


def held(index: int, number: int, task_id: int = 0, loading: bool = False) -> SlotView:
    return SlotView(index, f"m{task_id}", "a", number, task_id, loading, not loading, 0.1)


def view(
    jobs: tuple[JobView, ...], slots: tuple[SlotView, ...], busy: bool = False, memory: Any = None
) -> DispatchView:
    return DispatchView(1.0, Jobs(jobs), slots, busy, (), memory)


CHAIN = (task(0), task(1, before=(0,)), task(2, before=(1,)))


@pytest.mark.parametrize("policy", [Exclusive(), FirstComeFirstServed()])
def test_nothing_to_do(policy: DispatchPolicy) -> None:
    assert policy.decide(view((), (free(0),), memory=policy.initial())).decisions == ()


def test_exclusive_lets_a_job_wait_until_the_board_is_its_own() -> None:
    first, second = job(1, task(0, done=1, slot=0)), job(2, task(0))
    assert Exclusive().decide(view((first, second), (held(0, 1), free(1)))).decisions == ()
    assert Exclusive().decide(view((second,), (held(0, 1), free(1)))).decisions == (), "another job still drains"
    assert Exclusive().decide(view((second,), (free(0), free(1)))).decisions == (Configure(2, 0, 0),)


def test_exclusive_loads_one_task_at_a_time_in_topological_order() -> None:
    assert Exclusive().decide(view((job(1, *CHAIN),), (free(0), free(1)))).decisions == (Configure(1, 0, 0),)
    busy = view((job(1, *CHAIN),), (free(0), free(1)), busy=True)
    assert Exclusive().decide(busy).decisions == ()


def test_exclusive_pipelines_behind_a_predecessor_that_has_a_slot() -> None:
    tasks = (task(0, slot=0), *CHAIN[1:])
    seen = view((job(1, *tasks),), (held(0, 1), free(1)))
    assert Exclusive(pipelined=True).decide(seen).decisions == (Configure(1, 1, 1),)
    assert Exclusive(pipelined=False).decide(seen).decisions == ()


def test_exclusive_in_bulk_waits_for_the_whole_batch() -> None:
    almost = view((job(1, task(0, done=1, slot=0), *CHAIN[1:]),), (held(0, 1), free(1)))
    done = view((job(1, task(0, done=2), *CHAIN[1:]),), (free(0), free(1)))
    assert Exclusive(pipelined=False).decide(almost).decisions == ()
    assert Exclusive(pipelined=False).decide(done).decisions == (Configure(1, 1, 0),)


@pytest.mark.parametrize("policy", [Exclusive(), FirstComeFirstServed()])
def test_slots_are_chosen_resident_then_empty_then_lowest(policy: DispatchPolicy) -> None:
    def choice(*slots: SlotView) -> tuple[object, ...]:
        return policy.decide(view((job(1, task(0)),), slots, memory=policy.initial())).decisions

    assert choice(free(0), free(1, "m0", "a")) == (Configure(1, 0, 1),)
    assert choice(free(0, "m9", "a"), free(1, "m0", "b"), free(2)) == (Configure(1, 0, 2),)
    assert choice(free(0, "m9", "a"), free(1, "m8", "b")) == (Configure(1, 0, 0),)


@pytest.mark.parametrize("policy", [Exclusive(), FirstComeFirstServed()])
def test_a_resident_module_needs_no_port_and_an_unfit_slot_is_passed_over(policy: DispatchPolicy) -> None:
    resident = view((job(1, task(0)),), (free(0, "m0", "a"),), busy=True, memory=policy.initial())
    assert policy.decide(resident).decisions == (Configure(1, 0, 0),)
    unfit = view((job(1, task(0, slots=(1,))),), (free(0), free(1)), memory=policy.initial())
    assert policy.decide(unfit).decisions == (Configure(1, 0, 1),)
    nowhere = view((job(1, task(0, slots=(5,))),), (free(0), free(1)), memory=policy.initial())
    assert policy.decide(nowhere).decisions == ()


def test_fcfs_serves_in_the_order_tasks_became_ready() -> None:
    policy = FirstComeFirstServed()
    waiting, later = job(2, task(0)), job(1, task(0, done=0, slot=0), task(1, before=(0,)))
    full = (held(0, 1),)
    first = policy.decide(view((later, waiting), full, memory=None))
    assert first.memory.entries == ((2, 0),)
    ready = dataclasses.replace(later, tasks=(task(0, done=1, slot=0), task(1, before=(0,))))
    second = policy.decide(view((ready, waiting), (held(0, 1), free(1)), memory=first.memory))
    assert second.memory.entries == ((2, 0), (1, 1)), "job 1 is older, but its task became ready later"
    assert second.decisions == (Configure(2, 0, 1),)


def test_fcfs_is_ready_by_item_when_pipelined_and_by_batch_in_bulk() -> None:
    seen = view((job(1, task(0, done=1, slot=0), *CHAIN[1:]),), (held(0, 1), free(1)))
    assert FirstComeFirstServed(pipelined=True).decide(seen).decisions == (Configure(1, 1, 1),)
    assert FirstComeFirstServed(pipelined=False).decide(seen).decisions == ()


def test_fcfs_keeps_a_slot_back_for_a_task_that_waits_for_the_port() -> None:
    policy = FirstComeFirstServed()
    jobs = (job(1, task(0)), job(2, task(0), tenant="b"))
    one = view(jobs, (free(0, "m0", "b"),), busy=True, memory=None)
    assert policy.decide(one).decisions == (), "the only slot is kept for the older task"
    two = view(jobs, (free(0), free(1, "m0", "b")), busy=True, memory=None)
    assert policy.decide(two).decisions == (Configure(2, 0, 1),)


def test_fcfs_forgets_what_is_not_ready_any_more() -> None:
    two = view((job(9, task(0)), job(1, task(0))), (held(0, 5),))
    first = FirstComeFirstServed().decide(two)
    assert first.memory.entries == ((1, 0), (9, 0))
    second = FirstComeFirstServed().decide(view((job(1, task(0)),), (free(0),), memory=first.memory))
    assert second.memory.entries == ((1, 0),)


def test_fcfs_looks_at_what_changed_and_keeps_places_where_a_task_fits_elsewhere() -> None:
    policy, full = FirstComeFirstServed(), (held(0, 5), held(1, 5, 1))
    jobs = (job(1, task(0)), job(2, task(0)))
    first = policy.decide(view(jobs, full))
    unfit = (job(1, task(0, slots=(1,))), jobs[1])
    told = dataclasses.replace(view(unfit, full, memory=first.memory), changed=frozenset({1}))
    second = policy.decide(told)
    assert second.memory.entries == ((1, 0), (2, 0)), "it keeps its place"
    third = view(unfit, (free(0), held(1, 5, 1)), memory=second.memory)
    assert policy.decide(dataclasses.replace(third, changed=frozenset())).decisions == (Configure(2, 0, 0),)


def test_the_registry_names_its_policies() -> None:
    for name, make in POLICIES.items():
        assert make(pipelined=False).name == name
        assert make(pipelined=False).pipelined is False
        assert make(pipelined=True).pipelined is True
