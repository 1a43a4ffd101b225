"""Network-intensive jobs ([002] 3.2): Algorithm 3, and its online form (3.4)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eddy.core.errors import InvalidRequest
from eddy.model.placement import bounds
from eddy.model.placement.instance import Floats, Instance, Ints, Placement, Rate


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
    """Algorithm 3: NIM-OR, then model (5) by Algorithms 1 and 2. At most twice the optimum (Theorem 3)."""
    from eddy.policy.place.computation import assign

    host, _ = assign(network_times(instance), np.zeros(len(hosts_of(instance))))
    answer = at_constant_rates(instance.without_computation(), host, "network")
    if answer.makespan_s > 2 * answer.lower_bound_s * (1 + 1e-3):
        raise AssertionError(f"[002] Theorem 3 is broken: {answer.makespan_s:g} s, bound {answer.lower_bound_s:g} s")
    return answer


def delayed(placement: Placement, by_s: float) -> Placement:
    """The same, everything later by `by_s`."""
    rates = tuple(Rate(r.job, r.from_s + by_s, r.to_s + by_s, r.bps) for r in placement.rates)
    return replace(placement, start_s=placement.start_s + by_s, makespan_s=placement.makespan_s + by_s, rates=rates)
