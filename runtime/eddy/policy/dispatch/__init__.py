"""Dispatch: which task goes into which slot now, what is reconfigured, what is preempted ([004])."""

from collections.abc import Callable, Mapping

from eddy.policy.dispatch.eddy import Eddy
from eddy.policy.dispatch.exclusive import Exclusive
from eddy.policy.dispatch.fcfs import FirstComeFirstServed
from eddy.policy.dispatch.nimblock import Nimblock
from eddy.policy.dispatch.prema import Prema
from eddy.policy.dispatch.round_robin import RoundRobin
from eddy.policy.dispatch.views.view import DispatchPolicy

POLICIES: Mapping[str, Callable[..., DispatchPolicy]] = {
    "eddy": Eddy,
    "exclusive": Exclusive,
    "fcfs": FirstComeFirstServed,
    "nimblock": Nimblock,
    "prema": Prema,
    "round_robin": RoundRobin,
}
"""Name, as `--policy` takes it, to what makes the policy; each takes the keyword `pipelined`."""

__all__ = ["POLICIES"]
