# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How many jobs that have ended are kept, and for how long; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

KEEP = 0.9
"""Share of a bound on jobs that is left, so that not every job that ends takes another one along."""


@dataclass(frozen=True, slots=True)
class JobBounds:
    """What is kept of jobs that have ended; 0 for no bound.

    Attributes:
        max_age_s: Wall seconds since their end.
        max_jobs: Of all tenants together.
        max_jobs_per_tenant: Of one tenant.
    """

    max_age_s: float = 0.0
    max_jobs: int = 0
    max_jobs_per_tenant: int = 0

    def excess(self, ended: Mapping[str, int]) -> dict[str, int]:
        """How many jobs of each tenant are too many; tenants that lose none are left out.

        Where all tenants together have too many, those that have most lose most, down to one level for all of them:
        nobody's jobs go because of what another one keeps, below an equal part.

        Args:
            ended: Jobs that have ended, by tenant.
        """
        left = {tenant: _cut(jobs, self.max_jobs_per_tenant) for tenant, jobs in ended.items()}
        if self.max_jobs and sum(left.values()) > self.max_jobs:
            level = _level(sorted(left.values()), _target(self.max_jobs))
            left = {tenant: min(jobs, level) for tenant, jobs in left.items()}
        return {tenant: jobs - left[tenant] for tenant, jobs in ended.items() if left[tenant] < jobs}


def _cut(jobs: int, bound: int) -> int:
    return _target(bound) if 0 < bound < jobs else jobs


def _target(bound: int) -> int:
    """What is left of a bound that was exceeded."""
    return max(int(bound * KEEP), 1)


def _level(counts: list[int], total: int) -> int:
    """The level at which counts, in order and cut down to it, add up to a total at most."""
    left = total
    for place, count in enumerate(counts):
        level = left // (len(counts) - place)
        if count > level:
            return level
        left -= count
    return total
