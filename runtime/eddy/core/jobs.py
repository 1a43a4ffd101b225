# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The life cycle of a job: states, transitions, and what a finished job says about itself.

The transition table is data. The hypervisor may only move a job along it, the test walks it, and the documentation's
diagram is drawn from it.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType


class JobState(str, enum.Enum):
    """Where a job is in its life."""

    QUEUED = "queued"
    """Accepted and durable; no slot yet."""
    PLACED = "placed"
    """A board is chosen; no slot holds a task of it at this moment and none is being loaded."""
    RECONFIGURING = "reconfiguring"
    """A slot is being loaded for it, and none of its items runs."""
    RUNNING = "running"
    """At least one of its items runs, or a slot of its own waits for one."""
    PREEMPTED = "preempted"
    """Its slots were taken at a batch boundary; finished items and their buffers are kept."""
    DRAINING = "draining"
    """Cancelled or failed while items run; they are let finish or stopped before the slots are given back."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether a job in this state never moves again."""
        return not TRANSITIONS[self]


_S = JobState
TRANSITIONS: Mapping[JobState, frozenset[JobState]] = MappingProxyType(
    {
        _S.QUEUED: frozenset({_S.PLACED, _S.CANCELLED, _S.FAILED}),
        _S.PLACED: frozenset({_S.RECONFIGURING, _S.RUNNING, _S.CANCELLED, _S.FAILED, _S.SUCCEEDED}),
        _S.RECONFIGURING: frozenset({_S.RUNNING, _S.PLACED, _S.PREEMPTED, _S.DRAINING, _S.FAILED, _S.CANCELLED}),
        _S.RUNNING: frozenset(
            {_S.RECONFIGURING, _S.PLACED, _S.PREEMPTED, _S.DRAINING, _S.SUCCEEDED, _S.FAILED, _S.CANCELLED}
        ),
        _S.PREEMPTED: frozenset({_S.PLACED, _S.RECONFIGURING, _S.RUNNING, _S.CANCELLED, _S.FAILED}),
        _S.DRAINING: frozenset({_S.PLACED, _S.CANCELLED, _S.FAILED, _S.SUCCEEDED}),
        _S.SUCCEEDED: frozenset(),
        _S.FAILED: frozenset(),
        _S.CANCELLED: frozenset(),
    }
)
"""From each state, the states a job may move to next."""


PRIORITIES: tuple[int, ...] = (1, 3, 9)
"""The priority levels of [004] section 2.3.1, low to high."""
