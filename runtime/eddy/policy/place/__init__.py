# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Place: which board of the pool runs this job? ([002], least makespan of a batch)."""

from __future__ import annotations

from eddy.model.placement.instance import Instance, Placement
from eddy.policy.place.default import default
from eddy.policy.place.joint import joint, joint_bound
from eddy.policy.place.network import network
from eddy.policy.place.prompt import prompt
from eddy.policy.place.sjf_ljf import ljf, sjf
from eddy.policy.place.successive_batches import waves
from eddy.policy.registry import Policies


def _computation(instance: Instance) -> Placement:
    # HiGHS is loaded where a linear program is solved, and is not needed on a board.
    from eddy.policy.place.computation import computation

    return computation(instance)


def _waves(instance: Instance) -> Placement:
    if instance.size_bits is None:
        return _computation(instance)
    return waves(instance, (_computation, joint, network), joint_bound(instance))


METHODS: Policies[Placement] = Policies(
    "eddy.place_policies",
    {
        "default": default,
        "prompt": prompt,
        "computation": _computation,
        "network": network,
        "joint": joint,
        "sjf": sjf,
        "ljf": ljf,
        "waves": _waves,
    },
)
"""Name, as `--method` takes it, to the policy."""

__all__ = ["METHODS"]
