# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What `eddy` expects items and loads to take, and what therefore lies before jobs."""

from __future__ import annotations

from eddy.model.latency.learned import Item
from eddy.policy.dispatch.choosing.memory import PolicyMemory
from eddy.policy.dispatch.views.job_view import JobView
from eddy.policy.dispatch.views.kinds import JobClass
from eddy.policy.dispatch.views.outlook import Outlook, Outlooks, look_ahead, modules_and_estimates, outlooks
from eddy.policy.dispatch.views.view import DispatchView

SAME = 0.1
"""A mean load time that moved less than this share is not worth looking at every job again."""


def finished_items(view: DispatchView) -> list[Item]:
    """Items that ended since the last call, as they are learned."""
    return [Item(o.application, o.task, o.module, o.estimate_s, o.duration_s) for o in view.observations]


class Forecast:
    """Expectations of one decision.

    Args:
        memory: From the last call.
        pipelined: Whether tasks of a job may work on different items at once.
    """

    def __init__(self, view: DispatchView, memory: PolicyMemory, pipelined: bool) -> None:
        self.learned, self._before, self._pipelined = memory.learned, memory.predicted, pipelined
        if view.observations:
            self.learned = self.learned.observe(finished_items(view))
        self.predicted = dict(self._before) if self.learned.version == memory.learned.version else {}
        self.load_s = memory.load_s
        mean_s = sum([slot.load_s for slot in view.slots]) / max(len(view.slots), 1)
        if abs(mean_s - self.load_s) > SAME * self.load_s:
            self.load_s = mean_s

    def look(self, job: JobView) -> Outlook:
        """What lies before a job; recomputed only where it or its figures changed."""
        return look_ahead(job, self._latency_s(job), self.load_s, self._pipelined)

    def look_at(self, kind: JobClass) -> Outlooks:
        """The same for all jobs of a kind."""
        return outlooks(kind.tasks, self._latency_s(kind.head()), self.load_s, self._pipelined)

    def unshared_s(self, job: JobView) -> float:
        """Seconds a job would take alone: a load and its critical path; other loads are hidden."""
        return self.look(job).path_s + self.load_s

    def _latency_s(self, job: JobView) -> tuple[float, ...]:
        """Seconds an item of each task of a job takes, as far as is known."""
        latency_s = self.predicted.get(job.application)
        if latency_s is None or len(latency_s) != len(job.tasks):
            latency_s = self.predicted[job.application] = self._predict(job)
        return latency_s

    def _predict(self, job: JobView) -> tuple[float, ...]:
        """Latencies of a job's application; the very same object as before where they are the same."""
        fresh = self.learned.predict(job.application, modules_and_estimates(job))
        before = self._before.get(job.application)
        return before if before is not None and before == fresh else fresh
