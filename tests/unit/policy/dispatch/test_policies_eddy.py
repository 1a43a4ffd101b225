# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The `eddy` policy on worlds small enough to decide by hand, and what it learns."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from eddy.core.slots import PreemptReason
from eddy.policy.dispatch.choosing.memory import PolicyMemory
from eddy.policy.dispatch.eddy import Eddy
from eddy.policy.dispatch.views.outlook import look_ahead
from eddy.policy.dispatch.views.view import (
    Configure,
    Dispatch,
    DispatchView,
    Jobs,
    JobView,
    Observation,
    Preempt,
    Prefetch,
    SlotView,
    TaskView,
)

EDDY = Eddy()


def job(number: int, *estimates_s: float, batch: int = 1, priority: int = 1, **more: Any) -> JobView:
    """A job whose tasks form a chain."""
    tasks = tuple(TaskView(i, f"m{number}_{i}", s, 0, None, (i - 1,) if i else ()) for i, s in enumerate(estimates_s))
    made = JobView(number, f"app{number}", "t", batch, priority, 0.0, None, 3, tasks)
    return dataclasses.replace(made, **more)


def at(view: JobView, task: int, slot: int | None = None, done: int = 0) -> JobView:
    """The job with one task somewhere."""
    tasks = [dataclasses.replace(t, slot=slot, items_done=done) if t.id == task else t for t in view.tasks]
    return dataclasses.replace(view, tasks=tuple(tasks))


def slot(index: int, module: str = "", owner: tuple[int, int] | None = None, running: bool = False) -> SlotView:
    number, task = owner or (None, None)
    return SlotView(index, module, "t" if module else "", number, task, False, running, 0.1)


def crowd(number: int = 99) -> JobView:
    """A job with so much work, all of it side by side, that nobody else's path is long against it."""
    return job(number, tasks=tuple(TaskView(i, f"c{i}", 2.0, 0, None, ()) for i in range(60)))


def decide(
    jobs: list[JobView],
    slots: list[SlotView],
    *,
    memory: PolicyMemory | None = None,
    seen: tuple[Observation, ...] = (),
    now_s: float = 0.0,
    busy: bool = False,
) -> Dispatch:
    return EDDY.decide(DispatchView(now_s, Jobs(jobs), tuple(slots), busy, seen, memory or EDDY.initial()))


def test_least_work_left_goes_first_and_ties_go_to_the_older() -> None:
    long, short = job(0, 1.0, batch=5), job(1, 1.0, batch=2)
    assert decide([long, short], [slot(0)]).decisions == (Configure(1, 0, 0),)
    assert decide([short, dataclasses.replace(short, id=2)], [slot(0)]).decisions == (Configure(1, 0, 0),)
    urgent = dataclasses.replace(long, priority=9)
    assert decide([urgent, short], [slot(0)]).decisions == (Configure(0, 0, 0),)


def test_what_was_seen_outweighs_estimates() -> None:
    claims_less, honest = job(0, 0.1, batch=5), job(1, 0.2, batch=5)
    jobs = [claims_less, honest, crowd()]
    assert decide(jobs, [slot(0)]).decisions == (Configure(0, 0, 0),)
    seen = (Observation("m0_0", 0.9, "app0", 0, 0.1), Observation("m1_0", 0.2, "app1", 0, 0.2))
    learned = decide(jobs, [slot(0)], seen=seen)
    assert learned.decisions == (Configure(1, 0, 0),)
    later = decide(jobs, [slot(0)], memory=learned.memory)
    assert later.decisions == (Configure(1, 0, 0),), "and is remembered"


def test_a_job_that_ends_last_anyway_gets_one_slot_early() -> None:
    endless, short = job(0, 100.0), job(1, 1.0, 1.0, batch=4)
    alone = decide([endless, short], [slot(0)]).decisions
    assert alone == (Configure(0, 0, 0),), "a fortieth of its path is less than the work of the other"
    tiny = job(2, 0.1)
    assert decide([endless, tiny], [slot(0)]).decisions == (Configure(2, 0, 0),)
    wide = dataclasses.replace(endless, tasks=tuple(TaskView(i, f"w{i}", 100.0, 0, None, ()) for i in range(2)))
    placed = at(wide, 0, slot=0)
    one = decide([placed, short], [slot(0, "w0", (0, 0), running=True), slot(1)]).decisions
    assert one == (Configure(1, 0, 1),), "one slot, not two"


def test_waiting_makes_urgent() -> None:
    old, young = job(0, 1.0, batch=4), job(1, 1.0, batch=2, arrival_s=100.0)
    assert decide([old, young], [slot(0)], now_s=100.0).decisions == (Configure(0, 0, 0),)


