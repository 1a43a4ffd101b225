# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Baselines of [002] section 5. Shortest job first: an idle accelerator takes the job it completes soonest. Largest job
first: it takes the job whose mean time over all is largest."""

from __future__ import annotations

from eddy.core.errors import InvalidRequest
from eddy.model.placement.instance import Instance, Placement
from eddy.policy.place.default import place_sjf_ljf
from eddy.policy.place.price_and_pack import lower_bound
from eddy.policy.place.schedule import make_placement
from eddy.policy.place.sjf_ljf_computing import longest_first, shortest_first
from eddy.policy.place.sjf_ljf_sending import Order


def sjf(instance: Instance) -> Placement:
    """Place shortest job first; with a network as `eddy.policy.place.sjf_ljf_sending` says."""
    return _place(instance, "sjf")


def ljf(instance: Instance) -> Placement:
    """Place largest job first; with a network as `eddy.policy.place.sjf_ljf_sending` says."""
    return _place(instance, "ljf")


def _place(instance: Instance, order: Order) -> Placement:
    if instance.kind != "computation":
        return place_sjf_ljf(instance, order)
    host = (shortest_first if order == "sjf" else longest_first)(instance.time_s, instance.ready_s)
    if host is None:
        raise InvalidRequest("A job has no host that can run it.", field="time_s")
    return make_placement(instance, host, lower_bound(instance), order)
