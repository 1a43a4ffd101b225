# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Wherever jobs stand still, `eddy` decides something: nobody would ask it again."""

from __future__ import annotations

import dataclasses
import random

import pytest
from eddy.core.slots import PreemptReason
from eddy.policy.dispatch.eddy import Eddy
from eddy.policy.dispatch.views.view import Configure, DispatchView, Jobs, JobView, Preempt, SlotView, TaskView

LOAD_S = 0.1


def standing_still(chance: random.Random) -> DispatchView:
    """Jobs with some items done, in slots of which some are free and in the others nothing can be done."""
    slots = chance.randint(1, 4)
    jobs = [_job(number, chance) for number in range(chance.randint(1, 3))]
    shown = []
    for index in range(slots):
        waiting = [
            (job, task)
            for job in jobs
            for task in job.tasks
            if task.slot is None and task.items_done < job.batch and _ready(job, task) <= 0
        ]
        if waiting and chance.random() < 0.8:
            job, task = chance.choice(waiting)
            tasks = tuple(dataclasses.replace(t, slot=index) if t is task else t for t in job.tasks)
            jobs[job.id] = dataclasses.replace(job, tasks=tasks)
            shown.append(SlotView(index, task.module, job.tenant, job.id, task.id, False, False, LOAD_S))
        else:
            module, tenant = chance.choice([("", ""), ("m0_0", "t0"), ("m1_1", "t1")])
            shown.append(SlotView(index, module, tenant, None, None, False, False, LOAD_S))
    return DispatchView(chance.uniform(0, 50), Jobs(jobs), tuple(shown), False, (), Eddy().initial())


def _job(number: int, chance: random.Random) -> JobView:
    """A job with a random graph of tasks, as far on as its predecessors let each be."""
    batch, scale_s = chance.randint(1, 9), 10 ** chance.uniform(-4, 2)
    tasks: list[TaskView] = []
    for task in range(chance.randint(1, 7)):
        before = tuple(p for p in range(task) if chance.random() < 0.5 or (p == task - 1 and chance.random() < 0.7))
        done = chance.randint(0, min([tasks[p].items_done for p in before], default=batch))
        tasks.append(TaskView(task, f"m{number}_{task}", scale_s * chance.uniform(0.1, 1), done, None, before))
    if all(task.items_done == batch for task in tasks):
        tasks[-1] = dataclasses.replace(tasks[-1], items_done=batch - 1)
    urgency = chance.choice([1, 3, 9])
    return JobView(number, f"app{number}", f"t{number % 2}", batch, urgency, 0.0, None, 3, tuple(tasks))


def _ready(job: JobView, task: TaskView) -> int:
    return min([job.tasks[p].items_done for p in task.predecessors], default=job.batch) - task.items_done


@pytest.mark.parametrize("seed", range(20))
def test_something_is_decided_where_nothing_happens(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        view = standing_still(chance)
        for policy in (Eddy(), Eddy(patience_s=1e-3), Eddy(pipelined=False)):
            decisions = policy.decide(dataclasses.replace(view, memory=policy.initial())).decisions
            assert any(isinstance(decision, Configure | Preempt) for decision in decisions), view


def test_two_slots_of_one_job_in_which_nothing_can_happen() -> None:
    """As it stood on the board once: the ready task with the longest way was the last, and it asked alone."""
    modules = "level_shift", "dct", "quantize", "dequantize", "idct", "reconstruct"
    done, slots = (5, 5, 3, 3, 3, 0), {1: 1, 4: 0}
    tasks = tuple(
        TaskView(i, module, 8e-5, done[i], slots.get(i), (i - 1,) if i else ()) for i, module in enumerate(modules)
    )
    job = JobView(1, "image_compression", "ada", 6, 1, 0.0, None, 3, tasks)
    shown = tuple(SlotView(i, modules[task], "ada", 1, task, False, False, 8e-5) for i, task in ((0, 4), (1, 1)))
    policy = Eddy()
    decided = policy.decide(DispatchView(5.0, Jobs([job]), shown, False, (), policy.initial()))
    assert [decision for decision in decided.decisions if isinstance(decision, Preempt)] == [
        Preempt(0, PreemptReason.RANK),
        Preempt(1, PreemptReason.RANK),
    ]
