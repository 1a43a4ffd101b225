# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What follows from a job's view alone, worked out once a view.

The hypervisor makes a new view of a job only where something about it changed, so with a hundred jobs pending a
decision recomputes what concerns one or two of them and looks the rest up. That keeps a decision short; it changes
nothing of what is decided.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from eddy.policy.dispatch.views.view import JobView

T = TypeVar("T")


def cached_fact(compute: Callable[[JobView], T]) -> Callable[[JobView], T]:
    """Keep what a function of a job's view answers, for as long as the view lives."""
    key = f"{compute.__module__}.{compute.__qualname__}"

    @wraps(compute)
    def known(job: JobView) -> T:
        facts = job.facts
        if key in facts:
            found: T = facts[key]
            return found
        value = facts[key] = compute(job)
        return value

    return known
