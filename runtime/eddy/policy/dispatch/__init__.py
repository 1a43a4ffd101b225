# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Dispatch: which task goes into which slot now, what is reconfigured, what is preempted ([004])."""

from eddy.policy.dispatch.eddy import Eddy
from eddy.policy.dispatch.exclusive import Exclusive
from eddy.policy.dispatch.fcfs import FirstComeFirstServed
from eddy.policy.dispatch.nimblock import Nimblock
from eddy.policy.dispatch.prema import Prema
from eddy.policy.dispatch.round_robin import RoundRobin
from eddy.policy.dispatch.views.view import DispatchPolicy
from eddy.policy.registry import Policies

POLICIES: Policies[DispatchPolicy] = Policies(
    "eddy.dispatch_policies",
    {
        "eddy": Eddy,
        "exclusive": Exclusive,
        "fcfs": FirstComeFirstServed,
        "nimblock": Nimblock,
        "prema": Prema,
        "round_robin": RoundRobin,
    },
)
"""Name, as `--policy` takes it, to what makes the policy; each takes the keyword `pipelined`."""

__all__ = ["POLICIES"]
