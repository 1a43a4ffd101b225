"""CIM-LP of [002] where a job's time on a host is its size over the host's rate, as in model (5): solved by filling.

Hosts by falling rate, jobs by falling size: each job goes to the fastest hosts with room, up to the makespan, and the
job at the boundary of two hosts is split. Whatever a job may use is a prefix of the hosts, and the jobs that may use
least are placed first, so this finds a place for everything if there is one. Each host shares at most one job with
the one before and one with the one after: the graph of splits is a set of paths, as Algorithm 2 needs it.
"""

from __future__ import annotations

import numpy as np

from eddy.model.placement.instance import Floats
from eddy.policy.place.relaxation import RelaxedSolution

ROUND = 1 + 1e-12
"""Rounding of one comparison."""


def relax_related(size: Floats, rate: Floats, accuracy: float = 1e-6) -> RelaxedSolution:
    """Algorithm 1: the smallest T for which CIM-LP with e_ij = size_i / rate_j is feasible, and its solution.

    Args:
        size: (jobs,).
        rate: (hosts,), positive.
        accuracy: Relative width at which the bisection stops.
    """
    falling, fastest = np.argsort(-size, kind="stable"), np.argsort(-rate, kind="stable")
    sizes, rates = size[falling].astype(np.float64), rate[fastest].astype(np.float64)
    low = max(float(sizes.sum() / rates.sum()), float(sizes[0] / rates[0]))
    high = low
    while not _feasible(sizes, rates, high):
        high *= 2
    while high - low > accuracy * low:
        middle = (low + high) / 2
        low, high = (low, middle) if _feasible(sizes, rates, middle) else (middle, high)
    job, host, share = _filled(sizes, rates, high)
    return RelaxedSolution(low, high, falling[job], fastest[host], share)


def _feasible(sizes: Floats, rates: Floats, time_s: float) -> bool:
    """Whether the jobs that fit on the first k hosts alone fit there together, for every k."""
    room = np.cumsum(rates) * time_s
    # How many hosts a job may use: those on which it ends by itself in time.
    usable = np.searchsorted(-rates * time_s * ROUND, -sizes, side="right")
    return bool((usable > 0).all() and (np.cumsum(sizes) <= room[usable - 1] * (1 + 1e-9)).all())


def _filled(sizes: Floats, rates: Floats, time_s: float) -> tuple[Floats, Floats, Floats]:
    """Pieces between the cuts that the ends of jobs and of hosts' rooms make: job, host, and share of the job."""
    jobs_end, hosts_end = np.cumsum(sizes), np.cumsum(rates) * time_s
    hosts_end[-1] = max(hosts_end[-1], jobs_end[-1])
    cuts = np.unique(np.r_[0.0, jobs_end, hosts_end[hosts_end < jobs_end[-1]]])
    middle = (cuts[1:] + cuts[:-1]) / 2
    job, host = np.searchsorted(jobs_end, middle), np.searchsorted(hosts_end, middle)
    share = np.diff(cuts) / np.maximum(sizes[job], 1e-300)
    solid = share > 1e-9
    # A job without size has no piece of its own: it goes to the first host.
    empty = np.flatnonzero(sizes <= 0)
    return (
        np.r_[job[solid], empty],
        np.r_[host[solid], np.zeros(len(empty), np.int64)],
        np.r_[share[solid], np.ones(len(empty))],
    )
