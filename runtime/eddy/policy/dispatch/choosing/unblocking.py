# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The way on where slots are held by tasks that wait for others which have none.

It takes a fault, a drain or a change of policy to get there: whoever gives slots without taking any gives none to a
task before its predecessors have theirs. But a load may fail, a slot may be drained, or another policy may have decided
before; and then all slots may come to be held by tasks that wait, for ever.
"""

from __future__ import annotations

from collections.abc import Iterable

from eddy.core.slots import PreemptReason
from eddy.policy.dispatch.views.outlook import stalled_tasks
from eddy.policy.dispatch.views.view import Decision, DispatchView, Preempt


def unblock_slots(view: DispatchView, decisions: Iterable[Decision], pipelined: bool) -> tuple[Decision, ...]:
    """What was decided; where that is nothing though the port is free, slots are given back that nothing works towards.

    A task that loses its slot so is not placed before one of its predecessors has a slot or has done more, so that no
    slot changes hands for ever.

    Args:
        decisions: Decided for it, without taking slots.
        pipelined: Whether tasks of a job may work on different items at once.
    """
    decided = tuple(decisions)
    if decided or view.port_busy:
        return decided
    found: list[Decision] = []
    for slot in view.slots:
        job = None if slot.job is None or slot.running or slot.loading else view.jobs.get(slot.job)
        if job is not None and slot.task in stalled_tasks(job, pipelined):
            found.append(Preempt(slot.index, PreemptReason.STALLED))
    return tuple(found)
