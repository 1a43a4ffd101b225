"""The default: the strongest method for what counts in the instance, and never worse than SJF or LJF."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eddy.core.errors import InvalidRequest
from eddy.model.placement.instance import Instance, Placement
from eddy.policy.place.backward import backward
from eddy.policy.place.balanced import BASELINE_JOBS, balance, balanced
from eddy.policy.place.joint import finished, joint_bound, network_of
from eddy.policy.place.network import at_constant_rates, hosts_of, network_times
from eddy.policy.place.prices import search
from eddy.policy.place.sending import Order, Rush


def default(instance: Instance) -> Placement:
    """Place a batch of any kind."""
    if instance.kind == "computation":
        return balanced(instance)
    bound = joint_bound(instance)
    if instance.kind == "network" and not instance.ready_s.any():
        host, _ = balance(network_times(instance), np.zeros(len(hosts_of(instance))))
        best = at_constant_rates(instance, host, "default")
    else:
        price = search(instance.time_s, instance.ready_s, 25).price
        best = backward(instance, price, bound)
    if best.makespan_s > bound * (1 + 1e-9) and instance.jobs <= BASELINE_JOBS:
        best = min(best, rush(instance, "sjf", bound), rush(instance, "ljf", bound), key=lambda p: p.makespan_s)
    return replace(best, method="default", lower_bound_s=min(bound, best.makespan_s))


def rush(instance: Instance, order: Order, bound_s: float | None = None, prefetch: bool = True) -> Placement:
    """SJF or LJF where sending counts."""
    net = network_of(instance)
    host, start = Rush(instance, order, prefetch).run(net)
    if (host < 0).any():
        raise InvalidRequest("A job has no host that can run it.", field="time_s")
    return finished(instance, host, start, net, joint_bound(instance) if bound_s is None else bound_s, order)
