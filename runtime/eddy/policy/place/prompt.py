# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The head's own: the default, but for batches whose sending is short, which are placed by computation alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eddy.model.placement.instance import Floats, Instance, Placement, Rate
from eddy.policy.place.default import default
from eddy.policy.place.price_and_pack import balanced

SHORT = 0.01
"""Sending counts for little where it takes less than this share of the bound on computation."""


def prompt(instance: Instance) -> Placement:
    """Place by computation alone, and send everything first, where that takes 1 % of the computation at most.

    Sending to the places chosen takes `T`, the larger of all bits over what the senders send and of each host's bits
    over what it receives: at rates of `size / T` nobody sends or receives more than it can. So the batch ends within
    `T` of the makespan of computation alone, whose bound holds with sending too.
    """
    if instance.kind != "joint" or len(instance.busy):
        return default(instance)
    placed = balanced(instance.without_network())
    first_s = sending_s(instance, placed)
    if first_s > SHORT * placed.lower_bound_s:
        return replace(default(instance), method="prompt")
    size: Floats = instance.size_bits  # type: ignore[assignment]
    rates = tuple(Rate(int(i), 0.0, first_s, float(size[i]) / first_s) for i in np.flatnonzero(size))
    return replace(
        placed, start_s=placed.start_s + first_s, makespan_s=placed.makespan_s + first_s, rates=rates, method="prompt"
    )


def sending_s(instance: Instance, placed: Placement) -> float:
    """`T` of `prompt`, seconds."""
    size, requester = instance.size_bits, instance.requester
    egress, ingress = instance.egress_bps, instance.ingress_bps
    assert size is not None
    assert requester is not None
    assert egress is not None
    assert ingress is not None
    into = np.bincount(instance.host_of[placed.host], weights=size, minlength=len(ingress))
    out = np.bincount(requester, weights=size, minlength=len(egress))
    return float(max((into / ingress).max(), (out / egress).max()))
