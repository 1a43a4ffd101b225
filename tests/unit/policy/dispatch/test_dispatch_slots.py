# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Nimblock, PREMA and round robin on worlds small enough to decide by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from eddy.core.slots import PreemptReason
from eddy.policy.dispatch.nimblock import Nimblock, allocate_slots, select_victim
from eddy.policy.dispatch.prema import Prema
from eddy.policy.dispatch.round_robin import Queues, RoundRobin
from eddy.policy.dispatch.sharing.tokens import Candidates, floor_to_priority, tokens
from eddy.policy.dispatch.views.view import Configure, DispatchView, Jobs, JobView, Preempt, SlotView, TaskView


def chain(
    job: int, tasks: int = 3, batch: int = 4, priority: int = 1, arrival_s: float = 0.0, goal: int = 3
) -> JobView:
    """A job whose tasks form a chain of one-second tasks."""
    return JobView(
        id=job,
        application=f"app{job}",
        tenant="t",
        batch=batch,
        priority=priority,
        arrival_s=arrival_s,
        deadline_s=None,
        goal_slots=goal,
        tasks=tuple(TaskView(i, f"m{job}_{i}", 1.0, 0, None, (i - 1,) if i else ()) for i in range(tasks)),
    )


def with_task(job: JobView, task: int, slot: int | None = None, items_done: int = 0) -> JobView:
    tasks = tuple(replace(t, slot=slot, items_done=items_done) if t.id == task else t for t in job.tasks)
    return replace(job, tasks=tasks)


def slot(index: int, job: int | None = None, task: int | None = None, running: bool = False) -> SlotView:
    return SlotView(index, "", "", job, task, loading=False, running=running, load_s=0.01)


def view(
    jobs: list[JobView], slots: list[SlotView], memory: object, now_s: float = 0.0, busy: bool = False
) -> DispatchView:
    return DispatchView(now_s, Jobs(jobs), tuple(slots), busy, (), memory)


def test_tokens_start_at_priority_and_grow_with_waiting_in_job_lengths() -> None:
    job = chain(0, tasks=2, batch=5, priority=3, arrival_s=1.0)
    assert tokens(job, 1.0, alpha=0.5) == 3.0
    assert tokens(job, 6.0, alpha=0.5) == pytest.approx(3 + 0.5 * 3 * 5 / 10)
    assert tokens(job, 0.5, alpha=0.5) == 3.0, "nothing is taken for time that was not waited"
    hidden = replace(job, shown_s=4.0)
    assert tokens(hidden, 6.0, alpha=0.5) == pytest.approx(3 + 0.5 * 3 * 2 / 10), "hidden jobs start from zero"


@pytest.mark.parametrize(("count", "level"), [(1.0, 1), (2.99, 1), (3.0, 3), (8.9, 3), (9.0, 9), (400.0, 9), (0.2, 1)])
def test_thresholds_are_priority_levels(count: float, level: int) -> None:
    assert floor_to_priority(count) == level


def chosen(jobs: list[JobView], now_s: float, most: int = 9) -> list[int]:
    return [job.id for job in Candidates(Jobs(jobs), now_s, alpha=0.5).oldest(most)]


def test_candidates_exceed_the_threshold_or_where_none_does_reach_it() -> None:
    jobs = [chain(0, tasks=1, batch=1), chain(1, priority=9), chain(2, priority=9)]
    assert chosen(jobs, 0.0) == [1, 2]
    assert chosen([*jobs[:2], replace(jobs[2], arrival_s=1.0)], 1.0) == [1], "it has waited, and the other has not"
    assert chosen(jobs, 20.0) == [0, 1, 2]
    assert chosen(jobs, 20.0, most=2) == [0, 1]
    assert chosen([], 0.0) == []
    begun = with_task(jobs[1], 0, slot=0)
    assert chosen([jobs[0], begun, jobs[2]], 0.0) == [1, 2], "whether or not something was done for it"


def test_allocation_goes_one_each_then_goal_then_the_rest_oldest_first() -> None:
    jobs = (chain(0, tasks=6, goal=3), chain(1, tasks=2, goal=3), chain(2, tasks=6, goal=3))
    assert allocate_slots(jobs, 2) == {0: 1, 1: 1, 2: 0}
    assert allocate_slots(jobs, 6) == {0: 3, 1: 2, 2: 1}
    assert allocate_slots(jobs, 10) == {0: 5, 1: 2, 2: 3}
    assert allocate_slots(jobs, 99) == {0: 6, 1: 2, 2: 6}


