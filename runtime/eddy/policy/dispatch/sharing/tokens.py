# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tokens and candidates, as PREMA accumulates them and [004] Algorithm 1 uses them.

A waiting job gathers tokens in proportion to its priority and to how much waiting has slowed it down, measured in
lengths of the job itself. The jobs whose tokens exceed the threshold are the candidates.

[004] adds at every call what was earned since the last; the sum follows from how long a job has waited, so nothing need
be remembered. Of jobs that differ in age alone the oldest has most: whoever looks for candidates looks at it first.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import merge
from itertools import islice, takewhile

from eddy.core.jobs import PRIORITIES
from eddy.policy.dispatch.views.job_view import Age, JobView
from eddy.policy.dispatch.views.jobs import Jobs
from eddy.policy.dispatch.views.kinds import JobClass
from eddy.policy.dispatch.views.view_cache import cached_fact


@cached_fact
def serial_estimate_s(job: JobView) -> float:
    """The estimated time of the job's tasks laid end to end, for the whole batch, in board seconds ([004] 2.3.1)."""
    return max(job.batch * sum(task.estimate_s for task in job.tasks), 1e-9)


def tokens(job: JobView, now_s: float, alpha: float) -> float:
    """What a job has: its priority, and what its waiting has earned ([004] Algorithm 1, first two loops).

    Args:
        job: Any that has arrived.
        now_s: Board time.
        alpha: Weight of waiting against the initial priority; 1/8 in [004]'s own policy, 1 in its PREMA.
    """
    waited_s = now_s - (job.arrival_s if job.shown_s is None else job.shown_s)
    if waited_s <= 0.0:
        return float(job.priority)
    return job.priority + alpha * job.priority * waited_s / serial_estimate_s(job)


def floor_to_priority(count: float) -> int:
    """The highest priority level not above a count of tokens; the lowest level for anything smaller."""
    return max((level for level in PRIORITIES if level <= count), default=PRIORITIES[0])


class Candidates:
    """The jobs above the threshold ([004] Algorithm 1).

    The text asks for strictly more than the threshold, which a job that has just arrived at an idle board never has:
    where nobody exceeds it, those who reach it are the candidates, so that slots do not idle for want of a token.

    Args:
        now_s: Board time.
        alpha: As `tokens` has it.
    """

    def __init__(self, jobs: Jobs, now_s: float, alpha: float) -> None:
        self._now_s, self._alpha, self._jobs = now_s, alpha, jobs
        self._begun = [(tokens(job, now_s, alpha), job) for job in jobs.begun.values()]
        most = self._most()
        # The floor grows with what is floored, so the largest floor is the floor of the largest.
        self.threshold = floor_to_priority(most)
        self._strict = most > self.threshold

    def _most(self) -> float:
        """The largest number of tokens a job has; as soon as it is beyond every level, no matter how far."""
        most = max([count for count, _ in self._begun], default=0.0)
        for kind in self._jobs.kinds.values():
            if most > PRIORITIES[-1]:
                break
            most = max([most, *[tokens(job, self._now_s, self._alpha) for job in kind.front]])
        return most

    def _has(self, count: float) -> bool:
        return count > self.threshold if self._strict else count >= self.threshold

    def _is(self, job: JobView) -> bool:
        return self._has(tokens(job, self._now_s, self._alpha))

    def shortest(self) -> list[JobView]:
        """Every candidate that was begun; of each kind of others the oldest of the shortest."""
        found = [job for count, job in self._begun if self._has(count)]
        for kind in self._jobs.kinds.values():
            heads = (line.first() for line in kind.lines.values())
            found += [job for job in (next(filter(self._is, heads), None),) if job is not None]
        return found

    def oldest(self, most: int) -> tuple[JobView, ...]:
        """At most so many candidates, oldest first; ties by id."""
        heads = merge(*[filter(self._tell(kind), kind.heads) for kind in self._jobs.kinds.values()])
        # Nobody behind a head that is not among the oldest heads can be among the oldest.
        lines = [self._jobs.line_of(job) for _, job in islice(heads, most)]
        begun = sorted([(job.age, job) for count, job in self._begun if self._has(count)], key=lambda pair: pair[0])
        oldest = merge(begun, *[takewhile(self._counts, line.items()) for line in lines])
        return tuple(job for _, job in islice(oldest, most))

    def _counts(self, entry: tuple[Age, JobView]) -> bool:
        return self._is(entry[1])

    def _tell(self, kind: JobClass) -> Callable[[tuple[Age, JobView]], bool]:
        """What tells candidates of a kind from others: as `tokens`, with what all of the kind share worked out once."""
        priority, now_s, threshold = kind.priority, self._now_s, self.threshold
        rate, item_s = self._alpha * priority, sum(task.estimate_s for task in kind.tasks)

        def count(entry: tuple[Age, JobView]) -> float:
            waited_s = now_s - entry[0][0]
            return priority if waited_s <= 0.0 else priority + rate * waited_s / max(entry[1].batch * item_s, 1e-9)

        return (lambda entry: count(entry) > threshold) if self._strict else (lambda entry: count(entry) >= threshold)
