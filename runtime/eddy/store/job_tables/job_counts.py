# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How many jobs have not ended, and how many have, kept as they come and go: each submission and each scrape asks, and
nothing is counted again."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping

from eddy.core.jobs import JobState

_RANKS = dict.fromkeys((JobState.RUNNING.value, JobState.RECONFIGURING.value, JobState.DRAINING.value), 0) | {
    JobState.QUEUED.value: 2
}


class JobCounts:
    """Jobs that have not ended, by tenant and by state; and how many have ended, by tenant.

    Args:
        jobs: Id, tenant and state of each that has not ended.
        ended: How many have, by tenant.
    """

    def __init__(self, jobs: Iterable[tuple[int, str, str]] = (), ended: Mapping[str, int] | None = None) -> None:
        self._ended: Counter[str] = Counter(ended or {})
        self._jobs: dict[int, tuple[str, str]] = {}
        self._tenants: Counter[str] = Counter()
        self._states: Counter[str] = Counter()
        self._expected_s: dict[int, float] = {}
        """By job: slot-seconds it is expected to use."""
        self._unwritten_s: dict[str, float] = {}
        """By tenant: what was expected of jobs that ended since use was written down last."""
        for job, tenant, state in jobs:
            self.note(job, tenant, state)

    def note(self, job: int, tenant: str, state: str) -> None:
        """A job is in a state that is not final."""
        self._forget(job)
        self._jobs[job] = tenant, state
        self._tenants[tenant] += 1
        self._states[state] += 1

    def drop(self, job: int) -> None:
        """A job has ended; nothing where it had before. What it used may not be written down yet."""
        _, state = self._jobs.get(job, ("", ""))
        tenant = self._forget(job)
        expected_s = self._expected_s.pop(job, 0.0)
        if not tenant:
            return
        self._ended[tenant] += 1
        if expected_s and state != JobState.QUEUED.value:
            self._unwritten_s[tenant] = self._unwritten_s.get(tenant, 0.0) + expected_s

    def purged(self, tenant: str, jobs: int) -> None:
        """So many jobs of a tenant that had ended are gone."""
        self._ended[tenant] -= jobs
        if self._ended[tenant] <= 0:
            del self._ended[tenant]

    def count_ended(self) -> dict[str, int]:
        """How many jobs have ended and are kept, by tenant; those that have none are left out."""
        return dict(self._ended)

    def expect(self, job: int, slot_s: float) -> None:
        """A job that has not ended is expected to use so many slot-seconds."""
        if slot_s > 0 and job in self._jobs:
            self._expected_s[job] = slot_s

    def mark_written(self) -> None:
        """What jobs used that have ended is written down."""
        self._unwritten_s.clear()

    def expected_s(self, tenant: str) -> float:
        """Slot-seconds expected of a tenant's jobs, as far as what they used may not be written down yet."""
        known = list(self._expected_s.items())
        under_way_s = sum(each_s for job, each_s in known if self._jobs.get(job, ("",))[0] == tenant)
        return under_way_s + self._unwritten_s.get(tenant, 0.0)

    def _forget(self, job: int) -> str:
        """Take a job out; answers whose it was, "" where it was not there."""
        tenant, state = self._jobs.pop(job, ("", ""))
        if tenant:
            self._tenants[tenant] -= 1
            self._states[state] -= 1
            if not self._tenants[tenant]:
                del self._tenants[tenant]
        return tenant

    def foremost(self, tenant: str | None, limit: int) -> list[int]:
        """Ids of jobs that have not ended: those in a slot, then those that have begun, then those in the queue, the
        oldest first of each; of a tenant, or of None for everyone's."""
        known = (
            (_RANKS.get(state, 1), job) for job, (whose, state) in list(self._jobs.items()) if tenant in (None, whose)
        )
        return [job for _, job in heapq.nsmallest(limit, known)]

    def by_tenant(self) -> dict[str, dict[str, int]]:
        """Jobs by state of every tenant that has some, by its name."""
        found: dict[str, Counter[str]] = {}
        for tenant, state in list(self._jobs.values()):
            found.setdefault(tenant, Counter())[state] += 1
        return {tenant: dict(found[tenant]) for tenant in sorted(found)}

    def count_tenant(self, tenant: str) -> int:
        """Jobs of a tenant."""
        return self._tenants[tenant]

    def states(self) -> dict[str, int]:
        """Jobs by state."""
        return dict(self._states)
