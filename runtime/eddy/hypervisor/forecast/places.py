# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Places in a queue as tenants may know them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from eddy.policy.dispatch.views.jobs import Jobs


def tenant_places(order: Iterable[int], jobs: Jobs) -> dict[int, int]:
    """Each job's place among the waiting jobs of its tenant, from 1; what others have waiting does not count.

    Args:
        order: Ids of jobs that wait, in the order in which they should start.
        jobs: They are among them.
    """
    seen, found = Counter[str](), dict[int, int]()
    for number in order:
        tenant = jobs.job(number).tenant
        seen[tenant] += 1
        found[number] = seen[tenant]
    return found
