# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The default for few jobs that send and compute: local search over whole schedules.

With few jobs one wrong place, or one wrong order, costs per cents. Each move of a job, each exchange of two and each
change of a job's turn is tried in full: data sent just in time (Algorithm 4 of [002]), and the schedule built from its
end.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from eddy.model.placement.instance import Instance, Ints, Placement
from eddy.policy.place.backward_list_scheduling import ORDERS, BackwardSchedule, TaskOrder
from eddy.policy.place.joint import finish_placement, just_in_time, network_of

JOBS, TRIALS = 24, 600
"""Batches of up to so many jobs are searched, and so many schedules are tried at most."""

Plan = tuple[Ints, Ints]
"""The accelerator of each job, and the jobs in the order in which the schedule is built."""


def scheduled(instance: Instance, plan: Plan, aim_s: float) -> Placement:
    """The better of the two schedules of a plan."""
    host, jobs = plan
    net = network_of(instance)
    best = finish_placement(instance, host, just_in_time(instance, host, net), net, 0.0, "default")
    order = TaskOrder(jobs, np.zeros(instance.jobs))  # what is behind a job matters only where its place is open
    other = BackwardSchedule(instance, np.ones(instance.accelerators), order, aim_s, host).run()
    return other if other is not None and other.makespan_s < best.makespan_s else best


def searched(instance: Instance, start: Placement, bound_s: float) -> Placement:
    """Change the plan for the better until nothing helps, the bound is met, or `TRIALS` schedules are tried."""
    best, left = start, TRIALS
    plans = [(start.host.copy(), order(instance).jobs) for order in ORDERS]
    at = plans[0]
    better = True
    while better and left:
        better = False
        for plan in (*plans, *_neighbours(instance, *at)):
            if best.makespan_s <= bound_s * (1 + 1e-9) or not left:
                return best
            left -= 1
            tried = scheduled(instance, plan, max(bound_s, best.makespan_s * 0.98))
            if tried.makespan_s < best.makespan_s * (1 - 1e-9):
                best, at, better = tried, plan, True
                break
        plans = []
    return best


def _neighbours(instance: Instance, host: Ints, jobs: Ints) -> Iterator[Plan]:
    """One job elsewhere, then two jobs exchanged, then one job earlier or later."""
    for i in range(instance.jobs):
        for j in np.flatnonzero(np.isfinite(instance.time_s[i])):
            if j != host[i]:
                moved = host.copy()
                moved[i] = j
                yield moved, jobs
    for i in range(instance.jobs):
        for k in range(i):
            able = np.isfinite(instance.time_s[i, host[k]]) and np.isfinite(instance.time_s[k, host[i]])
            if host[i] != host[k] and able:
                changed = host.copy()
                changed[[i, k]] = host[[k, i]]
                yield changed, jobs
    for i in range(instance.jobs):
        without = np.delete(jobs, i)
        for k in range(instance.jobs):
            if k not in (i, i - 1):
                yield host, np.insert(without, k, jobs[i])