def test_nimblock_serves_the_oldest_candidate_and_pipelines_it() -> None:
    policy = Nimblock()
    jobs = [chain(0), chain(1)]
    first = policy.decide(view(jobs, [slot(0), slot(1)], None))
    assert first.decisions == (Configure(0, 0, 0),)
    assert first.wake_s == pytest.approx(0.396)
    placed = [with_task(jobs[0], 0, slot=0)]
    assert policy.decide(view(placed, [slot(0, 0, 0), slot(1)], first.memory)).decisions == (Configure(0, 1, 1),)
    bulk = Nimblock(pipelined=False)
    assert bulk.decide(view(placed, [slot(0, 0, 0), slot(1)], first.memory)).decisions == ()
    assert policy.decide(view(jobs, [slot(0)], first.memory, busy=True)).decisions == ()


def test_nimblock_takes_the_latest_task_of_the_worst_overconsumer_at_a_boundary() -> None:
    old = with_task(with_task(chain(0), 0, slot=0), 1, slot=1)
    new = chain(1, priority=9, arrival_s=5.0)
    policy = Nimblock()
    idle = [slot(0, 0, 0, running=True), slot(1, 0, 1)]
    assert policy.decide(view([old, new], idle, None, now_s=5.0)).decisions == (Preempt(1, PreemptReason.ALLOCATION),)
    busy = [slot(0, 0, 0), slot(1, 0, 1, running=True)]
    assert policy.decide(view([old, new], busy, None, now_s=5.0)).decisions == ()
    within = {0: 2, 1: 0}
    assert select_victim(view([old, new], idle, None), within) is None


def test_prema_serves_the_shortest_candidate() -> None:
    policy = Prema()
    jobs = [chain(0, batch=9), chain(1, batch=2), chain(2, batch=2)]
    assert policy.decide(view(jobs, [slot(0)], None)).decisions == (Configure(1, 0, 0),)
    urgent = [jobs[0], replace(jobs[1], priority=1), replace(jobs[0], id=3, priority=9)]
    assert policy.decide(view(urgent, [slot(0)], None)).decisions == (Configure(3, 0, 0),)
    assert policy.decide(view(jobs, [slot(0, 5, 0)], None)).decisions == ()


def test_round_robin_deals_in_turns_and_serves_by_priority() -> None:
    policy = RoundRobin()
    wide = replace(chain(0), tasks=tuple(replace(t, predecessors=()) for t in chain(0).tasks))
    jobs = [wide, chain(1, priority=9)]
    first = policy.decide(view(jobs, [slot(0), slot(1)], policy.initial()))
    assert isinstance(first.memory, Queues)
    dealt = {0: ((0, 0), (0, 1)), 1: ((1, 0), (0, 2))}
    assert first.decisions == (Configure(0, 0, 0),)
    assert first.memory.by_slot == {0: dealt[0][1:], 1: dealt[1]}
    later = policy.decide(view(jobs, [slot(0, 9, 0), slot(1)], first.memory))
    assert later.decisions == (Configure(1, 0, 1),), "the priority goes first, whenever it was dealt"
    gone = policy.decide(view(jobs[1:], [slot(0), slot(1)], first.memory))
    assert gone.memory.by_slot == {0: (), 1: ()}
    assert gone.decisions == (Configure(1, 0, 1),)


def test_round_robin_deals_again_what_was_not_given_and_serves_what_waits_for_a_slot_that_rests() -> None:
    policy, job = RoundRobin(), chain(0)
    first = policy.decide(view([job], [slot(0), slot(1)], policy.initial()))
    again = policy.decide(replace(view([job], [slot(0), slot(1)], first.memory), changed=frozenset()))
    assert again.decisions == first.decisions
    busy = policy.decide(view([job, chain(1)], [slot(0), slot(1)], policy.initial(), busy=True))
    assert busy.memory.by_slot == {0: ((0, 0),), 1: ((1, 0),)}
    nothing = frozenset[int]()
    rests = policy.decide(replace(view([job, chain(1)], [slot(1)], busy.memory), changed=nothing))
    assert rests.decisions == (Configure(0, 0, 1),), "it was dealt first"
    assert rests.memory.by_slot == {0: (), 1: ((1, 0),)}
    back = policy.decide(replace(view([job, chain(1)], [slot(0), slot(1)], rests.memory), changed=nothing))
    assert back.memory.by_slot == {0: (), 1: ((1, 0),)}
