# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""In which order jobs are offered slots by `eddy`: the less the rank, the sooner."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from eddy.policy.dispatch.choosing.unshared_schedule import UnsharedSchedule
from eddy.policy.dispatch.views.job_view import JobView
from eddy.policy.dispatch.views.outlook import Outlook

WEIGHTS: Mapping[int, float] = {1: 1.0, 3: 1.2, 9: 4.0}
"""How many times shorter a job of each priority counts."""
ROOTS: Mapping[int, float] = {priority: math.sqrt(weight) for priority, weight in WEIGHTS.items()}
"""How many times less the slots it has count against a job of each priority."""


@dataclass(frozen=True, slots=True)
class Constants:
    """What `eddy` weighs with what.

    They were chosen on sequences of [004]'s applications with seeds below 1000; results change little around them.

    Attributes:
        pipelined: Whether tasks of a job may work on different items at once.
        claim: The power of the time a job would take without sharing by which its rank grows: 0 is for the mean of
            responses, 1 for the mean of responses over those without sharing.
        crowd: How much less a job's next slot counts for each that it has; less so for higher priorities.
        idle: How many times less a slot counts in which a task waits for its predecessors.
        early: The part of its critical path that counts as the work of a job that will end last anyway, over the
            weight of its priority.
        outlasting: How long a critical path must be against all the work that waits, shared among all slots, for its
            job to be one that will end last.
        ageing: How much waiting counts against work.
        reluctance: How many times more a slot must count for the job that wants it than for the one that has it.
        joining: How many loads long a task waits, at most, for its module in a slot that another job is about to give
            back, instead of loading it once more.
        patience_s: Board seconds an item may take for its task to get the last slot: an item cannot be preempted, and
            whoever comes while such items hold every slot would have to wait for the end of one.
        interval_s: Board seconds after which to look again, waiting having changed ranks.
    """

    pipelined: bool = True
    claim: float = 0.35
    crowd: float = 0.05
    idle: float = 100.0
    early: float = 0.025
    outlasting: float = 0.7
    ageing: float = 0.3
    reluctance: float = 1.5
    joining: float = 2.0
    patience_s: float = 10.0
    interval_s: float = 0.396


class Ranks:
    """The ranks of one decision.

    Args:
        constants: What is weighed with what.
        now_s: Board time.
        unshared: When jobs would end without sharing.
        backlog_s: What all work that waits would take on all slots.
    """

    def __init__(self, constants: Constants, now_s: float, unshared: UnsharedSchedule, backlog_s: float) -> None:
        self._constants, self._now_s = constants, now_s
        self._unshared, self._claims = unshared, unshared.facts
        self._long_s = constants.outlasting * backlog_s

    def rank(self, job: JobView, outlook: Outlook, held: int = 0) -> float:
        """Of a job's next slot when it has `held`."""
        constants, work_s = self._constants, outlook.work_s
        longer_s = work_s + constants.ageing * (self._now_s - job.arrival_s) + 1e-9
        claim = self._claims.get(job.id) or self._unshared.claim(job, constants.claim)
        weight = WEIGHTS[job.priority] / claim
        rank = work_s * work_s / (weight * longer_s)
        if job.deadline_s is not None:
            rank *= self._deadline_factor(outlook, job.deadline_s)
        if held:
            return rank * (1.0 + constants.crowd * held / ROOTS[job.priority])
        if outlook.path_s > self._long_s:
            return min(rank, constants.early * outlook.path_s / weight)
        return rank

    def ends_last(self, outlook: Outlook) -> bool:
        """Whether a job with this before it will end last whatever is done."""
        return outlook.path_s > self._long_s

    def _deadline_factor(self, outlook: Outlook, deadline_s: float) -> float:
        """Down to a tenth for a job whose deadline comes near; 1 for one that has time, or none any more."""
        slack_s = deadline_s - self._now_s - outlook.path_s
        return 1.0 if slack_s < 0 else min(max(slack_s / (outlook.work_s + 1e-9), 0.1), 1.0)
