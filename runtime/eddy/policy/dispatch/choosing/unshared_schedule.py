# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""When each job would end if jobs had all slots one after another, in order of arrival: what sharing is measured by.

A job's response relative to that without sharing is its response over `end - arrival` here. So whoever ranks by work
times this span lowers the mean of relative responses, as Smith's rule lowers a weighted mean. The ends are worked out
once, on arrival, with the latencies known then: ranks need their ratios, and these change little as latencies are
learned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from eddy.policy.dispatch.views.job_view import Age, JobView
from eddy.policy.dispatch.views.jobs import Jobs
from eddy.policy.dispatch.views.sorted_mapping import SortedMapping

MIN_S = 1e-3
"""What every job takes at least."""


@dataclass(frozen=True, slots=True)
class UnsharedSchedule:
    """Jobs one after another; a value, extended by `with_arrivals`.

    Attributes:
        ends_s: Board time at which a job would end, by age, of those that came since the oldest that is left did; never
            falls with age.
        last: The age of the youngest job that was seen.
        since_s: Board time at which the oldest job that is left arrived.
        facts: What follows from the other fields alone, by job, kept once worked out; no part of the value.
    """

    ends_s: SortedMapping[Age, float] = field(default_factory=SortedMapping)
    last: Age = (float("-inf"), -1)
    since_s: float = 0.0
    facts: dict[int, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    def with_arrivals(self, jobs: Jobs, length_s: Callable[[JobView], float]) -> UnsharedSchedule:
        """With the jobs that came since, without those older than every job that is left.

        What it costs grows with the jobs that came and went since.

        Args:
            jobs: All that have arrived and not ended; one at least.
            length_s: Seconds a job takes that has all slots.
        """
        since_s = jobs.oldest().arrival_s
        if jobs.youngest().age <= self.last and since_s == self.since_s:
            return self
        new = self._newest_jobs(jobs)
        ends_s = self.ends_s
        end_s = ends_s.last() if ends_s else float("-inf")
        for job in reversed(new):
            end_s = max(end_s, job.arrival_s) + length_s(job)
            ends_s = ends_s.put(job.age, end_s)
        while ends_s and next(iter(ends_s))[0] < since_s:
            ends_s = ends_s.drop(next(iter(ends_s)))
        return UnsharedSchedule(ends_s, new[0].age if new else self.last, since_s)

    def _newest_jobs(self, jobs: Jobs) -> list[JobView]:
        """Jobs younger than all that were seen, the youngest first."""
        found: list[JobView] = []
        while len(found) < len(jobs):
            job = jobs[-1 - len(found)]
            if job.age <= self.last:
                break
            found.append(job)
        return found

    def claim(self, job: JobView, power: float) -> float:
        """A power of the seconds a job would take without sharing, counted from the arrival of the oldest that is left.

        So counted they never fall with age, which the order of jobs in a line rests on; while jobs come faster than
        they are served it makes little difference.

        Args:
            job: One of those that have arrived; one that was never the youngest would end with the next older one.
            power: The same at every call.
        """
        found = self.facts.get(job.id)
        if found is None:
            end_s = self.ends_s.floor(job.age)
            alone_s = 0.0 if end_s is None else end_s - self.since_s
            found = self.facts[job.id] = max(alone_s, MIN_S) ** power
        return found
