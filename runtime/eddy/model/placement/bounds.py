# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Lower bounds on the makespan of a batch: no placement can end earlier.

Each function's docstring is its proof.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eddy.model.placement.instance import Floats, Instance

LONGEST = 256
"""Jobs whose way through an empty pool is looked at."""


def single_job(time_s: Floats, ready_s: Floats) -> float:
    """The longest of all jobs, each on the host that would end it first ([002] Algorithm 1, line 2).

    A job that computes for no time does not wait for the host.
    """
    if not ready_s.any():
        return float(time_s.min(axis=1).max())
    # In the table's own precision, since it may be large; what rounding can have added is taken off.
    ends = np.where(time_s > 0, time_s + ready_s.astype(time_s.dtype), 0)
    return float(ends.min(axis=1).max()) * (1 - 4 * float(np.finfo(ends.dtype).eps))


def pigeonholes(time_s: Floats, accelerators: int = 0) -> float:
    """What indivisible jobs cost: of m q + 1 jobs some accelerator of m computes q + 1 or more, for every q.

    Of the m q + 1 jobs with the largest shortest times it has at least the sum of the q + 1 least. Where all jobs are
    alike, this is how long the accelerator with one job more than others takes.

    Args:
        time_s: (jobs, accelerators), or a column for each kind of them.
        accelerators: How many there are, where a column stands for several.
    """
    jobs, accelerators = len(time_s), accelerators or time_s.shape[1]
    shortest = np.sort(time_s.min(axis=1).astype(np.float64))[::-1]
    sums = np.r_[0.0, np.cumsum(shortest)]
    q = np.arange((jobs - 1) // accelerators + 1)
    return float((sums[accelerators * q + 1] - sums[accelerators * q - q]).max()) * (1 - 1e-12)


def from_prices(price: Floats, priced_work: float, ready_s: Floats) -> float:
    """The Lagrangian bound at `price` (one per host, >= 0), `priced_work` being sum_i min_j price_j time_ij.

    A makespan T gives host j at most max(0, T - ready_j) seconds of this batch, so the batch's priced work is at most
    sum_j price_j max(0, T - ready_j). The bound is the T where the two are equal: level water over the ready times.
    With `ready_s` zero it is priced_work / sum(price), the dual of the relaxed CIM ([002] equation 1).
    """
    total = float(price.sum(dtype=np.float64))
    if total <= 0 or priced_work <= 0:
        return 0.0
    if not ready_s.any():
        return priced_work / total
    order = np.argsort(ready_s)
    ready, weight = ready_s[order].astype(np.float64), price[order].astype(np.float64)
    weights, moments = np.cumsum(weight), np.cumsum(weight * ready)
    with np.errstate(divide="ignore", invalid="ignore"):
        level = (priced_work + moments) / weights
    # The first k hosts are under water exactly where the level does not reach the next host's floor.
    fits = level <= np.r_[ready[1:], np.inf]
    return float(level[np.argmax(fits)])


def network(instance: Instance) -> float:
    """The relaxed network problem ([002] NIM-OR, equation 4): all hosts as one, every requester at its egress rate.

    Beside it, one job alone: it can use neither more than its requester sends nor more than one host receives.
    """
    size, requester = instance.size_bits, instance.requester
    egress, ingress = instance.egress_bps, instance.ingress_bps
    if size is None or requester is None or egress is None or ingress is None:
        return 0.0
    used = np.unique(instance.host_of)
    sent = np.bincount(requester, weights=size, minlength=len(egress))
    alone = float((size / np.minimum(egress[requester], ingress[used].max())).max())
    if not len(instance.busy):
        return max(float(size.sum() / ingress[used].sum()), float((sent / egress).max()), alone)
    each = max(float(free_from(instance, u)(sent[u])) for u in np.flatnonzero(sent)) if sent.any() else 0.0
    return max(float(free_into(instance)(size.sum())), each, alone)


def tails(instance: Instance) -> float:
    """Transmission plus tail: per requester, and over all ingress ports together.

    Take the jobs of one requester whose shortest computation is at least q. Their bits need sum(size)/egress seconds in
    whatever order and sharing; the job that is last among them has still to be computed, at least q. So the makespan
    is at least sum(size)/egress + q for every q. The same holds for all jobs and the sum of ingress rates. Where
    earlier batches use a port, sum(size)/egress is the time by which what they leave free sums to sum(size).
    """
    size, requester = instance.size_bits, instance.requester
    egress, ingress = instance.egress_bps, instance.ingress_bps
    if size is None or requester is None or egress is None or ingress is None:
        return 0.0
    tail = instance.time_s.min(axis=1).astype(np.float64)
    order = np.lexsort((-tail, requester))
    sums = np.cumsum(size[order])
    owner = requester[order]
    first = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    before = np.repeat(sums[first] - size[order][first], np.diff(np.r_[first, len(owner)]))
    bits = sums - before
    falling = np.argsort(-tail, kind="stable")
    if len(instance.busy):
        sent = np.concatenate([free_from(instance, u)(bits[owner == u]) for u in owner[first]])
        received = free_into(instance)(np.cumsum(size[falling]))
    else:
        sent, received = bits / egress[owner], np.cumsum(size[falling]) / ingress[np.unique(instance.host_of)].sum()
    return max(float((sent + tail[order]).max()), float((received + tail[falling]).max()))


def alone(instance: Instance) -> float:
    """One job that has the pool for itself: sent at what both its ports allow, then computed, where that ends first.

    Looked at are the jobs that take longest on a pool of its best parts; any choice of jobs gives a valid bound.
    """
    size, requester = instance.size_bits, instance.requester
    egress, ingress = instance.egress_bps, instance.ingress_bps
    if size is None or requester is None or egress is None or ingress is None:
        return 0.0
    into, out = ingress[instance.host_of], egress[requester]
    at_best = size / np.minimum(out, into.max()) + instance.time_s.min(axis=1)
    longest = np.argsort(-at_best, kind="stable")[:LONGEST]
    own = instance.time_s[longest].astype(np.float64)
    arrived = size[longest, None] / np.minimum(out[longest, None], into[None, :])
    begin = np.where(own > 0, np.maximum(arrived, instance.ready_s), arrived)
    return float((begin + own).min(axis=1).max()) * (1 - 1e-12)


def free_from(instance: Instance, requester: int) -> Callable[[Floats], Floats]:
    """From bits to the earliest time by which a requester can have sent them, beside what it sends already."""
    assert instance.egress_bps is not None
    mine = instance.busy[instance.busy[:, 0] == requester]
    return _time_of(float(instance.egress_bps[requester]), mine)


def free_into(instance: Instance) -> Callable[[Floats], Floats]:
    """From bits to the earliest time by which all hosts with an accelerator can have received them."""
    assert instance.ingress_bps is not None
    used = np.unique(instance.host_of)
    theirs = instance.busy[np.isin(instance.busy[:, 1], used)]
    return _time_of(float(instance.ingress_bps[used].sum()), theirs)


def _time_of(bps: float, busy: Floats) -> Callable[[Floats], Floats]:
    """Bits to time, at a rate of which parts are used."""
    at = np.unique(np.r_[0.0, busy[:, 2], busy[:, 3]])
    change = np.zeros(len(at))
    np.add.at(change, np.searchsorted(at, busy[:, 2]), busy[:, 4])
    np.add.at(change, np.searchsorted(at, busy[:, 3]), -busy[:, 4])
    free = np.maximum(bps - np.cumsum(change), 0.0)
    until = np.r_[0.0, np.cumsum(free[:-1] * np.diff(at))]

    def time(bits: Floats) -> Floats:
        piece = np.maximum(np.searchsorted(until, bits, side="left") - 1, 0)
        rate = np.maximum(free[piece], 1e-300)
        answer: Floats = np.where(bits > 0, at[piece] + (bits - until[piece]) / rate, 0.0)
        return answer

    return time