def test_of_alike_the_one_whom_sharing_delays_most_goes_first() -> None:
    """Who came first would have ended soon without sharing; who came behind a long one would not have."""
    first, endless, later = job(0, 1.0, batch=5), job(1, 500.0), job(2, 1.0, batch=4)
    jobs = [first, endless, later, crowd()]
    assert decide(jobs, [slot(0)]).decisions == (Configure(0, 0, 0),), "though it has more work"
    alike = dataclasses.replace(EDDY, claim=0.0)
    view = DispatchView(0.0, Jobs(jobs), (slot(0),), False, (), alike.initial())
    assert alike.decide(view).decisions == (Configure(2, 0, 0),)


def test_a_deadline_that_comes_near_makes_urgent_and_one_that_is_lost_does_not() -> None:
    short = job(1, 1.0, batch=2)

    def first(deadline_s: float) -> int:
        due = job(0, 1.0, batch=6, deadline_s=deadline_s)
        configure = decide([due, short, crowd()], [slot(0)]).decisions[0]
        assert isinstance(configure, Configure)
        return configure.job

    assert [first(deadline_s) for deadline_s in (100.0, 6.5, 5.0)] == [1, 0, 1]


def test_a_module_that_is_there_is_used_without_the_port() -> None:
    first = job(0, 1.0)
    there = [slot(0, "other"), slot(1, "m0_0")]
    assert decide([first], there, busy=True).decisions == (Configure(0, 0, 1),)
    foreign = dataclasses.replace(slot(1, "m0_0"), tenant="somebody else")
    assert not any(isinstance(d, Configure) for d in decide([first], [foreign], busy=True).decisions)


def test_a_module_that_is_soon_given_back_is_not_loaded_again() -> None:
    """Items take 10 ms here, and loads 100 ms."""
    free = slot(1, "else")

    def join(
        left: int = 5, ready: int = 5, tenant: str = "t", slots: tuple[SlotView, ...] = (free,), batch: int = 1
    ) -> Dispatch:
        """A task asks for the module with which another job has items left, of which some have their inputs."""
        chain = job(0, 0.01, 0.01, batch=9)
        tasks = (
            dataclasses.replace(chain.tasks[0], items_done=9 - left + ready),
            dataclasses.replace(chain.tasks[1], slot=0, items_done=9 - left),
        )
        alike = job(1, 0.01, tenant=tenant, batch=batch)
        wants = dataclasses.replace(alike, tasks=(dataclasses.replace(alike.tasks[0], module="m0_1"),))
        other = dataclasses.replace(wants, id=2, arrival_s=0.1)
        held = slot(0, "m0_1", (0, 1), running=True)
        jobs = [dataclasses.replace(chain, tasks=tasks), wants]
        return decide([*jobs, other] if slots != (free,) else jobs, [held, *slots], now_s=0.1)

    assert not any(isinstance(decision, Configure) for decision in join().decisions)
    assert Configure(1, 0, 1) in join(left=9, ready=3).decisions, "where the other must wait for its own inputs"
    assert Configure(1, 0, 1) in join(tenant="somebody else").decisions, "who may not use what is there"
    assert Configure(1, 0, 1) in join(slots=(slot(1),)).decisions, "where nothing was ever seen left in a slot"
    assert join(slots=(free, slot(2))).decisions == (), "two join, one after the other"
    long = join(slots=(free, slot(2)), batch=30)
    assert long.decisions == (Configure(2, 0, 2),), "one joins who has it for long, the next does not"


def test_a_slot_kept_for_a_load_is_lent_to_a_short_task_that_needs_none() -> None:
    """The port is busy: the first job would have the one free slot loaded next, and wipe out the other's module."""
    first, there = job(0, 0.05, priority=9), slot(0, "m1_0")
    kept = Prefetch("m0_0", 0)
    assert decide([first, job(1, 0.02, batch=4)], [there], busy=True).decisions == (kept, Configure(1, 0, 0))
    assert decide([first, job(1, 0.02, batch=6)], [there], busy=True).decisions == (kept,), "longer than a load"
    foreign = dataclasses.replace(there, tenant="another's")
    assert decide([first, job(1, 0.02)], [foreign], busy=True).decisions == (kept,), "nobody scrubs it"
    scrubbed = dataclasses.replace(foreign, scrubs=True)
    assert decide([first, job(1, 0.02)], [scrubbed], busy=True).decisions == (kept, Configure(1, 0, 0))


def test_a_task_whose_items_come_while_it_is_loaded_does_not_wait_for_them_first() -> None:
    """Its predecessor does them in a slot: within a load of 100 ms there is one of 100 ms, and none of 101."""

    def ready(item_s: float, placed: bool = True) -> list[int]:
        chain = job(0, item_s, 0.01, batch=1)
        begun = at(chain, 0, slot=0) if placed else chain
        return [task.id for task in look_ahead(begun, (item_s, 0.01), 0.1, True).ready]

    assert ready(0.1) == [1]
    assert ready(0.101) == []
    assert ready(0.1, placed=False) == [0]


