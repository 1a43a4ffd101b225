"""Lower bounds on the make-span of a batch: no placement can end earlier.

Each function's docstring is its proof.
"""

from __future__ import annotations

import numpy as np

from eddy.model.placement.instance import Floats, Instance


def single_job(time_s: Floats, ready_s: Floats) -> float:
    """The longest of all jobs, each on the host that would end it first ([002] Algorithm 1, line 2)."""
    return (
        float((time_s + ready_s.astype(time_s.dtype)).min(axis=1).max())
        if ready_s.any()
        else float(time_s.min(axis=1).max())
    )


def from_prices(price: Floats, priced_work: float, ready_s: Floats) -> float:
    """The Lagrangian bound at `price` (one per host, >= 0), `priced_work` being sum_i min_j price_j time_ij.

    A make-span T gives host j at most max(0, T - ready_j) seconds of this batch, so the batch's priced work is at most
    sum_j price_j max(0, T - ready_j). The bound is the T where the two are equal: level water over the ready times.
    With `ready_s` zero it is priced_work / sum(price), the dual of the relaxed CIM ([002] equation 1).
    """
    total = float(price.sum(dtype=np.float64))
    if total <= 0:
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
    used = ingress[np.unique(instance.host_of)]
    sent = np.bincount(requester, weights=size, minlength=len(egress))
    alone = size / np.minimum(egress[requester], used.max())
    return float(max(size.sum() / used.sum(), (sent / egress).max(), alone.max()))


def tails(instance: Instance) -> float:
    """Transmission plus tail: per requester, and over all ingress ports together.

    Take the jobs of one requester whose shortest computation is at least q. Their bits need sum(size)/egress seconds in
    whatever order and sharing; the job that is last among them has still to be computed, at least q. So the make-span
    is at least sum(size)/egress + q for every q. The same holds for all jobs and the sum of ingress rates.
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
    alone = float(((sums - before) / egress[owner] + tail[order]).max())
    falling = np.argsort(-tail, kind="stable")
    together = np.cumsum(size[falling]) / ingress[np.unique(instance.host_of)].sum() + tail[falling]
    return max(alone, float(together.max()))
