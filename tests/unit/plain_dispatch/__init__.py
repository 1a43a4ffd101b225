# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""An independent model of the dispatch policies: what each decides, worked out again from the whole view at every call.

It is written after `docs/reference/dispatch.md`, the decisions it names and [004], not after the policies, and shares
with them only what a policy is given and answers (`view`), the learning of latencies, which has tests of its own, and
the numbers `eddy` was tuned to. Nothing is sorted, kept or skipped to save time: what a decision costs here grows with
everything that waits.

Views in which images are read into memory beside loads are not modelled.
"""

from collections.abc import Callable, Mapping

from eddy.policy.dispatch.views.view import DispatchPolicy
from unit.plain_dispatch.eddy import PlainEddy
from unit.plain_dispatch.fcfs import PlainFcfs
from unit.plain_dispatch.round_robin import PlainRoundRobin
from unit.plain_dispatch.tokens import PlainNimblock, PlainPrema

PLAIN: Mapping[str, Callable[..., DispatchPolicy]] = {
    "eddy": PlainEddy,
    "fcfs": PlainFcfs,
    "nimblock": PlainNimblock,
    "prema": PlainPrema,
    "round_robin": PlainRoundRobin,
}

__all__ = ["PLAIN"]
