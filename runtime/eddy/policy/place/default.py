# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The default: the strongest method for what counts in the instance, and never worse than SJF or LJF."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from eddy.core.errors import InvalidRequest
from eddy.model.placement.instance import Instance, Placement
from eddy.policy.place import schedule_search
from eddy.policy.place.backward_list_scheduling import ORDERS, BackwardSchedule, backward
from eddy.policy.place.dual_prices import search
from eddy.policy.place.joint import finish_placement, joint_bound, just_in_time, network_of
from eddy.policy.place.network import at_constant_rates, beside_earlier, hosts_of, network_times
from eddy.policy.place.price_and_pack import BASELINE_JOBS, balance, balanced
from eddy.policy.place.sjf_ljf_sending import Order, SjfLjfRun

MET = 1 + 1e-9
"""A makespan within this factor of the bound is the best there is."""


def default(instance: Instance) -> Placement:
    """Place a batch of any kind."""
    if instance.kind == "computation":
        return balanced(instance)
    bound = joint_bound(instance)
    best: Placement | None = None
    for answer in _answers(instance, bound):
        if best is None or answer.makespan_s < best.makespan_s:
            best = answer
        if best.makespan_s <= bound * MET:
            break
    assert best is not None
    if instance.kind == "joint" and instance.jobs <= schedule_search.JOBS:
        best = schedule_search.searched(instance, best, bound)
    return replace(best, method="default", lower_bound_s=min(bound, best.makespan_s))


def _answers(instance: Instance, bound_s: float) -> Iterable[Placement]:
    """Answers, likely better ones first."""
    if instance.kind == "network":
        yield beside_earlier(instance, _constant)
    else:
        yield from _joint(instance, bound_s)
    if instance.jobs <= BASELINE_JOBS:
        yield place_sjf_ljf(instance, "sjf", bound_s)
        yield place_sjf_ljf(instance, "ljf", bound_s)


def _constant(instance: Instance) -> Placement:
    """Sending alone, over an idle network: Algorithm 3 with a better placement."""
    host, _ = balance(network_times(instance), np.zeros(len(hosts_of(instance))))
    return at_constant_rates(instance, host, "default")


def _joint(instance: Instance, bound_s: float) -> Iterable[Placement]:
    price = search(instance.time_s, instance.ready_s).price
    found = np.inf
    for order in ORDERS:
        answer = backward(instance, price, bound_s, order(instance), found)
        if answer is not None:
            found = min(found, answer.makespan_s)
            yield answer
    host, _ = balance(instance.time_s, instance.ready_s)
    net = network_of(instance)
    start = just_in_time(instance, host, net)
    answer = finish_placement(instance, host, start, net, bound_s, "default")
    found = min(found, answer.makespan_s)
    yield answer
    # Where computation decides, places found for it alone are better than those found while sending.
    aim = found if len(instance.busy) else bound_s
    for order in ORDERS:
        answer = BackwardSchedule(instance, np.ones(instance.accelerators), order(instance), aim, host).run()
        if answer is not None:
            yield answer


def place_sjf_ljf(instance: Instance, order: Order, bound_s: float | None = None, prefetch: bool = True) -> Placement:
    """SJF or LJF where sending counts."""
    net = network_of(instance)
    host, start = SjfLjfRun(instance, order, prefetch).run(net)
    if (host < 0).any():
        raise InvalidRequest("A job has no host that can run it.", field="time_s")
    return finish_placement(instance, host, start, net, joint_bound(instance) if bound_s is None else bound_s, order)
