# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which module is loaded over: the one that is wanted last."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eddy.policy.dispatch.choosing.forecast import Forecast
from eddy.policy.dispatch.views.job_view import JobView
from eddy.policy.dispatch.views.outlook import Outlook, modules_to_come
from eddy.policy.dispatch.views.view import DispatchView, SlotView


class Eviction:
    """What the free slots' modules are worth in one decision.

    Args:
        forecast: What lies before jobs.
        rank: Of a job's next slot, by job, what lies before it, and slots held.
    """

    def __init__(self, view: DispatchView, forecast: Forecast, rank: Callable[[JobView, Outlook, int], float]) -> None:
        self._view, self._forecast, self._rank = view, forecast, rank

    def least_wanted(self, slots: Sequence[SlotView]) -> SlotView:
        """The slot to load over: an empty one, else one with a module nobody wants, else that of the last in rank."""
        users = {slot.index: None if slot.scrubs else slot.tenant for slot in slots}
        wanted = {
            key: self._wanted(*key) for key in {(slot.module, users[slot.index]) for slot in slots if slot.module}
        }

        def worth(slot: SlotView) -> tuple[float, float, float, int]:
            if not slot.module:
                return 0, 0, slot.load_s, slot.index
            rank = wanted[slot.module, users[slot.index]]
            return (1, 0, slot.load_s, slot.index) if rank is None else (2, -rank, slot.load_s, slot.index)

        return min(slots, key=worth)

    def _wanted(self, module: str, tenant: str | None) -> float | None:
        """The rank of the first of a tenant's jobs, or of anybody's, that will want a module; None where none will."""
        jobs = [job for job in self._view.jobs.holding.values() if tenant in (None, job.tenant)]
        jobs = [job for job in jobs if module in modules_to_come(job)]
        own = self._view.jobs if tenant is None else self._view.jobs.tenants.get(tenant)
        for kind in () if own is None else (*own.paused.values(), *own.kinds.values()):
            if module in modules_to_come(kind.head()):
                jobs += kind.every() if kind.due else kind.front
        return min([self._rank(job, self._forecast.look(job), 1) for job in jobs], default=None)
