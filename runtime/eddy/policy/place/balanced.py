"""The default where only computation counts: prices, packing, local search; never worse than SJF or LJF."""

from __future__ import annotations

import numpy as np

from eddy.model.placement.bounds import single_job
from eddy.model.placement.instance import Floats, Instance, Ints, Placement
from eddy.policy.place import listing
from eddy.policy.place.improve import improve
from eddy.policy.place.packing import pack
from eddy.policy.place.prices import search
from eddy.policy.place.schedule import loads_of, makespan_of, placed

BASELINE_JOBS = 20_000
"""Up to here SJF and LJF are run too; above, the gap to the bound says as much, and they would take minutes."""


def first_answer(time_s: Floats, ready_s: Floats) -> Ints:
    """List scheduling, vectorised: larger jobs first, a group at a time, each to where it would end first.

    Of a group, only the first job that bids for an accelerator gets it; the others bid again at the new loads.
    """
    jobs, accelerators = time_s.shape
    loads = ready_s.astype(np.float64)
    host = np.empty(jobs, np.int64)
    order = np.argsort(-time_s[:, : min(accelerators, 8)].min(axis=1), kind="stable")
    group = max(accelerators // 2, 1)
    waiting = order[:0]
    at = 0
    while at < jobs or len(waiting):
        take = max(group - len(waiting), 0)
        waiting = np.concatenate([waiting, order[at : at + take]])
        at += take
        choice = (loads.astype(time_s.dtype) + time_s[waiting]).argmin(axis=1)
        chosen, first = np.unique(choice, return_index=True)
        host[waiting[first]] = chosen
        loads[chosen] += time_s[waiting[first], chosen]
        waiting = np.delete(waiting, first)
    return host


def balance(
    time_s: Floats, ready_s: Floats, rounds: int = 25, steps: int = 200, slack: float = 0.006
) -> tuple[Ints, float]:
    """An assignment and a lower bound on its make-span."""
    found = search(time_s, ready_s, rounds)
    shortest = time_s.min(axis=1)
    bound = max(found.bound_s, single_job(time_s, ready_s))
    room = np.maximum(bound * (1 + slack) - ready_s, 0.0)
    host, left = pack(time_s, found.price, room, shortest)
    loads = bound * (1 + slack) - room
    for i in left:
        there = int((loads + time_s[i]).argmin())
        host[i] = there
        loads[there] += time_s[i, there]
    improve(time_s, host, loads_of(time_s, host, ready_s), bound * (1 + slack), steps)
    return host, bound


def balanced(instance: Instance) -> Placement:
    """Place by prices and local search; where SJF or LJF would end earlier, theirs."""
    time_s, ready_s = instance.time_s, instance.ready_s
    host, bound = balance(time_s, ready_s)
    best = makespan_of(time_s, host, ready_s)
    if instance.jobs <= BASELINE_JOBS:
        for baseline in (listing.shortest_first, listing.longest_first):
            other = baseline(time_s, ready_s, stop_s=best)
            if other is not None and makespan_of(time_s, other, ready_s) < best:
                host, best = other, makespan_of(time_s, other, ready_s)
    return placed(instance, host, bound, "default")


def lower_bound(instance: Instance) -> float:
    """What no placement can be better than, where only computation counts."""
    return max(single_job(instance.time_s, instance.ready_s), search(instance.time_s, instance.ready_s, 25).bound_s)
