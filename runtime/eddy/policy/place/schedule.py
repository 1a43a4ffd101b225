# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""From an assignment to a placement, where sending costs nothing: jobs of an accelerator run one after another."""

from __future__ import annotations

import numpy as np

from eddy.model.placement.instance import Floats, Instance, Ints, Placement


def accelerator_loads(time_s: Floats, host: Ints, ready_s: Floats) -> Floats:
    """When each accelerator ends its jobs and the work it had before."""
    own = time_s[np.arange(len(host)), host].astype(np.float64)
    return np.bincount(host, weights=own, minlength=time_s.shape[1]) + ready_s


def makespan_of(time_s: Floats, host: Ints, ready_s: Floats) -> float:
    """When the last job of the batch ends; accelerators on which none of it computes do not count."""
    computes = time_s[np.arange(len(host)), host] > 0
    return float(accelerator_loads(time_s, host, ready_s)[np.unique(host[computes])].max(initial=0.0))


def start_shortest_first(time_s: Floats, host: Ints, ready_s: Floats) -> Floats:
    """Starts, each accelerator running its jobs shortest first (the average completion is then least).

    A job that computes for no time waits for nobody.
    """
    own = time_s[np.arange(len(host)), host].astype(np.float64)
    order = np.lexsort((own, host))
    ends = np.cumsum(own[order])
    sorted_host = host[order]
    first = np.flatnonzero(np.r_[True, sorted_host[1:] != sorted_host[:-1]])
    before = np.repeat(ends[first] - own[order][first], np.diff(np.r_[first, len(host)]))
    start = np.empty(len(host))
    start[order] = ends - own[order] - before + ready_s[sorted_host]
    return np.where(own > 0, start, 0.0)


def start_on_arrival(own: Floats, host: Ints, arrived_s: Floats, ready_s: Floats) -> Floats:
    """Starts where each accelerator takes its jobs in the order in which their data is there.

    No other order ends an accelerator's work earlier (it idles only while none of its waiting jobs is there).
    """
    start = arrived_s.astype(np.float64).copy()
    free = ready_s.astype(np.float64).tolist()
    lasts, at, there = own.tolist(), host.tolist(), start.tolist()
    for i in np.lexsort((np.arange(len(host)), start)).tolist():
        if lasts[i] > 0:
            start[i] = begin = max(free[at[i]], there[i])
            free[at[i]] = begin + lasts[i]
    return start


def make_placement(instance: Instance, host: Ints, lower_bound_s: float, method: str) -> Placement:
    """The placement of an assignment, where only computation counts."""
    makespan = makespan_of(instance.time_s, host, instance.ready_s)
    start = start_shortest_first(instance.time_s, host, instance.ready_s)
    # Two ways of summing the same times may differ in the last place; a bound above its makespan helps nobody.
    return Placement(host, start, makespan, min(lower_bound_s, makespan), (), method)
