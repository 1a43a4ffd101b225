"""Dispatch policies in their plain form, which looks at every job at every decision: what the kept form must equal.

They are as `eddy.policy.dispatch` had them before views and ranks were kept from decision to decision, and stay so:
they say what is to be decided, at a cost that grows with the jobs that wait.
"""

from collections.abc import Callable, Mapping

from eddy.policy.dispatch.view import DispatchPolicy
from unit.plain_dispatch.eddy import Eddy
from unit.plain_dispatch.fcfs import FirstComeFirstServed
from unit.plain_dispatch.nimblock import Nimblock
from unit.plain_dispatch.prema import Prema
from unit.plain_dispatch.round_robin import RoundRobin

PLAIN: Mapping[str, Callable[..., DispatchPolicy]] = {
    "eddy": Eddy,
    "fcfs": FirstComeFirstServed,
    "nimblock": Nimblock,
    "prema": Prema,
    "round_robin": RoundRobin,
}

__all__ = ["PLAIN"]
