# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Network-intensive jobs ([002] 3.2): Algorithm 3, and its online form (3.4).

CIM-LP of [002] where a job's time on a host is its size over the host's rate, as in model (5): solved by filling.

Hosts by falling rate, jobs by falling size: each job goes to the fastest hosts with room, up to the makespan, and the
job at the boundary of two hosts is split. Whatever a job may use is a prefix of the hosts, and the jobs that may use
least are placed first, so this finds a place for everything if there is one. Each host shares at most one job with
the one before and one with the one after: the graph of splits is a set of paths, as Algorithm 2 needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from eddy.core.errors import InvalidRequest
from eddy.model.placement import bounds
from eddy.model.placement.instance import Floats, Instance, Ints, Placement, Rate
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


FULL = 1e-6
"""A port with less than this share of the widest left is not sent through."""


def relaxed_time(instance: Instance) -> float:
    """1/f of NIM-OR (equation 4), in closed form: the slower of all ingress together and the busiest requester."""
    size, requester, egress, _ = parts(instance)
    sent = np.bincount(requester, weights=size, minlength=len(egress))
    return max(float(size.sum() / ingress_of(instance).sum()), float((sent / egress).max()))


def parts(instance: Instance) -> tuple[Floats, Ints, Floats, Floats]:
    """Sizes, requesters, egress and ingress of an instance that has them.

    Raises:
        InvalidRequest: it has not.
    """
    size, requester = instance.size_bits, instance.requester
    egress, ingress = instance.egress_bps, instance.ingress_bps
    if size is None or requester is None or egress is None or ingress is None:
        raise InvalidRequest(
            "This method needs size_bits, requester, egress_bps and ingress_bps; computation does without.",
            field="size_bits",
        )
    return size, requester, egress, ingress


def ingress_of(instance: Instance) -> Floats:
    """Ingress of every host that carries an accelerator."""
    _, _, _, ingress = parts(instance)
    return ingress[hosts_of(instance)]


def hosts_of(instance: Instance) -> Ints:
    """Hosts that carry an accelerator, rising."""
    return np.unique(instance.host_of)


def network_times(instance: Instance) -> Floats:
    """(jobs, hosts): seconds a host's port is busy with a job, s_i / B_j; e_ij of model (5) up to the factor f."""
    size, _, _, _ = parts(instance)
    times: Floats = size[:, None] / ingress_of(instance)[None, :]
    return times


def at_constant_rates(instance: Instance, host: Ints, method: str) -> Placement:
    """Lines 3 to 9 of Algorithm 3: every job at its NIM-OR rate, scaled down where its host's port is too narrow.

    What is then left of the ports goes to the shortest jobs first (end of 3.2), which ends no job later.

    Args:
        instance: The batch; computation takes no time here.
        host: (jobs,) an index into `hosts_of(instance)`.
        method: Name in the answer.
    """
    size, requester, egress, _ = parts(instance)
    ingress = ingress_of(instance)
    base = size / relaxed_time(instance) if size.any() else np.zeros_like(size)
    ratio = np.bincount(host, weights=base, minlength=len(ingress)) / ingress
    rate = base / np.maximum(ratio, 1.0)[host]
    left_out = egress - np.bincount(requester, weights=rate, minlength=len(egress))
    left_in = ingress - np.bincount(host, weights=rate, minlength=len(ingress))
    for i in np.argsort(size, kind="stable"):
        more = min(left_out[requester[i]], left_in[host[i]])
        if more > 0:
            rate[i] += more
            left_out[requester[i]] -= more
            left_in[host[i]] -= more
    end = np.divide(size, rate, out=np.zeros_like(size, dtype=np.float64), where=size > 0)
    rates = tuple(Rate(i, 0.0, float(end[i]), float(rate[i])) for i in range(instance.jobs) if size[i] > 0)
    accelerator = np.searchsorted(instance.host_of, hosts_of(instance), sorter=(by := np.argsort(instance.host_of)))
    makespan = float(end.max())
    bound = min(bounds.network(instance), makespan)
    return Placement(by[accelerator][host], end, makespan, bound, rates, method)


def network(instance: Instance) -> Placement:
    """Algorithm 3: NIM-OR, then model (5) by Algorithms 1 and 2. At most twice the optimum (Theorem 3).

    Where earlier batches send, the better of waiting for them and using what they leave (3.4).
    """
    # HiGHS is loaded with these, and is not needed on a board.
    from eddy.policy.place.rounding import round_shares

    def published(idle: Instance) -> Placement:
        host = round_shares(relax_related(parts(idle)[0], ingress_of(idle)), idle.jobs)
        answer = at_constant_rates(idle, host, "network")
        if answer.makespan_s > 2 * answer.lower_bound_s * (1 + 1e-3):
            raise AssertionError(f"[002] Theorem 3 is broken: {answer.makespan_s:g} s of {answer.lower_bound_s:g} s")
        return answer

    return beside_earlier(instance.without_computation(), published)


def beside_earlier(instance: Instance, place: Callable[[Instance], Placement]) -> Placement:
    """What `place`, a method for an idle network, makes of a network that earlier batches use ([002] 3.4).

    Both schemes of the document: wait until all of them is sent; or begin now, with what they leave of every port at
    its busiest. The one that ends first.
    """
    if not len(instance.busy):
        return place(instance)
    quiet = float(instance.busy[:, 3].max())
    rested = replace(instance, busy=instance.busy[:0], ready_s=np.maximum(instance.ready_s - quiet, 0.0))
    answers = [shift_network(place(rested), quiet)]
    left = remaining_network(instance)
    if left is not None:
        answers.append(place(left))
    best = min(answers, key=lambda answer: answer.makespan_s)
    return replace(best, lower_bound_s=min(bounds.network(instance), best.makespan_s))


def remaining_network(instance: Instance) -> Instance | None:
    """The batch on ports as narrow as earlier batches leave them at their busiest; None where a needed one is full."""
    _, requester, egress, ingress = parts(instance)
    egress, ingress = egress.astype(np.float64).copy(), ingress.astype(np.float64).copy()
    for column, port in ((0, egress), (1, ingress)):
        for k in np.unique(instance.busy[:, column]).astype(np.int64):
            port[k] -= _peak_rate(instance.busy[instance.busy[:, column] == k])
    hosts = hosts_of(instance)
    if (egress[requester] <= FULL * egress.max()).any() or (ingress[hosts] <= FULL * ingress.max()).any():
        return None
    floor = np.finfo(np.float64).tiny
    return replace(
        instance, busy=instance.busy[:0], egress_bps=np.maximum(egress, floor), ingress_bps=np.maximum(ingress, floor)
    )


def _peak_rate(busy: Floats) -> float:
    """The highest rate at any time."""
    return max(float(busy[(busy[:, 2] <= t) & (busy[:, 3] > t), 4].sum()) for t in np.unique(busy[:, 2]))


def shift_network(placement: Placement, by_s: float) -> Placement:
    """The same, everything later by `by_s`."""
    rates = tuple(Rate(r.job, r.from_s + by_s, r.to_s + by_s, r.bps) for r in placement.rates)
    return replace(placement, start_s=placement.start_s + by_s, makespan_s=placement.makespan_s + by_s, rates=rates)
