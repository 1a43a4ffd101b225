"""The default for few jobs that send and compute: local search over whole schedules.

With few jobs one wrong place costs per cents. Each move of a job, and each exchange of two, is tried in full: data sent
just in time (Algorithm 4 of [002]), and the schedule built from its end.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from eddy.model.placement.instance import Instance, Ints, Placement
from eddy.policy.place.backward import Backward, heaviest_requester_first
from eddy.policy.place.joint import finished, just_in_time, network_of

JOBS, TRIALS = 24, 400
"""Batches of up to so many jobs are searched, and so many schedules are tried at most."""


def scheduled(instance: Instance, host: Ints, aim_s: float) -> Placement:
    """The better of the two schedules of a placement."""
    net = network_of(instance)
    best = finished(instance, host, just_in_time(instance, host, net), net, 0.0, "default")
    other = Backward(instance, np.ones(instance.accelerators), heaviest_requester_first(instance), aim_s, host).run()
    return other if other is not None and other.makespan_s < best.makespan_s else best


def searched(instance: Instance, start: Placement, bound_s: float) -> Placement:
    """Change the placement for the better until nothing helps, the bound is met, or `TRIALS` schedules are tried."""
    best, left = start, TRIALS
    better = True
    while better and left:
        better = False
        for host in _neighbours(instance, best.host.copy()):
            if best.makespan_s <= bound_s * (1 + 1e-9) or not left:
                return best
            left -= 1
            tried = scheduled(instance, host, max(bound_s, best.makespan_s * 0.98))
            if tried.makespan_s < best.makespan_s * (1 - 1e-9):
                best, better = tried, True
                break
    return best


def _neighbours(instance: Instance, host: Ints) -> Iterator[Ints]:
    """The placement itself, then one job elsewhere, then two jobs exchanged."""
    yield host
    for i in range(instance.jobs):
        for j in np.flatnonzero(np.isfinite(instance.time_s[i])):
            if j != host[i]:
                moved = host.copy()
                moved[i] = j
                yield moved
    for i in range(instance.jobs):
        for k in range(i):
            able = np.isfinite(instance.time_s[i, host[k]]) and np.isfinite(instance.time_s[k, host[i]])
            if host[i] != host[k] and able:
                changed = host.copy()
                changed[[i, k]] = host[[k, i]]
                yield changed