def test_a_long_wait_for_a_module_is_worse_than_a_load() -> None:
    holder, wants = at(job(0, 0.1, batch=3), 0, slot=0), job(1, 0.1)
    wants = dataclasses.replace(wants, tasks=(dataclasses.replace(wants.tasks[0], module="m0_0"),))
    held, free = slot(0, "m0_0", (0, 0), running=True), slot(1, "else")
    assert decide([holder, wants], [held, free]).decisions == (Configure(1, 0, 1),)
    nearly = at(holder, 0, slot=0, done=2)
    assert decide([nearly, wants], [held, free]).decisions == ()


def test_a_module_given_in_the_same_decision_is_not_loaded_again() -> None:
    """Two jobs come at once and want one module, which is there: the second waits, and wipes out nothing."""

    def alike(number: int, batch: int, tenant: str = "t", item_s: float = 0.01) -> JobView:
        made = job(number, item_s, batch=batch, tenant=tenant)
        return dataclasses.replace(made, tasks=(dataclasses.replace(made.tasks[0], module="both"),))

    there, free = slot(0, "both"), slot(1, "else")
    first = Configure(0, 0, 0)
    assert decide([alike(0, 5), alike(1, 9)], [there, free]).decisions == (first,)
    assert decide([alike(0, 30), alike(1, 30)], [there, free]).decisions == (first, Configure(1, 0, 1)), "too long"
    foreign = alike(1, 9, tenant="somebody else")
    assert decide([alike(0, 5), foreign], [there, free]).decisions == (first, Configure(1, 0, 1))
    scrubbed = dataclasses.replace(there, scrubs=True)
    assert decide([alike(0, 5), foreign], [scrubbed, free]).decisions == (first,)
    several = [alike(0, 9), alike(1, 9), alike(2, 9), alike(3, 9)]
    assert decide(several, [there, free, slot(2, "more")]).decisions == (first, Configure(3, 0, 1)), "a line too long"


def test_of_a_jobs_tasks_the_one_with_the_longest_way_goes_first() -> None:
    """The first task is nearly done; the second has its whole batch before it."""
    chain = job(0, 1.0, 1.0, batch=9)
    tasks = tuple(dataclasses.replace(t, items_done=d) for t, d in zip(chain.tasks, (7, 0), strict=True))
    assert decide([dataclasses.replace(chain, tasks=tasks)], [slot(0)]).decisions == (Configure(0, 1, 0),)
    even = tuple(dataclasses.replace(t, items_done=d) for t, d in zip(chain.tasks, (4, 3), strict=True))
    assert decide([dataclasses.replace(chain, tasks=even)], [slot(0)]).decisions == (Configure(0, 0, 0),)


def test_what_is_loaded_over_is_wanted_last() -> None:
    now, next_, late = job(0, 0.1), job(1, 1.0), job(2, 9.0)

    def over(*slots: SlotView) -> int:
        configure = decide([now, next_, late], list(slots)).decisions[0]
        assert isinstance(configure, Configure)
        assert configure.job == 0
        return configure.slot

    assert over(slot(0, "m1_0"), slot(1, "m2_0")) == 1
    assert over(slot(0, "m1_0"), slot(1, "m2_0"), slot(2, "nobody's")) == 2
    assert over(slot(0, "m1_0"), slot(1, "m2_0"), slot(2, "nobody's"), slot(3)) == 3


def test_the_image_of_the_next_load_is_read_ahead_once() -> None:
    jobs = [job(0, 1.0), job(1, 2.0), crowd()]
    first = decide(jobs, [slot(0), slot(1)])
    assert first.decisions == (Configure(0, 0, 0), Prefetch("m1_0", 1))
    again = decide(jobs, [slot(0), slot(1)], busy=True, memory=first.memory)
    assert again.decisions == (Prefetch("m0_0", 0),)
    assert decide(jobs, [slot(0), slot(1)], busy=True, memory=again.memory).decisions == ()


def test_a_slot_is_taken_from_the_job_with_most_work_left_and_only_once() -> None:
    large, larger = at(job(0, 5.0, batch=9), 0, slot=0), at(job(1, 6.0, batch=9), 0, slot=1)
    short = job(2, 0.5)
    slots = [slot(0, "m0_0", (0, 0), running=True), slot(1, "m1_0", (1, 0), running=True)]
    first = decide([large, larger, short], slots)
    assert first.decisions == (Preempt(1, PreemptReason.RANK),)
    assert decide([large, larger, short], slots, memory=first.memory).decisions == (), "it is on its way"
    like = job(3, 6.0, batch=9)
    assert decide([large, larger, like, crowd()], slots).decisions == (), "no slot for nobody's gain"


def test_a_slot_in_which_nothing_can_happen_goes_first() -> None:
    waits = at(at(job(0, 1.0, 1.0, batch=9), 0, slot=0), 1, slot=1)
    works = at(job(1, 3.0, batch=9), 0, slot=2)
    slots = [
        slot(0, "m0_0", (0, 0), running=True),
        slot(1, "m0_1", (0, 1)),
        slot(2, "m1_0", (1, 0), running=True),
    ]
    assert decide([waits, works, job(2, 1.0, batch=4)], slots).decisions == (Preempt(1, PreemptReason.RANK),)


def test_a_job_makes_room_for_the_task_its_others_wait_for() -> None:
    stuck = at(at(job(0, 1.0, 1.0, 1.0, batch=3), 1, slot=0), 2, slot=1)
    slots = [slot(0, "m0_1", (0, 1)), slot(1, "m0_2", (0, 2))]
    assert decide([stuck], slots).decisions == (Preempt(1, PreemptReason.RANK),)


def test_a_task_with_nothing_to_do_yet_comes_after_others() -> None:
    pipeline = at(job(0, 1.0, 1.0, batch=3), 0, slot=0)
    other = job(1, 2.0, batch=5)
    held = slot(0, "m0_0", (0, 0), running=True)
    assert decide([pipeline, other], [held, slot(1)]).decisions == (Configure(1, 0, 1),)
    assert decide([pipeline], [held, slot(1)]).decisions == (Configure(0, 1, 1),), "but a free slot is given"


def test_outlook_of_a_pipeline() -> None:
    found = look_ahead(job(0, 1.0, 2.0, batch=3), (1.0, 2.0), 0.1, True)
    assert found.work_s == pytest.approx(3 * 3.0 + 2 * 0.1)
    assert found.path_s == pytest.approx(1.0 + 3 * 2.0)
    begun = look_ahead(at(job(0, 1.0, 2.0, batch=3), 0, slot=0, done=2), (1.0, 2.0), 0.1, True)
    assert begun.work_s == pytest.approx(1 * 1.0 + 3 * 2.0 + 0.1)
    assert begun.path_s == pytest.approx(3 * 2.0)
    assert [t.id for t in begun.ready] == [1]


def test_an_outlook_is_kept_with_the_view_as_long_as_its_figures_hold() -> None:
    view = job(0, 1.0, 2.0, batch=3)
    first = look_ahead(view, (1.0, 2.0), 0.1, True)
    assert look_ahead(view, (1.0, 2.0), 0.1, True) is first
    assert look_ahead(view, (1.0, 4.0), 0.1, True).work_s == pytest.approx(3 * 5.0 + 2 * 0.1)
    assert look_ahead(view, (1.0, 2.0), 0.2, True).work_s == pytest.approx(3 * 3.0 + 2 * 0.2)
    assert look_ahead(view, (1.0, 2.0), 0.1, False).early == ()
    assert view == job(0, 1.0, 2.0, batch=3), "what is kept is no part of the value"


def test_nothing_to_do_still_learns() -> None:
    idle = decide([], [slot(0)], seen=(Observation("m", 2.0, "a", 0, 1.0),))
    assert idle.decisions == ()
    assert idle.memory.learned.tasks["a"][0].mean_s == 2.0
    assert idle.wake_s is None


def test_items_nobody_waits_for_never_hold_every_slot() -> None:
    endless = [at(job(number, 100.0), 0, slot=number) for number in range(2)]
    held = [slot(number, f"m{number}_0", (number, 0), running=True) for number in range(2)]
    another = job(2, 100.0, priority=9)
    assert decide([*endless, another], [*held, slot(2)]).decisions == (), "one slot is left for those who come"
    assert decide([*endless, another, job(3, 1.0)], [*held, slot(2)]).decisions == (Configure(3, 0, 2),)
    assert decide([endless[0], another], [held[0], slot(1), slot(2)]).decisions == (Configure(2, 0, 1),)
    assert decide([another], [slot(0)]).decisions == (Configure(2, 0, 0),), "where there is one slot only, all take it"


def test_a_slot_that_is_had_at_once_is_not_passed_over_for_one_on_its_way() -> None:
    jobs = [at(job(number, 5.0, batch=9), 0, slot=number) for number in range(2)]
    short = job(2, 0.3)
    busy = [slot(number, f"m{number}_0", (number, 0), running=True) for number in range(2)]
    first = decide([*jobs, short], busy)
    assert len(first.decisions) == 1
    taken = first.decisions[0]
    assert isinstance(taken, Preempt)
    boundary = [dataclasses.replace(s, running=s.index == taken.slot) for s in busy]
    second = decide([*jobs, short], boundary, memory=first.memory)
    assert second.decisions == (Preempt(1 - taken.slot, PreemptReason.RANK),)
